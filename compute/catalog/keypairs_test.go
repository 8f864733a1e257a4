package catalog_test

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/novatest"
)

func spec(name, kind, key string) catalog.KeypairSpec {
	return catalog.KeypairSpec{User: "ann", Project: computetest.Project, Name: name, Type: kind, PublicKey: key}
}

const (
	ed25519  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJlcnRoYmVydGhiZXJ0aGJlcnRoYmVydGhiZXJ0aHh5 ann@example"
	novaKeys = `
import json, sys
from nova import crypto, exception
def check(kind, key):
    try:
        return (crypto.generate_x509_fingerprint if kind == 'x509' else crypto.generate_fingerprint)(key)
    except exception.InvalidKeypair:
        return ''
json.dump([check(kind, key) for kind, key in json.load(sys.stdin)], sys.stdout)
`
)

// TestFingerprintsAreNovas compares fingerprints, of keys that Berth made too, and what
// is taken for a key at all.
func TestFingerprintsAreNovas(t *testing.T) {
	c := newCloud(t)
	made, private, err := c.GenerateKeypair(ctx, spec("made", compute.SSH, ""))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(private))
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil || key.Validate() != nil {
		t.Errorf("the private key cannot be read: %v", err)
	}
	keys := [][2]string{
		{"ssh", made.PublicKey},
		{"ssh", strings.TrimSuffix(made.PublicKey, " Generated-by-Nova")},
		{"ssh", ""},
		{"ssh", "ssh-rsa"},
		{"ssh", "ssh-rsa AAAA"},
		{"ssh", "ssh-rsa not/base64!"},
		{"ssh", strings.Replace(made.PublicKey, "ssh-rsa ", "ssh-dss ", 1)},
		{"ssh", ed25519},
		{"x509", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
		{"x509", "none"},
	}
	var want []string
	novatest.Run(t, novaKeys, keys, &want)
	for i, k := range keys {
		row, err := c.ImportKeypair(ctx, spec("k", k[0], k[1]))
		if err != nil {
			if kind, code := fault.Of(err); kind != fault.Invalid || code != "InvalidKeypair" {
				t.Errorf("ImportKeypair(%q) = %v", k[1], err)
			}
			row.Fingerprint = ""
		} else if err := c.DeleteKeypair(ctx, "ann", "k"); err != nil {
			t.Error(err)
		}
		if row.Fingerprint != want[i] {
			t.Errorf("the fingerprint of %q is %q, Nova's is %q", k[1], row.Fingerprint, want[i])
		}
	}
}

func TestKeypairs(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) { s.Quotas[compute.KeyPairs] = 2 })
	a := must(c.ImportKeypair(ctx, spec(" a ", compute.SSH, ed25519)))
	if a.Name != "a" || a.Number != 1 {
		t.Errorf("the keypair is %+v", a)
	}
	_, err := c.ImportKeypair(ctx, spec("a", compute.SSH, ed25519))
	c.Refused("ImportKeypair", err, fault.Conflict, "KeyPairExists", "Key pair 'a' already exists.")
	_, private, err := c.GenerateKeypair(ctx, spec(" a", compute.SSH, ""))
	c.Refused("GenerateKeypair", err, fault.Conflict, "KeyPairExists", "Key pair 'a' already exists.")
	if private != "" {
		t.Error("a key was made for nothing")
	}
	must(c.ImportKeypair(ctx, spec("b", compute.SSH, ed25519)))
	_, err = c.ImportKeypair(ctx, spec("c", compute.SSH, ed25519))
	c.Refused("ImportKeypair", err, fault.Denied, "KeypairLimitExceeded", "Quota exceeded, too many key pairs.")
	if n := len(must(c.Keypairs(ctx, "bob"))); n != 0 {
		t.Errorf("bob has %d keypairs", n)
	}
	_, err = c.Keypair(ctx, "bob", "a")
	c.Refused("Keypair", err, fault.NotFound, "KeypairNotFound", "Keypair a not found for user bob")
	if err := c.DeleteKeypair(ctx, "ann", "a"); err != nil {
		t.Error(err)
	}
	c.Refused("DeleteKeypair", c.DeleteKeypair(ctx, "ann", "a"), fault.NotFound, "KeypairNotFound",
		"Keypair a not found for user ann")
	if again := must(c.ImportKeypair(ctx, spec("a", compute.SSH, ed25519))); again.Number != 3 {
		t.Errorf("the number %d was given before", again.Number)
	}
}

// novaFiles reads PKCS #12 files with the library that Nova has, without a password.
const novaFiles = `
import base64, json, sys
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12
from nova import crypto
private, public = json.load(sys.stdin)
key, cert, _ = pkcs12.load_key_and_certificates(base64.b64decode(private), b'')
names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
json.dump([crypto.generate_x509_fingerprint(public), str(key.public_key().public_numbers() == cert.public_key().public_numbers()), cert.subject.rfc4514_string(),
           names[0].type_id.dotted_string, names[0].value.decode(), usage[0].dotted_string], sys.stdout)
`

// A certificate that is made is one as Nova makes them, and the file with its key can be read
// without a password.
func TestCertificatesAreMade(t *testing.T) {
	c := newCloud(t)
	made, private, err := c.GenerateKeypair(ctx, spec("cert", compute.X509, ""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	novatest.Run(t, novaFiles, []string{private, made.PublicKey}, &got)
	want := []string{
		made.Fingerprint, "True", "CN=ann", "1.3.6.1.4.1.311.20.2.3", "\x0c\rann@localhost", "1.3.6.1.5.5.7.3.2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the certificate is %q, want %q", got, want)
	}
}
