package ovsdb

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// A File is one that an option of the settings names, which errors name.
type File struct{ Option, Path string }

// Trust says how ssl: connections are secured. Files are read for each connection, so
// that they can be replaced.
type Trust struct {
	Authorities      File // of the server's certificate; needed
	Certificate, Key File // one's own; "" for none
}

// Config returns what Config.TLS may be. The server's certificate must come from the
// authorities, and may be for any name: those that the tools of OVN and Open vSwitch
// make name no host, and their own programs read none. The error names the option
// that is wrong.
func (t Trust) Config() (*tls.Config, error) {
	if t.Authorities.Path == "" {
		return nil, fmt.Errorf("%s: set it for ssl: connections", t.Authorities.Option)
	}
	if _, err := authorities(t.Authorities.Path); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Authorities.Option, err)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, // by VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error { return issued(s.PeerCertificates, t.Authorities.Path) },
	}
	if t.Certificate.Path != "" || t.Key.Path != "" {
		own := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.Certificate.Path, t.Key.Path)
			return &pair, err
		}
		if _, err := own(); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", t.Certificate.Option, t.Key.Option, err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	}
	return c, nil
}

func authorities(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return pool, nil
}

// issued returns nil when the authorities of a file have issued a server's certificate, the first
// of a chain.
func issued(chain []*x509.Certificate, caFile string) error {
	roots, err := authorities(caFile)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
