package pyschema

import (
	"strings"
	"unicode"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// UUIDDigits returns the 32 hexadecimal digits, in lower case, of a text that oslo's is_uuid_like
// accepts: dashes may be anywhere, braces around it, and "urn:" and "uuid:" in it.
func UUIDDigits(text string) (digits string, ok bool) {
	digits = strings.ToLower(bareUUID(text))
	return digits, len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// IsUUIDLike is the "uuid" that upstream checks bodies with, that of oslo.utils: see [UUIDDigits].
// What is not a string is not a uuid.
func IsUUIDLike(v pyjson.Value) bool {
	_, ok := UUIDDigits(v.Str())
	return ok
}

// IsDashedUUID is the "uuid" that upstream checks query strings with, that of
// jsonschema itself: what Python's UUID takes, and with dashes at the four usual
// places. What is not a string passes.
func IsDashedUUID(v pyjson.Value) bool {
	if v.Kind() != pyjson.String {
		return true
	}
	s := []rune(v.Str())
	if len(s) < 32 || !isPythonHex(bareUUID(v.Str())) {
		return false
	}
	return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}

// bareUUID drops what Python's UUID ignores.
func bareUUID(s string) string {
	s = strings.ReplaceAll(s, "urn:", "")
	s = strings.ReplaceAll(s, "uuid:", "")
	return strings.ReplaceAll(strings.Trim(s, "{}"), "-", "")
}

// isPythonHex reports whether s has 32 characters that Python's int(s, 16)
// takes, which are not only digits: spaces around them, a plus, a 0x and single
// underscores between digits do as well, and so do the digits of other scripts.
func isPythonHex(s string) bool {
	if pyjson.RuneLen(s) != 32 {
		return false
	}
	s = strings.TrimFunc(s, pyjson.IsSpace)
	s = strings.Map(asciiDigit, strings.TrimPrefix(s, "+"))
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = strings.TrimPrefix(s[2:], "_")
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return false
	}
	s = strings.ReplaceAll(s, "_", "")
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// asciiDigit stands in for a decimal digit of any script; the values do not
// matter.
func asciiDigit(r rune) rune {
	if r > unicode.MaxASCII && unicode.Is(unicode.Nd, r) {
		return '0'
	}
	return r
}
