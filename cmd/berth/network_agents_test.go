package main

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/internal/certtest"
)

// An authority signs certificates of agents.
type authority struct{ *certtest.Authority }

// newAuthority writes the certificate of an authority to a file.
func newAuthority(t *testing.T, path string) authority {
	t.Helper()
	a := authority{certtest.NewAuthority(t, x509.Certificate{Subject: pkix.Name{CommonName: path}})}
	rewrite(t, path, string(a.PEM()))
	return a
}

// agent writes a certificate for an agent on a host, and its key, and returns the lines
// of settings that name them.
func (a authority) agent(t *testing.T, host string) string {
	t.Helper()
	dir := t.TempDir()
	cert, key := a.Sign(x509.Certificate{
		DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	rewrite(t, filepath.Join(dir, "cert.pem"), string(cert))
	rewrite(t, filepath.Join(dir, "key.pem"), string(key))
	return "network_cert_file = " + dir + "/cert.pem\nnetwork_key_file = " + dir + "/key.pem"
}

// Agents report over TLS, and authenticate with a token, also from a file, or with a certificate or
// a key of their host, which allows nothing else. The user of the token "nobody" has no role.
func TestAgentsShowTokensOrCertificates(t *testing.T) {
	dir := t.TempDir()
	roots := certificate(t, dir, 1)
	ours, theirs := newAuthority(t, dir+"/agents.pem"), newAuthority(t, dir+"/clients.pem")
	const secret = "0123456789abcdef0123456789abcdef"
	keys := hostkey.New(secret)
	rewrite(t, dir+"/key", keys.Key("devstack0")+"\n")
	rewrite(t, dir+"/other-key", keys.Key("devstack1")+"\n")
	rewrite(t, dir+"/token", "admin\n")
	rewrite(t, dir+"/useless", "nobody\n")
	for name, tc := range map[string]struct {
		client    bool // every client must present a certificate
		agent     string
		wantAgent bool
		wantLog   string // of the agent that is refused
	}{
		"Token":                {false, "network_token = admin", true, ""},
		"TokenFile":            {false, "network_token_file = " + dir + "/token", true, ""},
		"TokenOfNobody":        {false, "network_token_file = " + dir + "/useless", false, "answered (403)"},
		"Certificate":          {false, "network_token = nobody\n" + ours.agent(t, "devstack0"), true, ""},
		"CertificateOfAnother": {false, "network_token = admin\n" + ours.agent(t, "devstack1"), false, "answered (403)"},
		"CertificateOfNobody":  {false, "network_token = nobody\n" + theirs.agent(t, "devstack0"), false, "answered (403)"},
		"Key":                  {false, "network_token = nobody\nnetwork_host_key_file = " + dir + "/key", true, ""},
		"KeyInTheSettings":     {false, "network_host_key = " + keys.Key("devstack0"), true, ""},
		"KeyOfAnother": {
			false, "network_token = admin\nnetwork_host_key_file = " + dir + "/other-key", false,
			"is of the host devstack1, and not of devstack0",
		},
		"AmongClients":          {true, "network_token = nobody\n" + ours.agent(t, "devstack0"), true, ""},
		"OneOfTheClients":       {true, "network_token = nobody\n" + theirs.agent(t, "devstack0"), false, "answered (403)"},
		"ClientWithoutAny":      {true, "network_token = admin", false, "certificate"},
		"OneOfTheClientsAndAll": {true, "network_token = admin\n" + theirs.agent(t, "devstack0"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := ""
			if tc.client {
				client = "\ntls_client_ca_file = " + dir + "/clients.pem"
			}
			service := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
				neutronConf(t, networkDatabaseAt("sqlite://"),
					"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[berth]\ntls_cert_file = "+dir+
						"/cert.pem\ntls_key_file = "+dir+"/key.pem\ntls_agent_ca_file = "+dir+"/agents.pem\nhost_key_secret = "+secret+
						client))
			file := agentFile(t, "[berth]", "network_urls = "+overTLSAt(service), "network_ca_file = "+dir+"/cert.pem", tc.agent)
			agent := launch(t, nil, nil, "agent", "--config", file)
			if !tc.wantAgent {
				agent.logged(tc.wantLog)
				return
			}
			service.logged(`POST path=/berth/v1/heartbeats .*status=(200)`)
		})
	}
	t.Run("OwnRequestsOnly", func(t *testing.T) {
		service := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
			neutronConf(t, networkDatabaseAt("sqlite://"),
				"[berth]\ntls_cert_file = "+dir+"/cert.pem\ntls_key_file = "+dir+"/key.pem\ntls_agent_ca_file = "+dir+
					"/agents.pem"))
		lines := strings.Split(ours.agent(t, "devstack0"), "\n")
		pair, err := tls.LoadX509KeyPair(strings.TrimPrefix(lines[0], "network_cert_file = "),
			strings.TrimPrefix(lines[1], "network_key_file = "))
		if err != nil {
			t.Fatal(err)
		}
		as := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
		for path, want := range map[string]int{
			"/berth/v1/hosts/devstack0/ports": http.StatusOK, "/berth/v1/hosts/devstack1/ports": http.StatusForbidden,
			"/v2.0/quotas/p": http.StatusForbidden,
		} {
			res, body := call(t, as, "GET", overTLSAt(service)+path, "", "X-Auth-Token: nobody")
			if res.StatusCode != want {
				t.Errorf("GET %s = %d %s, want %d", path, res.StatusCode, body, want)
			}
		}
	})
}

// overTLSAt is the address of a service with TLS.
func overTLSAt(r *running) string { return strings.Replace(r.url, "http:", "https:", 1) }
