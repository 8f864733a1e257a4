package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates of agents.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority writes the certificate of an authority to a file.
func newAuthority(t *testing.T, path string) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: path}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	rewrite(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign writes a certificate for an agent on a host, and its key, and returns the lines
// of settings that name them.
func (a *authority) sign(t *testing.T, host string) string {
	t.Helper()
	dir, key := t.TempDir(), newKey(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	rewrite(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return "network_cert_file = " + dir + "/cert.pem\nnetwork_key_file = " + dir + "/key.pem"
}

// Agents report over TLS, and are known by a token, in a file too, or by a certificate for
// their host, which is good for nothing else. The token "nobody" is one of no rights.
func TestAgentsShowTokensOrCertificates(t *testing.T) {
	dir := t.TempDir()
	roots := certificate(t, dir, 1)
	ours, theirs := newAuthority(t, dir+"/agents.pem"), newAuthority(t, dir+"/clients.pem")
	rewrite(t, dir+"/token", "admin\n")
	rewrite(t, dir+"/useless", "nobody\n")
	for name, tc := range map[string]struct {
		client    bool // every client has to show a certificate
		agent     string
		wantAgent bool
		wantLog   string // of the agent that is refused
	}{
		"Token":                 {false, "network_token = admin", true, ""},
		"TokenFile":             {false, "network_token_file = " + dir + "/token", true, ""},
		"TokenOfNobody":         {false, "network_token_file = " + dir + "/useless", false, "answered (403)"},
		"Certificate":           {false, "network_token = nobody\n" + ours.sign(t, "devstack0"), true, ""},
		"CertificateOfAnother":  {false, "network_token = admin\n" + ours.sign(t, "devstack1"), false, "answered (403)"},
		"CertificateOfNobody":   {false, "network_token = nobody\n" + theirs.sign(t, "devstack0"), false, "answered (403)"},
		"AmongClients":          {true, "network_token = nobody\n" + ours.sign(t, "devstack0"), true, ""},
		"OneOfTheClients":       {true, "network_token = nobody\n" + theirs.sign(t, "devstack0"), false, "answered (403)"},
		"ClientWithoutAny":      {true, "network_token = admin", false, "certificate"},
		"OneOfTheClientsAndAll": {true, "network_token = admin\n" + theirs.sign(t, "devstack0"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := ""
			if tc.client {
				client = "\ntls_client_ca_file = " + dir + "/clients.pem"
			}
			service := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config", neutronConf(t, networkDatabaseAt("sqlite://"),
				"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[berth]\ntls_cert_file = "+dir+"/cert.pem\ntls_key_file = "+dir+"/key.pem\ntls_agent_ca_file = "+dir+"/agents.pem"+client))
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
		service := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config", neutronConf(t, networkDatabaseAt("sqlite://"),
			"[berth]\ntls_cert_file = "+dir+"/cert.pem\ntls_key_file = "+dir+"/key.pem\ntls_agent_ca_file = "+dir+"/agents.pem"))
		lines := strings.Split(ours.sign(t, "devstack0"), "\n")
		pair, err := tls.LoadX509KeyPair(strings.TrimPrefix(lines[0], "network_cert_file = "), strings.TrimPrefix(lines[1], "network_key_file = "))
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

// overTLSAt is the address of a service that speaks TLS.
func overTLSAt(r *running) string { return strings.Replace(r.url, "http:", "https:", 1) }
