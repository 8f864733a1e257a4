package pyjson

import (
	"strconv"
	"strings"
	"unicode"
)

// ParseInt parses an integer as Python's int() does: spaces around it, a sign, single underscores
// between digits of any script. Numbers beyond an int64 become the greatest one, or -1. digits is
// the number as Python prints it.
func ParseInt(text string) (n int64, digits string, ok bool) {
	s := strings.TrimFunc(text, IsSpace)
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if s == "" || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, "", false
	}
	s = strings.Map(latinDigit, strings.ReplaceAll(s, "_", ""))
	if strings.Trim(s, "0123456789") != "" {
		return 0, "", false
	}
	digits = strings.TrimLeft(s, "0")
	if digits == "" {
		return 0, "0", true
	}
	digits = sign + digits
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && sign == "" {
		n = 1<<63 - 1
	}
	if err != nil && sign == "-" {
		n = -1
	}
	return n, digits, true
}

// latinDigit returns the ASCII digit for a decimal digit of any script, which Python reads as such.
// Ranges of them are always ten by ten.
func latinDigit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// Latin1 reads each byte as one character, as WSGI hands paths and headers to upstream.
func Latin1(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return widen(s)
		}
	}
	return s
}

// widen returns s with one character for each byte.
func widen(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}
