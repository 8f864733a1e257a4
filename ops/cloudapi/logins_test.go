package cloudapi_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/certtest"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// A loginCase is a case of testdata/logins/cases.txt.
type loginCase struct {
	name    string
	env     map[string]string
	argv    []string
	list    string
	refused string
	warning []string
	files   map[string]string
}

// loginCases reads the cases.
func loginCases(t *testing.T) (all []*loginCase) {
	t.Helper()
	text, err := os.ReadFile("testdata/logins/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var c *loginCase
	file := ""
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if content, ok := strings.CutPrefix(line, "  "); ok {
			c.files[file] += content + "\n"
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "==":
			c = &loginCase{name: rest, env: map[string]string{}, files: map[string]string{}, list: "resource_providers"}
			all = append(all, c)
		case "openrc":
			maps.Copy(c.env, map[string]string{
				"OS_AUTH_URL": "$HTTP/v3", "OS_USERNAME": "reader", "OS_PASSWORD": "s3cret", "OS_PROJECT_NAME": "admin",
				"OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default", "OS_IDENTITY_API_VERSION": "3",
			})
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			c.env[name] = value
		case "argv":
			c.argv = strings.Fields(rest)
		case "list":
			c.list = rest
		case "refused":
			c.refused = rest
		case "warning":
			c.warning = append(c.warning, rest)
		case "file":
			file = rest
			c.files[file] = ""
		default:
			t.Fatalf("cases.txt: line %d: %s", i+1, line)
		}
	}
	return all
}

// A keystone stands in for Keystone and for the services in its catalog, with and without TLS, and
// records logins and lists.
type keystone struct {
	t           *testing.T
	http, https *httptest.Server
	ca          *certtest.Authority
	mu          sync.Mutex
	sent        []string
}

func newKeystone(t *testing.T) *keystone {
	t.Helper()
	k := &keystone{t: t, ca: certtest.NewAuthority(t, x509.Certificate{Subject: pkix.Name{CommonName: "CA"}})}
	k.http, k.https = httptest.NewServer(k), httptest.NewUnstartedServer(k)
	cert, key := k.ca.Sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "keystone"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	k.https.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	k.https.Config.ErrorLog = log.New(io.Discard, "", 0) // clients refuse its certificate
	k.https.StartTLS()
	t.Cleanup(k.http.Close)
	t.Cleanup(k.https.Close)
	return k
}

// ServeHTTP answers logins, lists, and everything else with the versions of the API.
func (k *keystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		k.t.Error(err)
	}
	base, text := k.http.URL, "HTTP"
	if r.TLS != nil {
		base, text = k.https.URL, "HTTPS"
		if len(r.TLS.PeerCertificates) > 0 {
			text += " as " + r.TLS.PeerCertificates[0].Subject.CommonName
		}
	}
	write := func(more string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sent = append(k.sent, fmt.Sprintf("%s %s %s %s", r.Method, text, r.URL.Path, more))
	}
	switch {
	case r.Method == http.MethodPost:
		var sorted any
		if err := json.Unmarshal(body, &sorted); err != nil {
			k.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		text, _ := json.Marshal(sorted)
		write(string(text))
		var catalog []any
		for _, kind := range []string{"placement", "network"} {
			var endpoints []any
			for _, region := range []string{"one", "two", "BHS", "ZH"} {
				for _, face := range []string{"public", "internal", "admin"} {
					endpoints = append(endpoints, map[string]string{
						"region": region, "region_id": region, "interface": face, "url": base + "/" + kind + "-" + region + "-" + face,
					})
				}
			}
			catalog = append(catalog, map[string]any{"type": kind, "name": kind, "id": kind, "endpoints": endpoints})
		}
		w.Header().Set("X-Subject-Token", "t0ken")
		w.WriteHeader(http.StatusCreated)
		answer(k.t, w, map[string]any{"token": map[string]any{
			"expires_at": "2099-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z",
			"methods": []string{"password"}, "audit_ids": []string{"a"},
			"user": map[string]any{
				"id": "u1", "name": "reader", "domain": map[string]string{"id": "default", "name": "Default"},
			}, "catalog": catalog,
		}})
	case strings.HasSuffix(r.URL.Path, "/resource_providers"), strings.HasSuffix(r.URL.Path, "/networks"):
		write(strings.TrimSpace("token=" + r.Header.Get("X-Auth-Token") + " " + r.Header.Get("Authorization")))
		answer(k.t, w, map[string]any{"resource_providers": []any{}, "networks": []any{}})
	case strings.HasSuffix(r.URL.Path, "/v2.0"):
		http.NotFound(w, r)
	default:
		href := base + strings.TrimSuffix(strings.TrimRight(r.URL.Path, "/"), "/v3") + "/v3/"
		answer(k.t, w, map[string]any{"version": map[string]any{
			"id": "v3.14", "status": "stable", "links": []any{map[string]string{"rel": "self", "href": href}},
		}})
	}
}

func answer(t *testing.T, w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

// requests returns what was recorded since, "refused" for nothing.
func (k *keystone) requests() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	sent := k.sent
	k.sent = nil
	if len(sent) == 0 {
		return "refused"
	}
	return strings.Join(sent, "\n")
}

