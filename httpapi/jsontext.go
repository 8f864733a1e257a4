package httpapi

import (
	"math"
	"unicode/utf8"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

const hexDigits = "0123456789abcdef"

// verbatim has the bytes that need no escape in a JSON string.
var verbatim = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendJSONString appends s as a JSON string the way Python's json.dumps does:
// all but printable ASCII is escaped, in lower case and with surrogate pairs
// beyond U+FFFF. Markup is left alone. A lone surrogate, encoded in three bytes
// as if it were a character, is escaped as itself; any other byte that is not
// UTF-8 becomes U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if verbatim[s[i]] {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		var n int
		dst, n = appendEscape(dst, s[i:])
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of the first character of s and returns how
// many bytes that character has.
func appendEscape(dst []byte, s string) ([]byte, int) {
	switch s[0] {
	case '"', '\\':
		return append(dst, '\\', s[0]), 1
	case '\n':
		return append(dst, `\n`...), 1
	case '\r':
		return append(dst, `\r`...), 1
	case '\t':
		return append(dst, `\t`...), 1
	case '\b':
		return append(dst, `\b`...), 1
	case '\f':
		return append(dst, `\f`...), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1 && isSurrogate(s):
		return appendUnit(dst, uint16(0xD000|uint16(s[1]&0x3f)<<6|uint16(s[2]&0x3f))), 3
	case r > 0xFFFF:
		r -= 0x10000
		dst = appendUnit(dst, uint16(0xD800|r>>10))
		return appendUnit(dst, uint16(0xDC00|r&0x3ff)), n
	}
	return appendUnit(dst, uint16(r)), n
}

// isSurrogate reports whether s begins with an encoded surrogate.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2] >= 0x80 && s[2] <= 0xBF
}

// appendUnit appends the escape of one UTF-16 code unit.
func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// AppendJSONFloat appends f as Python's json.dumps does: the shortest digits that read back as f,
// with ".0" on whole numbers and an exponent from 1e+16 up and below 0.0001. NaN and the infinities
// are Python's words for them, which are not JSON.
func AppendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return pyjson.AppendRepr(dst, pyjson.NewFloat(f))
}
