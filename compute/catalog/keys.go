package catalog

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
)

// fingerprint returns the fingerprint of a public key, as Nova shows it.
func fingerprint(kind, key string) (string, error) {
	if kind == compute.X509 {
		block, _ := pem.Decode([]byte(key))
		if block == nil {
			return "", compute.Invalid("InvalidKeypair",
				"Keypair data is invalid: failed to generate X509 fingerprint. Error message: no certificate in PEM")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", compute.Invalid("InvalidKeypair",
				"Keypair data is invalid: failed to generate X509 fingerprint. Error message: %v", err)
		}
		sum := sha1.Sum(block.Bytes)
		return colons(sum[:]), nil
	}
	data, ok := sshKey(key)
	if !ok {
		return "", compute.Invalid("InvalidKeypair", "Keypair data is invalid: failed to generate fingerprint")
	}
	sum := md5.Sum(data)
	return colons(sum[:]), nil
}

// colons writes bytes in hexadecimal with colons between them.
func colons(sum []byte) string {
	text := hex.EncodeToString(sum)
	parts := make([]string, len(sum))
	for i := range parts {
		parts[i] = text[2*i : 2*i+2]
	}
	return strings.Join(parts, ":")
}

// sshTypes are the types of public keys that there are, with the number of values that
// follow the type.
var sshTypes = map[string]int{
	"ssh-rsa": 2, "ssh-dss": 4, "ssh-ed25519": 1, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2,
	"ecdsa-sha2-nistp521": 2,
}

// sshKey returns what is in a public key of OpenSSH's format: "ssh-rsa AAAA… comment".
func sshKey(line string) ([]byte, bool) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return nil, false
	}
	values, ok := sshValues(data)
	want, known := sshTypes[words[0]]
	return data, ok && known && len(values) == want+1 && string(values[0]) == words[0] &&
		!slices.ContainsFunc(values, func(v []byte) bool { return len(v) == 0 })
}

// sshValues takes a key apart: values, each after its length.
func sshValues(data []byte) (values [][]byte, ok bool) {
	for len(data) > 0 {
		if len(data) < 4 {
			return nil, false
		}
		n := binary.BigEndian.Uint32(data)
		if uint64(len(data)-4) < uint64(n) {
			return nil, false
		}
		values, data = append(values, data[4:4+n]), data[4+n:]
	}
	return values, true
}

// keyBits is the length of keys that are generated here.
const keyBits = 2048

// generateSSH makes a key: the private one in PEM, the public one in OpenSSH's format.
func generateSSH() (private, public string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return "", "", err
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	var data []byte
	for _, v := range [][]byte{[]byte("ssh-rsa"), mpint(big.NewInt(int64(key.E))), mpint(key.N)} {
		data = append(binary.BigEndian.AppendUint32(data, uint32(len(v))), v...)
	}
	return private, "ssh-rsa " + base64.StdEncoding.EncodeToString(data) + " Generated-by-Nova", nil
}

// mpint is a positive number of the ssh protocol: its highest bit is 0.
func mpint(n *big.Int) []byte {
	b := n.Bytes()
	if len(b) > 0 && b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	return b
}