// lay writes the files of a case to a directory, and returns its variables.
func (k *keystone) lay(c *loginCase, root string) (env map[string]string) {
	k.t.Helper()
	cert, key := k.ca.Sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	fill := strings.NewReplacer(
		"$ROOT", root, "$HTTPS", k.https.URL, "$HTTP", k.http.URL,
		"$AUTH", "auth_url: "+k.http.URL+"/v3, username: reader, password: s3cret, user_domain_name: Default",
	)
	files := map[string]string{
		"work/.keep": "", "home/ca.pem": string(k.ca.PEM()), "ca.pem": string(k.ca.PEM()), "client.pem": string(cert),
		"client.key": string(key), "home/both.pem": string(cert) + string(key),
	}
	for name, text := range c.files {
		files[name] = fill.Replace(text)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			k.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	env = map[string]string{
		"HOME": filepath.Join(root, "home"), "XDG_CONFIG_DIRS": filepath.Join(root, "xdg"), "LC_ALL": "C.UTF-8",
	}
	for name, value := range c.env {
		env[name] = fill.Replace(value)
	}
	return env
}

const recordedLogins = "testdata/logins/recorded.txt"

// Berth logs in as the openstack client does, or refuses with a reason and sends nothing. What the
// client does is recorded; TestLoginsAreUpstreams compares the record with it.
func TestLogins(t *testing.T) {
	k := newKeystone(t)
	want := readRecordedLogins(t)
	cases := loginCases(t)
	if len(want) != len(cases) {
		t.Errorf("%d cases are recorded, and there are %d", len(want), len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			env := k.lay(c, root)
			var environ, warnings []string
			for name, value := range env {
				environ = append(environ, name+"="+value)
			}
			o := cloudapi.Options{Environ: environ, Wait: atOnce, Warn: func(text string) { warnings = append(warnings, text) }}
			for i := 0; i+1 < len(c.argv); i += 2 {
				switch c.argv[i] {
				case "--os-cloud":
					o.Cloud = c.argv[i+1]
				case "--os-region-name":
					o.Region = c.argv[i+1]
				default:
					t.Fatal(c.argv)
				}
			}
			t.Chdir(filepath.Join(root, "work"))
			client, err := cloudapi.ConnectAt(t.Context(), o, filepath.Join(root, "etc"))
			if err == nil {
				kind := cloudapi.Hosts
				if c.list == "networks" {
					kind = cloudapi.Networks
				}
				_, err = client.Names(t.Context(), kind, "")
			}
			got := k.requests()
			switch {
			case c.refused != "" && (err == nil || got != "refused" || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("it sends\n%s\nand the error is %v; want nothing, and %q", got, err, c.refused)
			case c.refused == "" && (err != nil || got != want[c.name]):
				t.Errorf("%v; the requests (-openstack +berth):\n%s", err, cmp.Diff(want[c.name], got))
			case err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "g1ven")):
				t.Errorf("a secret shows: %v", err)
			}
			for _, part := range c.warning {
				if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, part) }) {
					t.Errorf("the warnings are %q, want %q", warnings, part)
				}
			}
		})
	}
}

// readRecordedLogins reads what the client sends in each case.
func readRecordedLogins(t *testing.T) map[string]string {
	t.Helper()
	text := golden.Read(t, recordedLogins)
	all := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n== ") {
		if name, requests, ok := strings.Cut(part, "\n"); ok && name != "" {
			all[name] = strings.TrimSuffix(requests, "\n")
		}
	}
	return all
}

// What is recorded is what the openstack client of the system does.
func TestLoginsAreUpstreams(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the openstack client a hundred times: not under -short")
	}
	const packages = "python3-openstackclient python3-osc-placement"
	upstreamtest.Need(t, packages, "/usr/bin/openstack", "/usr/lib/python3/dist-packages/osc_placement/plugin.py")
	k := newKeystone(t)
	cmd := exec.CommandContext(t.Context(), upstreamtest.Python, "testdata/logins/client.py")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(stdout)
	run := func(c *loginCase) string {
		root := t.TempDir()
		env := k.lay(c, root)
		argv := append(slices.Clone(c.argv), "--os-placement-api-version", "1.0", "resource", "provider", "list")
		if c.list == "networks" {
			argv = append(slices.Clone(c.argv), "network", "list")
		}
		if err := json.NewEncoder(stdin).Encode(map[string]any{
			"dir": filepath.Join(root, "work"), "site": filepath.Join(root, "etc"), "env": env, "argv": argv,
		}); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, stderr.String())
		}
		var out struct {
			Code   int
			Output string
		}
		if err := json.Unmarshal(line, &out); err != nil {
			t.Fatal(err)
		}
		got := k.requests()
		if (out.Code == 0) == (got == "refused") && c.refused == "" {
			t.Errorf("%s: openstack exits with %d after\n%s\n%s", c.name, out.Code, got, out.Output)
		}
		return got
	}
	recorded := readRecordedLogins(t)
	first, step := sweep.Every(t, 8)
	var record strings.Builder // in the order of the cases
	for i, c := range loginCases(t) {
		requests := recorded[c.name]
		if i%step == first {
			requests = run(c)
		}
		record.WriteString("== " + c.name + "\n" + requests + "\n")
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	golden.Compare(t, recordedLogins, record.String())
}
