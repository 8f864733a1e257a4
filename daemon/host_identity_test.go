package daemon_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/internal/certtest"
)

// Both services identify hosts in the same way, as their settings say, and say at the start when no
// host can report. The token is that of a service.
func TestHostIdentity(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	dir := t.TempDir()
	server, hosts := certtest.NewAuthority(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}),
		certtest.NewAuthority(t, x509.Certificate{})
	for name, text := range map[string][]byte{
		"server.pem": server.PEM(), "server.key": server.KeyPEM(), "hosts.pem": hosts.PEM(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := hosts.Sign(x509.Certificate{
		DNSNames: []string{"cn1"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	authorities := func(b *config.Berth) {
		b.TLSCertFile, b.TLSKeyFile, b.TLSAgentCAFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"),
			filepath.Join(dir, "hosts.pem")
	}
	for name, tc := range map[string]struct {
		set         func(*config.Berth)
		key         string
		certificate bool
		own, other  int    // the status of a request for cn1, and for cn2
		log         string // at the start; "" for no warning
	}{
		"Nothing": {
			func(*config.Berth) {}, "", false, 403, 403, "no host can report: set [berth] host_key_secret or tls_agent_ca_file",
		},
		"Token": {func(b *config.Berth) { b.HostKeySecret = secret }, "", false, 403, 403, ""},
		"Key": {
			func(b *config.Berth) { b.HostKeySecret = secret }, hostkey.New(secret).Key("cn1"), false, 200, 403, "",
		},
		"OldKey": {
			func(b *config.Berth) { b.HostKeySecret = "new, " + secret }, hostkey.New(secret).Key("cn1"), false, 200, 403, "",
		},
		"RemovedKey": {
			func(b *config.Berth) { b.HostKeySecret = "new" }, hostkey.New(secret).Key("cn1"), false, 403, 403, "",
		},
		"Certificate": {authorities, "", true, 200, 403, ""},
		"Migration": {
			func(b *config.Berth) { b.HostIdentity = config.HostByToken }, "", false, 200, 200,
			"every token with the role of agents acts for all hosts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			d := daemon.Dependencies{SingleProcess: true, Authenticate: func(*http.Request) (identity.Caller, error) {
				return identity.Caller{UserID: "u", ProjectID: "p", Roles: []string{"service"}}, nil
			}}
			networks, computes := config.DefaultNetwork(), config.DefaultCompute()
			for _, b := range []*config.Berth{&networks.Berth, &computes.Berth} {
				tc.set(b)
				b.Listen = "127.0.0.1:0"
			}
			networks.Database.Connection, computes.Database.Connection = "sqlite://", "sqlite://"
			process := daemon.Process{Getenv: func(string) string { return "" }, Stderr: io.Discard}
			n, err := daemon.StartNetwork(t.Context(), process, networks, slog.New(slog.NewTextHandler(&log, nil)), d)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			if warned := strings.Contains(log.String(), "host_identity"); warned != (tc.log != "") ||
				!strings.Contains(log.String(), tc.log) {
				t.Errorf("the log has %s, want %q", log.String(), tc.log)
			}
			c, err := daemon.StartCompute(t.Context(), process, computes, slog.New(slog.DiscardHandler), d)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			client := &http.Client{}
			trust := &tls.Config{RootCAs: server.Roots()}
			if tc.certificate {
				trust.Certificates = []tls.Certificate{pair}
			}
			client.Transport = &http.Transport{TLSClientConfig: trust}
			defer client.CloseIdleConnections()
			request := func(addr net.Addr, method, path, body string) int {
				t.Helper()
				scheme := "http://"
				if networks.Berth.TLSCertFile != "" {
					scheme = "https://"
				}
				r, err := http.NewRequestWithContext(t.Context(), method, scheme+addr.String()+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(hostkey.Header, tc.key)
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				return res.StatusCode
			}
			for host, want := range map[string]int{"cn1": tc.own, "cn2": tc.other} {
				id := "33333333-0000-4000-8000-00000000000" + host[2:]
				for _, got := range []int{
					request(n.Addr(), "POST", "/berth/v1/heartbeats",
						`{"agent": {"agent_type": "a", "binary": "b", "host": "`+host+`"}}`),
					request(n.Addr(), "GET", "/berth/v1/hosts/"+host+"/ports", ""),
					request(c.Addr(), "POST", "/berth/v1/heartbeats",
						`{"host": {"host": "`+host+`", "version": 66, "node": {"id": "`+id+`", "name": "`+host+`", "type": "fake"}}}`),
					request(c.Addr(), "GET", "/berth/v1/hosts/"+host+"/servers", ""),
				} {
					if got != want {
						t.Errorf("about %s it is answered %d, want %d", host, got, want)
					}
				}
			}
		})
	}
}
