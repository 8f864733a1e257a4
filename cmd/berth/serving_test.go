package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/certtest"
	"github.com/berthcloud/berth/microversion"
)

// launch starts a process with further variables and descriptors.
func launch(t *testing.T, env []string, files []*os.File, args ...string) *running {
	t.Helper()
	log, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangTime)
	// A shell in between has the process id that LISTEN_PID must be.
	cmd := exec.CommandContext(ctx, "/bin/sh",
		append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, os.Args[0]}, args...)...)
	cmd.Env = append(os.Environ(), asBerth+"=1", "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	cmd.Env = append(cmd.Env, env...)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = files, output, output
	r := &running{t: t, cmd: cmd, log: bufio.NewReader(drain(log)), token: "admin"}
	t.Cleanup(func() {
		cancel() // ends a process that a failed test left behind
		log.Close()
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output.Close()
	return r
}

// A relative path of a file is warned about once, with its absolute path.
func TestRelativeDatabaseIsWarnedAbout(t *testing.T) {
	for _, args := range [][]string{
		{"placement", "[api]\nauth_strategy = noauth2\n[placement_database]\n"},
		{"network", "[DEFAULT]\nauth_strategy = noauth\n[database]\n"},
		{"compute", "[api]\nauth_strategy = noauth2\n[database]\n"},
	} {
		for url, relative := range map[string]bool{
			"sqlite:///berth.db": true, "sqlite:////DIR/berth.db": false, "sqlite://": false,
		} {
			dir := t.TempDir()
			t.Chdir(dir)
			conf := filepath.Join(dir, "berth.conf")
			rewrite(t, conf, args[1]+"connection = "+strings.Replace(url, "/DIR", dir, 1)+"\n")
			r := launch(t, nil, nil, args[0], "serve", "--listen", "127.0.0.1:0", "--config", conf)
			var log strings.Builder
			for !strings.Contains(log.String(), " ready ") {
				line, err := r.log.ReadString('\n')
				log.WriteString(line)
				if err != nil {
					t.Fatalf("%s with %s does not start:\n%s", args[0], url, log.String())
				}
			}
			r.signal(syscall.SIGHUP)
			for !strings.Contains(log.String(), " reloaded ") {
				line, err := r.log.ReadString('\n')
				log.WriteString(line)
				if err != nil {
					t.Fatalf("%s with %s does not reload:\n%s", args[0], url, log.String())
				}
			}
			r.stop()
			want := 0
			if relative {
				want = 1
			}
			if got := strings.Count(log.String(), "named by a relative path"); got != want ||
				want == 1 && !strings.Contains(log.String(), "file="+filepath.Join(dir, "berth.db")) {
				t.Errorf("%s with %s warns %d times, want %d:\n%s", args[0], url, got, want, log.String())
			}
		}
	}
}

// The error of a log file that cannot be opened says what to do.
func TestLogFileAdvice(t *testing.T) {
	conf := settings(t, "[DEFAULT]\nlog_file = /nowhere/placement/placement-api.log")
	commandLine{
		[]string{"placement", "serve", "--config", conf},
		cli.ExitUsage, nil,
		[]string{
			"/nowhere/placement/placement-api.log: no such file",
			"berth: [DEFAULT] log_file and log_dir name that file: remove them", "ReadWritePaths=",
		},
	}.try(t)
}

func (r *running) signal(sig os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// certificate writes a certificate of its own authority for 127.0.0.1 and its key into a directory,
// and returns it for clients to trust.
func certificate(t *testing.T, dir string, serial int64) *x509.CertPool {
	t.Helper()
	a := certtest.NewAuthority(t, x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	rewrite(t, filepath.Join(dir, "cert.pem"), string(a.PEM()))
	rewrite(t, filepath.Join(dir, "key.pem"), string(a.KeyPEM()))
	return a.Roots()
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// call sends one request on a new connection, and returns the answer with its body read.
func call(t *testing.T, tr *http.Transport, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	tr.DisableKeepAlives = true
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", "admin")
	req.Header.Set("OpenStack-API-Version", "placement 1.39")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: tr, Timeout: hangTime}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func overUnix(path string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
}

// One process at a TLS port and a Unix socket, behind a path prefix and a proxy.
func TestServeAtSeveralAddresses(t *testing.T) {
	dir := t.TempDir()
	roots := certificate(t, dir, 1)
	socket := filepath.Join(dir, "placement.sock")
	conf := settings(t, databaseOf("sqlite://"), "[oslo_middleware]\nenable_proxy_headers_parsing = true",
		"[berth]\nlisten = 127.0.0.1:0, unix:"+socket, "listen_mode = 0600", "path_prefix = /placement",
		"tls_cert_file = "+dir+"/cert.pem", "tls_key_file = "+dir+"/key.pem")
	r := launch(t, nil, nil, "placement", "serve", "--config", conf)
	addr := r.logged(`\bready .*\baddress=(\S+)`)

	overTLS := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	res, _ := call(t, overTLS, "POST", "https://"+addr+"/placement/resource_providers", `{"name": "cn1"}`)
	place := regexp.MustCompile(`^https://` + regexp.QuoteMeta(addr) +
		`(/placement/resource_providers/[0-9a-f-]{36})$`).FindStringSubmatch(res.Header.Get("Location"))
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 || place == nil {
		t.Fatalf("POST over %s = %d, Location %q", res.Proto, res.StatusCode, res.Header.Get("Location"))
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	_, with := call(t, overUnix(socket), "GET", "http://h"+place[1], "")
	_, without := call(t, overUnix(socket), "GET", "http://h"+strings.TrimPrefix(place[1], "/placement"), "")
	if !strings.Contains(with, `"href": "`+place[1]+`/inventories"`) ||
		strings.ReplaceAll(with, `"/placement/`, `"/`) != without {
		t.Errorf("links with the prefix:\n%s\nwithout:\n%s", with, without)
	}
	for _, path := range []string{"/placement", "/placement/", "/"} {
		if res, body := call(t, overUnix(socket), "GET", "http://h"+path, ""); res.StatusCode != 200 ||
			!strings.Contains(body, `"max_version": "`+microversion.Placement.Max().String()+`"`) {
			t.Errorf("GET %s = %d %s", path, res.StatusCode, body)
		}
	}
	r.logged(`\bpath=(/placement) .*client=unix\b`)
	res, _ = call(t, overUnix(socket), "PUT", "http://h/placement/traits/CUSTOM_A", "",
		"Forwarded: for=192.0.2.7;proto=https;host=cloud.example")
	if got := res.Header.Get("Location"); got != "https://cloud.example/placement/traits/CUSTOM_A" {
		t.Errorf("behind a proxy Location is %q", got)
	}
	r.logged(`\bpath=(/placement/traits/CUSTOM_A) .*client=192\.0\.2\.7\b`)
	r.stop()
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestServingRefusesWrongSettings(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, 1)
	if code, _, stderr := berth(t, "placement", "serve", "--listen", ",", "--config",
		settings(t, databaseOf("sqlite://"))); code != cli.ExitUsage {
		t.Errorf("without an address the exit code is %d:\n%s", code, stderr)
	}
	busy, err := net.Listen("unix", filepath.Join(dir, "busy.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, tc := range map[string]struct {
		lines string
		code  int
		want  string
	}{
		"KeyMissing":      {"tls_cert_file = " + dir + "/cert.pem", cli.ExitUsage, "set both or none"},
		"AuthoritiesOnly": {"tls_client_ca_file = " + dir + "/cert.pem", cli.ExitUsage, "tls_client_ca_file"},
		"NoSuchFile": {
			"tls_cert_file = /nowhere/cert.pem\ntls_key_file = " + dir + "/key.pem", cli.ExitUsage, "/nowhere/cert.pem",
		},
		"SocketInUse": {
			"listen = 127.0.0.1:0, unix:" + dir + "/busy.sock", cli.ExitListen, "listening on unix:" + dir + "/busy.sock",
		},
		"NoDirectory": {"listen = unix:/nowhere/at/all.sock", cli.ExitListen, "/nowhere/at/all.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := tc.lines
			if !strings.Contains(lines, "listen =") {
				lines += "\nlisten = 127.0.0.1:0"
			}
			code, _, stderr := berth(t, "placement", "serve", "--config",
				settings(t, databaseOf("sqlite://"), "[berth]\n"+lines))
			if code != tc.code || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, tc.code, tc.want, stderr)
			}
		})
	}
}

// hangTime is the time-out for operations that should take no time: under load they take many
// seconds.
const hangTime = 5 * time.Minute

// wait waits for a condition, within a bound.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hangTime); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A serviceManager is systemd's end of the notify socket.
type serviceManager struct {
	t    *testing.T
	conn *net.UnixConn
	path string
}

func newServiceManager(t *testing.T) *serviceManager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &serviceManager{t, conn, path}
}

// next returns the next message other than those of the watchdog.
func (m *serviceManager) next() string {
	m.t.Helper()
	for {
		text, err := m.read(hangTime)
		if err != nil {
			m.t.Fatal(err)
		}
		if text != "WATCHDOG=1" {
			return text
		}
	}
}

func (m *serviceManager) read(within time.Duration) (string, error) {
	if err := m.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	return string(b[:n]), err
}

func TestLifeUnderSystemd(t *testing.T) {
	m := newServiceManager(t)
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nlisten = 127.0.0.1:0")
	r := launch(t, []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=300000"}, nil, "placement", "serve", "--config",
		conf)
	check := func(want string) {
		t.Helper()
		if got := m.next(); !regexp.MustCompile(`^(?s:` + want + `)$`).MatchString(got) {
			t.Errorf("the service manager got %q, want %q", got, want)
		}
	}
	check("STATUS=starting: opening the database\nEXTEND_TIMEOUT_USEC=[0-9]+")
	for got := m.next(); !strings.HasPrefix(got, "READY=1"); got = m.next() {
		if !strings.HasPrefix(got, "STATUS=starting: ") {
			t.Fatalf("before it is ready, the service manager got %q", got)
		}
	}
	for range 2 {
		if got, err := m.read(10 * time.Second); got != "WATCHDOG=1" {
			t.Fatalf("the service manager got %q, %v, want a sign of life", got, err)
		}
	}
	r.logged(`\bready .*\baddress=(\S+)`)
	r.signal(syscall.SIGHUP)
	check("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=reloading")
	check(`READY=1\nSTATUS=serving 0 providers at 127\.0\.0\.1:[0-9]+`)
	r.stop()
	check("STOPPING=1\nSTATUS=finishing the requests under way\nEXTEND_TIMEOUT_USEC=[0-9]+")
}

func TestSocketsFromSystemd(t *testing.T) {
	var files []*os.File
	var addrs []string
	for range 3 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files, addrs = append(files, f), append(addrs, ln.Addr().String())
		ln.Close()
	}
	// not this machine's
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nlisten = 192.0.2.1:1\nmetrics_listen = 192.0.2.1:2")
	r := launch(t, []string{"LISTEN_FDS=3", "LISTEN_FDNAMES=api:metrics:berth-placement.socket"}, files, "placement",
		"serve", "--config", conf)
	if got := r.logged(`\bready .*\baddress=(\S+)`); got != addrs[0] {
		t.Errorf("the service is at %s, want %s", got, addrs[0])
	}
	for i, path := range []string{"/resource_providers", "/readyz", "/resource_providers"} {
		if res, body := call(t, &http.Transport{}, "GET", "http://"+addrs[i]+path, ""); res.StatusCode != 200 {
			t.Errorf("socket %d answers %s with %d %s", i, path, res.StatusCode, body)
		}
	}
	r.stop()
}

// A live is a service whose settings a test changes while it runs.
type live struct {
	*running
	t                      *testing.T
	dir, conf, log, policy string
	ops                    string
}

// lines returns settings with something for each step of a reload; further ones are of the group
// [berth].
func (l *live) lines(debug bool, more string) string {
	return fmt.Sprintf(
		"[DEFAULT]\ndebug = %v\nlog_file = %s\n[api]\nauth_strategy = noauth2\n[oslo_policy]\npolicy_file = %s\n%s\n"+
			"[berth]\nlisten = 127.0.0.1:0\nmetrics_listen = %s\ntls_cert_file = %[6]s/cert.pem\ntls_key_file = %[6]s/key.pem\n"+
			"%[7]s\n",
		debug, l.log, l.policy, databaseOf("sqlite://"), l.ops, l.dir, more)
}

func startLive(t *testing.T) (l *live, addr string) {
	t.Helper()
	dir := t.TempDir()
	l = &live{
		t: t, dir: dir, conf: dir + "/placement.conf", log: dir + "/berth.log", policy: dir + "/policy.yaml",
		ops: "unix:" + dir + "/ops.sock",
	}
	certificate(t, dir, 1)
	rewrite(t, l.policy, "{}")
	rewrite(t, l.conf, l.lines(false, ""))
	l.running = launch(t, nil, nil, "placement", "serve", "--config", l.conf)
	wait(t, "the service is ready", func() bool {
		b, err := os.ReadFile(l.log)
		m := regexp.MustCompile(`\bready .*\baddress=(\S+)`).FindSubmatch(b)
		if err != nil || m == nil {
			return false
		}
		addr = string(m[1])
		return true
	})
	return l, addr
}

// reload sends SIGHUP and waits until it is done with the outcome.
func (l *live) reload(outcome string) {
	l.t.Helper()
	before := l.count(outcome)
	l.signal(syscall.SIGHUP)
	wait(l.t, "a reload ends with "+outcome, func() bool { return l.count(outcome) == before+1 })
}

func (l *live) count(outcome string) int {
	l.t.Helper()
	return l.metric(`berth_reloads_total{outcome="` + outcome + `"}`)
}

// metric returns the value of one series.
func (l *live) metric(series string) (n int) {
	l.t.Helper()
	_, body := call(l.t, overUnix(strings.TrimPrefix(l.ops, "unix:")), "GET", "http://h/metrics", "")
	m := regexp.MustCompile(regexp.QuoteMeta(series) + ` ([0-9]+)`).FindStringSubmatch(body)
	if m == nil {
		l.t.Fatalf("there is no %s", series)
	}
	fmt.Sscan(m[1], &n)
	return n
}

// idle waits until no client is connected.
func (l *live) idle() {
	l.t.Helper()
	wait(l.t, "all connections are closed", func() bool { return l.metric("berth_http_connections") == 0 })
}

func (l *live) text() string {
	l.t.Helper()
	b, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

func TestReload(t *testing.T) {
	l, addr := startLive(t)
	get := func(roots *x509.CertPool, path string) int {
		t.Helper()
		l.idle()
		res, _ := call(t, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, "GET", "https://"+addr+path, "")
		return res.StatusCode
	}
	// Everything changes at once: log, level, certificate, prefix, policy.
	if err := os.Rename(l.log, l.log+".1"); err != nil {
		t.Fatal(err)
	}
	roots := certificate(t, l.dir, 2)
	rewrite(t, l.policy, `"placement:traits:list": "!"`)
	rewrite(t, l.conf, l.lines(true, "path_prefix = /placement\nmax_body_size = 1000"))
	l.reload("ok")
	if get(roots, "/placement/traits") != 403 || get(roots, "/placement/resource_classes") != 200 {
		t.Error("prefix, policy or certificate are not in force")
	}
	wait(t, "the log has a debug line and names what needs a restart", func() bool {
		s := l.text()
		return strings.Contains(s, "DEBUG") && strings.Contains(s, `settings="[[berth] max_body_size]"`)
	})
	// Invalid settings and rules change nothing, and are logged.
	rewrite(t, l.policy, `"placement:traits:list": "role:`)
	rewrite(t, l.conf, l.lines(false, "path_prefix = pony"))
	l.reload("failed")
	if get(roots, "/placement/traits") != 403 || get(roots, "/placement/resource_classes") != 200 {
		t.Error("wrong settings or rules are in force")
	}
	contains(t, "the log", l.text(),
		[]string{"the settings are wrong; the old ones remain in force", "pony", "part=policy"})
	// Corrected ones take effect.
	rewrite(t, l.policy, "{}")
	rewrite(t, l.conf, l.lines(false, "max_connections_per_client = 1\ntrusted_proxies ="))
	l.reload("ok")
	if get(roots, "/traits") != 200 || get(roots, "/placement/traits") != 404 {
		t.Error("the corrected settings or rules are not in force")
	}
	l.idle()
	connections, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", addr,
		&tls.Config{RootCAs: roots}); err == nil {
		c.Close()
		t.Error("a second connection of one client is served")
	}
	connections.Close()
	l.signal(syscall.SIGTERM)
	if err := l.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// SIGHUP before the service is ready is not lost and does not end it.
func TestEarlyReload(t *testing.T) {
	m := newServiceManager(t)
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nlisten = 127.0.0.1:0")
	r := launch(t, []string{"NOTIFY_SOCKET=" + m.path}, nil, "placement", "serve", "--config", conf)
	m.next() // it listens and opens the database
	r.signal(syscall.SIGHUP)
	go func() { // the service waits a second for each message that is not read
		for {
			if _, err := m.read(hangTime); err != nil {
				return
			}
		}
	}()
	r.logged(`\b(reloaded) complete=true`)
	r.stop()
}

// No process is left behind when the terminal of "berth up" is closed.
func TestHangupEndsUp(t *testing.T) {
	r := launch(t, nil, nil, upArgs(t.TempDir())...)
	r.logged(`^(Berth is up):`)
	r.signal(syscall.SIGHUP)
	r.logged(`\b(stopped)`)
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("after SIGHUP: %v", err)
	}
}
