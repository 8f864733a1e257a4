package pyjson

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// Repr returns v as Python's repr shows it: {'name': 'x', 'n': [1, 2.5, None]}.
func Repr(v Value) string { return string(AppendRepr(nil, v)) }

// Str returns v as Python's str() has it, which is how messages quote values.
func Str(v Value) string {
	if v.kind == String {
		return v.str
	}
	return Repr(v)
}

// Brief returns what [Repr] returns, cut off behind about max bytes, with an ellipsis. It takes no
// longer for a greater value.
func Brief(v Value, max int) string {
	if v.kind == String && len(v.str) > max { // its repr is not shorter
		v.str = v.str[:max]
	}
	b, whole := appendRepr(nil, v, max)
	return Cut(string(b), max, !whole)
}

// Cut returns a text, cut off behind about max bytes, with an ellipsis when it was longer or is
// only the beginning of a text.
func Cut(text string, max int, begun bool) string {
	if len(text) <= max && !begun {
		return text
	}
	return strings.ToValidUTF8(text[:min(max, len(text))], "") + "…"
}

// CutMiddle returns a text of at most about max bytes, with an ellipsis in place of its middle when
// it was longer. Messages that quote a value say at their end what is wrong with it.
func CutMiddle(text string, max int) string {
	if len(text) <= max {
		return text
	}
	half := max / 2
	return strings.ToValidUTF8(text[:half], "") + "…" + strings.ToValidUTF8(text[len(text)-half:], "")
}

// AppendRepr appends what [Repr] returns to b.
func AppendRepr(b []byte, v Value) []byte {
	b, _ = appendRepr(b, v, math.MaxInt)
	return b
}

// Quote returns s as Python's repr shows a str: in single quotes, or in double
// ones if that saves escaping, with all that Python finds unprintable escaped.
// The result is valid UTF-8 whatever s is.
func Quote(s string) string { return string(appendQuoted(nil, s)) }

// appendRepr appends the repr of v. It may stop early, and then reports false,
// once b is longer than max bytes.
func appendRepr(b []byte, v Value, max int) ([]byte, bool) {
	switch v.kind {
	case Array:
		return appendArray(b, v.items, max)
	case Object:
		return appendObject(b, v.members, max)
	}
	return appendScalar(b, v), true
}

func appendArray(b []byte, items []Value, max int) ([]byte, bool) {
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(b) > max {
			return b, false
		}
		var ok bool
		if b, ok = appendRepr(b, item, max); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

func appendObject(b []byte, members []Member, max int) ([]byte, bool) {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendQuoted(b, m.Key)
		b = append(b, ": "...)
		if len(b) > max {
			return b, false
		}
		var ok bool
		if b, ok = appendRepr(b, m.Value, max); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

// appendScalar appends the repr of a value that contains no others. An integer beyond int64 has its
// digits as they were sent.
func appendScalar(b []byte, v Value) []byte {
	switch {
	case v.kind == String:
		return appendQuoted(b, v.str)
	case v.kind == Float:
		return appendFloat(b, math.Float64frombits(v.num))
	case v.kind == Int && v.str != "":
		return append(b, v.str...)
	case v.kind == Int:
		return strconv.AppendInt(b, int64(v.num), 10)
	case v.Bool():
		return append(b, "True"...)
	case v.kind == Bool:
		return append(b, "False"...)
	}
	return append(b, "None"...)
}

// appendFloat writes the shortest digits that read back as f, with an exponent
// from 1e16 and below 1e-4 on.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	size := math.Abs(f)
	if size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !strings.Contains(string(b[start:]), ".") {
		b = append(b, ".0"...)
	}
	return b
}

func appendQuoted(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b = append(b, quote)
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		b = appendChar(b, r, s[i:i+n], quote)
		i += n
	}
	return append(b, quote)
}

// appendChar appends one character of a string; raw are its bytes.
func appendChar(b []byte, r rune, raw string, quote byte) []byte {
	switch {
	case r == rune(quote) || r == '\\':
		return append(b, '\\', byte(r))
	case r == '\n':
		return append(b, `\n`...)
	case r == '\r':
		return append(b, `\r`...)
	case r == '\t':
		return append(b, `\t`...)
	case r == unicode.ReplacementChar && len(raw) == 1: // a byte outside UTF-8
		return appendHex(append(b, `\x`...), rune(raw[0]), 2)
	case unicode.IsPrint(r):
		return append(b, raw...)
	case r <= 0xff:
		return appendHex(append(b, `\x`...), r, 2)
	case r <= 0xffff:
		return appendHex(append(b, `\u`...), r, 4)
	}
	return appendHex(append(b, `\U`...), r, 8)
}

// appendHex appends width hexadecimal digits, in lower case.
func appendHex(b []byte, r rune, width int) []byte {
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[r>>shift&0xf])
	}
	return b
}
