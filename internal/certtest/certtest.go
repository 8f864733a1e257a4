// Package certtest creates certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// An Authority signs certificates. Its own is built from the template given, so that it can be a
// server's certificate as well.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority with a certificate like tmpl, whose serial number, times and
// name are optional.
func NewAuthority(t testing.TB, tmpl x509.Certificate) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	tmpl.IsCA, tmpl.BasicConstraintsValid = true, true
	if tmpl.Subject.CommonName == "" {
		tmpl.Subject = pkix.Name{CommonName: "authority"}
	}
	a.cert = &tmpl // which makes it self-signed
	a.cert = a.make(&tmpl, a.key)
	return a
}

// Sign returns a certificate like tmpl and its key, both in PEM format. Serial number and times are
// optional.
func (a *Authority) Sign(tmpl x509.Certificate) (cert, key []byte) {
	a.t.Helper()
	k := newKey(a.t)
	return certPEM(a.make(&tmpl, k)), keyPEM(a.t, k)
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return certPEM(a.cert) }

// KeyPEM returns the authority's key, for a server that uses its certificate.
func (a *Authority) KeyPEM() []byte { return keyPEM(a.t, a.key) }

// Roots returns a pool with the authority, for its clients.
func (a *Authority) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return roots
}

// make signs a certificate for a key, valid from two hours ago until an hour from now unless tmpl
// sets the times.
func (a *Authority) make(tmpl *x509.Certificate, k *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	if tmpl.SerialNumber == nil {
		tmpl.SerialNumber = big.NewInt(time.Now().UnixNano())
	}
	if tmpl.NotBefore.IsZero() {
		tmpl.NotBefore = time.Now().Add(-2 * time.Hour)
	}
	if tmpl.NotAfter.IsZero() {
		tmpl.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, k.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

func keyPEM(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
