package catalog

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// certificateTime is the validity of certificates that are generated here.
const certificateTime = 3650 * 24 * time.Hour

// generateX509 makes a certificate with which a user can log in to Windows without a password, as
// Nova's generate_winrm_x509_cert does: the key is a PKCS #12 file without a password in base64,
// the certificate PEM.
func generateX509(user string, now time.Time) (private, certificate string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return "", "", err
	}
	type otherName struct {
		ID    asn1.ObjectIdentifier
		Value string `asn1:"tag:0,explicit,utf8"`
	}
	names, err := asn1.Marshal(struct {
		Name otherName `asn1:"tag:0"`
	}{otherName{asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 20, 2, 3}, user + "@localhost"}})
	if err != nil {
		return "", "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 159))
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: user}, NotBefore: now, NotAfter: now.Add(certificateTime),
		ExtKeyUsage:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: names}},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", "", err
	}
	file, err := pkcs12(cert, key)
	if err != nil {
		return "", "", err
	}
	return base64.StdEncoding.EncodeToString(file),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})), nil
}

// The object identifiers of PKCS #12 (RFC 7292).
var (
	oidData       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidKeyBag     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 1}
	oidCertBag    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	oidX509       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 22, 1}
	oidLocalKeyID = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 21}
	oidSHA1       = asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}
)

// A tagged value is one after its type, in a tag of its own, as PKCS #12 has them throughout.
type tagged struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// pkcs12 encodes a certificate and its key as a file (RFC 7292). Its password is empty, so nothing
// in it is encrypted: encryption with a known password protects nothing.
func pkcs12(cert []byte, key *rsa.PrivateKey) ([]byte, error) {
	var failed error
	der := func(v any) []byte {
		b, err := asn1.Marshal(v)
		failed = errors.Join(failed, err)
		return b
	}
	tag := func(id asn1.ObjectIdentifier, value []byte) tagged {
		return tagged{id, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: value}}
	}
	type attribute struct {
		ID     asn1.ObjectIdentifier
		Values [][]byte `asn1:"set"`
	}
	type bag struct {
		Type       asn1.ObjectIdentifier
		Value      asn1.RawValue
		Attributes []attribute `asn1:"set"`
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum(cert)
	same := []attribute{{oidLocalKeyID, [][]byte{sum[:]}}} // says which key is the certificate's
	keyBag, certBag := tag(oidKeyBag, pkcs8), tag(oidCertBag, der(tag(oidX509, der(cert))))
	bags := der([]bag{{keyBag.Type, keyBag.Value, same}, {certBag.Type, certBag.Value, same}})
	safe := der([]tagged{tag(oidData, der(bags))})
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // it does not fail
	const rounds = 2048
	mac := hmac.New(sha1.New, macKey(salt[:], rounds))
	mac.Write(safe)
	type digest struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}
	type macData struct {
		Mac    digest
		Salt   []byte
		Rounds int
	}
	file := der(struct {
		Version int
		Safe    tagged
		Mac     macData
	}{
		3, tag(oidData, der(safe)),
		macData{
			digest{pkix.AlgorithmIdentifier{Algorithm: oidSHA1, Parameters: asn1.NullRawValue}, mac.Sum(nil)}, salt[:], rounds,
		},
	})
	return file, failed
}

// macKey derives the key of the MAC from an empty password (RFC 7292, appendix B.2): blocks of
// three, of the salt, and of the password, which is the zero that ends it.
func macKey(salt []byte, rounds int) []byte {
	const block = 64 // of SHA-1
	var text [3 * block]byte
	for i := range block {
		text[i], text[block+i] = 3, salt[i%len(salt)]
	}
	sum := sha1.Sum(text[:])
	for range rounds - 1 {
		sum = sha1.Sum(sum[:])
	}
	return sum[:]
}
