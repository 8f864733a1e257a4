package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// example returns the indented block of docs/operations/serving.md that follows
// the line that names it.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+name+":\n\n")
	if !ok {
		t.Fatalf("docs/operations/serving.md has no example for %s", name)
	}
	block := regexp.MustCompile(`^(    .*\n|\n)+`).FindString(rest)
	return block
}

// replaced replaces texts of an example by the test's addresses; a missing text fails the test, so
// that the example and the test agree.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the example has no %q:\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// proxy starts a proxy until the test ends, and waits until it accepts connections. Without the
// program the test is skipped.
func proxy(t *testing.T, addr, program string, args ...string) {
	t.Helper()
	path := filepath.Join("/usr/sbin", program)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN behind %s, which is not installed: apt-get install %s", program, program)
	}
	var out strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) // both end at once on SIGINT
		if cmd.Wait(); t.Failed() {
			t.Logf("%s says:\n%s", program, &out)
		}
	})
	wait(t, program+" listens", func() bool {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// address returns a free one outside the kernel's ephemeral ports.
func address(t *testing.T) string {
	t.Helper()
	for port := 20000 + os.Getpid()%10000; port < 32000; port++ {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer ln.Close()
			return ln.Addr().String()
		}
	}
	t.Fatal("no free port below 32000")
	return ""
}

// behindProxy starts a service whose proxies terminate TLS, and returns its directory, which has
// the proxy's certificate in cloud.pem.
func behindProxy(t *testing.T) (dir, api string, roots *x509.CertPool) {
	t.Helper()
	dir = t.TempDir()
	roots = certificate(t, dir, 1)
	var pem strings.Builder
	for _, name := range []string{"cert.pem", "key.pem"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pem.Write(b)
	}
	rewrite(t, filepath.Join(dir, "cloud.pem"), pem.String())
	conf := settings(t, databaseOf("sqlite://"), "[oslo_middleware]\nenable_proxy_headers_parsing = true",
		"[berth]\nlisten = 127.0.0.1:0, unix:"+dir+"/placement.sock", "listen_mode = 0666",
		"metrics_listen = 127.0.0.1:0", "path_prefix = /placement")
	r := launch(t, nil, nil, "placement", "serve", "--config", conf)
	return dir, r.logged(`\bready .*\baddress=(\S+)`), roots
}

// created creates a trait at a URL and returns its Location.
func created(t *testing.T, roots *x509.CertPool, url string, headers ...string) string {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	res, body := call(t, tr, "PUT", url, "", headers...)
	if res.StatusCode != http.StatusCreated {
		t.Errorf("PUT %s = %d %s", url, res.StatusCode, body)
	}
	return res.Header.Get("Location")
}

func TestBehindHAProxy(t *testing.T) {
	dir, api, roots := behindProxy(t)
	addr := address(t)
	text := replaced(t, example(t, "HAProxy"),
		"bind :8778", "bind "+addr, "/etc/haproxy/cloud.pem", dir+"/cloud.pem",
		"10.0.0.21:8778 check port 8779", api, "server berth2 10.0.0.22:8778 check port 8779", "")
	text = "defaults\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n" + text
	rewrite(t, dir+"/haproxy.cfg", text)
	proxy(t, addr, "haproxy", "-db", "-f", dir+"/haproxy.cfg")
	for path, headers := range map[string][]string{
		"/traits/CUSTOM_A":           nil,
		"/placement/traits/CUSTOM_B": {"Forwarded: host=forged.example"},
		"/placement/traits/CUSTOM_C": {"X-Forwarded-Host: forged.example"},
	} {
		if got, want := created(t, roots, "https://"+addr+path, headers...), "https://"+addr+path; got != want {
			t.Errorf("Location is %q, want %q", got, want)
		}
	}
}

func TestBehindNginx(t *testing.T) {
	dir, _, roots := behindProxy(t)
	addr := address(t)
	text := replaced(t, example(t, "nginx"),
		"listen 443 ssl;", "listen "+addr+" ssl; ssl_certificate "+dir+"/cloud.pem; ssl_certificate_key "+dir+"/cloud.pem;",
		"/run/berth/placement.sock", dir+"/placement.sock")
	paths, user := "", ""
	if os.Getuid() == 0 {
		user = "user root root;" // other users cannot read the test's directory
	}
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += fmt.Sprintf("%s_temp_path %s/%[1]s;\n", kind, dir)
	}
	rewrite(t, dir+"/nginx.conf",
		fmt.Sprintf(user+" daemon off; pid %[1]s/nginx.pid; error_log %[1]s/nginx.err; events {}\n"+
			"http { access_log off; %s %s }\n", dir, paths, text))
	proxy(t, addr, "nginx", "-c", dir+"/nginx.conf", "-e", dir+"/nginx.err")
	const path = "/placement/traits/CUSTOM_A"
	if got, want := created(t, roots, "https://"+addr+path, "Forwarded: host=forged.example"),
		"https://"+addr+path; got != want {
		t.Errorf("Location is %q, want %q", got, want)
	}
}
