package pyjson

import (
	"fmt"
	"unicode/utf8"
)

// CheckUTF8 returns nil if b is valid UTF-8, and otherwise an error with the
// text of Python's UnicodeDecodeError for the first mistake.
func CheckUTF8(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	n, reason := badSequence(b[at:])
	if n == 1 {
		return fmt.Errorf("'utf-8' codec can't decode byte 0x%02x in position %d: %s", b[at], at, reason)
	}
	return fmt.Errorf("'utf-8' codec can't decode bytes in position %d-%d: %s", at, at+n-1, reason)
}

// badSequence returns the number of bytes at the start of b that Python's error names, and its
// reason. b does not begin with a valid sequence.
func badSequence(b []byte) (int, string) {
	want := sequenceLen(b[0])
	if want == 0 {
		return 1, "invalid start byte"
	}
	for i := 1; i < want; i++ {
		if i == len(b) {
			return i, "unexpected end of data"
		}
		low, high := byte(0x80), byte(0xbf)
		if i == 1 {
			low, high = secondRange(b[0])
		}
		if b[i] < low || b[i] > high {
			return i, "invalid continuation byte"
		}
	}
	panic("pyjson: badSequence called on a valid one")
}

// sequenceLen returns how many bytes a sequence that starts with lead has, and 0 if none does. C0
// and C1 would begin overlong forms only, and F5 and above characters beyond U+10FFFF.
func sequenceLen(lead byte) int {
	switch {
	case lead >= 0xc2 && lead <= 0xdf:
		return 2
	case lead >= 0xe0 && lead <= 0xef:
		return 3
	case lead >= 0xf0 && lead <= 0xf4:
		return 4
	}
	return 0
}

// secondRange returns what may follow lead: it keeps out overlong forms,
// surrogates and what lies beyond Unicode.
func secondRange(lead byte) (low, high byte) {
	switch lead {
	case 0xe0:
		return 0xa0, 0xbf
	case 0xed:
		return 0x80, 0x9f
	case 0xf0:
		return 0x90, 0xbf
	case 0xf4:
		return 0x80, 0x8f
	}
	return 0x80, 0xbf
}
