package guarantee

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
)

// A UUID names a port, a provider or a group. Its zero value stands for none. Two UUIDs are equal
// whatever the spelling that they were parsed from.
type UUID [16]byte

// ParseUUID reads a UUID of 32 hexadecimal digits in either case, with the four
// hyphens or with none.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	digits := s
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		digits = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(digits) != 32 {
		return UUID{}, fmt.Errorf("%.50q is not a UUID", s)
	}
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("%.50q is not a UUID", s)
	}
	return u, nil
}

// String returns the UUID in lower case with hyphens.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// MarshalText writes what String returns.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what ParseUUID reads.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err == nil {
		*u = v
	}
	return err
}

// Derive returns the UUID of a name in a namespace, version 5 of RFC 9562.
func (u UUID) Derive(name string) UUID {
	sum := sha1.Sum(append(u[:], name...))
	var v UUID
	copy(v[:], sum[:])
	v[6] = v[6]&0x0f | 0x50 // version 5
	v[8] = v[8]&0x3f | 0x80 // the variant of RFC 9562
	return v
}
