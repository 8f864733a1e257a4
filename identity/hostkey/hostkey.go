// Package hostkey derives and checks the keys by which hosts identify themselves to the services
// that they report to. It does not decide what a host may do.
package hostkey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Header is the header of a request with the key of the host that sends it.
const Header = "X-Berth-Host-Key"

// Keys derives and checks keys. A key is the name of its host, a colon, and the HMAC-SHA256 of the
// name in hexadecimal digits, so that nothing is stored for a host. The zero Keys accepts no key.
// It may be used concurrently.
type Keys struct{ secrets []string }

// New returns the Keys of some secrets: the first one makes keys, and keys of all are accepted, so
// that a secret can be replaced.
func New(secrets ...string) Keys { return Keys{secrets} }

// Empty reports whether there is no secret.
func (k Keys) Empty() bool { return len(k.secrets) == 0 }

// Key returns the key of a host. It panics without a secret.
func (k Keys) Key(host string) string { return host + ":" + codeOf(k.secrets[0], host) }

// Host returns the host that a key was made for, and whether one of the secrets made it. The
// comparison takes the same time for all keys of one length.
func (k Keys) Host(key string) (host string, ok bool) {
	host, code := cut(key)
	for _, s := range k.secrets {
		if hmac.Equal([]byte(code), []byte(codeOf(s, host))) {
			ok = true
		}
	}
	return host, ok && host != ""
}

// HostOf returns the host that a key names, without a check whether it is the host's, and false for
// what is no key.
func HostOf(key string) (host string, ok bool) {
	host, code := cut(key)
	b, err := hex.DecodeString(code)
	return host, err == nil && len(b) == sha256.Size && host != ""
}

// cut splits a key at its last colon: names of hosts may have colons, codes have none.
func cut(key string) (host, code string) {
	i := strings.LastIndexByte(key, ':')
	if i < 0 {
		return "", ""
	}
	return key[:i], key[i+1:]
}

// codeOf returns the code of a host's key. Its prefix separates keys of hosts from whatever else
// may be derived from the same secret.
func codeOf(secret, host string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("berth host key 1\n" + host))
	return hex.EncodeToString(mac.Sum(nil))
}
