package pyschema

import (
	"strings"
	"unicode"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// IsPlainUUID reports whether s is a UUID as nearly everybody writes it: 36
// characters with dashes at the four usual places. All that checks UUIDs takes
// these.
func IsPlainUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	digits := 0
	for i := range len(s) {
		if isHex(s[i]) {
			digits++
		}
	}
	return digits == 32
}

// IsUUIDLike is the "uuid" that upstream checks bodies with, that of oslo.utils:
// 32 hexadecimal digits in either case, with dashes anywhere, braces around them
// and "urn:" or "uuid:" in them. What is not a string is not a uuid.
func IsUUIDLike(v pyjson.Value) bool {
	if IsPlainUUID(v.Str()) {
		return true
	}
	s := bareUUID(v.Str())
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

// IsDashedUUID is the "uuid" that upstream checks query strings with, that of
// jsonschema itself: what Python's UUID takes, and with dashes at the four usual
// places. What is not a string passes.
func IsDashedUUID(v pyjson.Value) bool {
	if v.Kind() != pyjson.String || IsPlainUUID(v.Str()) {
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
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
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

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
