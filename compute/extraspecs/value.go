package extraspecs

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A value says what an extra spec may be set to.
type value struct {
	kind     kind
	min, max *big.Int // of integers; nil for no bound
	enum     []string // of texts; nil for any
	format   string   // of texts, as Python writes it; "" for any
	pattern  *regexp.Regexp
}

type kind int

const (
	text kind = iota
	whole
	boolean
)

func integer() value { return value{kind: whole} }

func atLeast(n int64) value { return value{kind: whole, min: big.NewInt(n)} }

func between(low, high int64) value {
	return value{kind: whole, min: big.NewInt(low), max: big.NewInt(high)}
}

func oneOf(words ...string) value { return value{enum: words} }

// like is a text of a format.
func like(format string) value { return value{format: format, pattern: full(format)} }

// full compiles what Python would match as a whole.
func full(format string) *regexp.Regexp {
	return regexp.MustCompile(`\A(?:` + unicodeClasses.Replace(format) + `)\z`)
}

// unicodeClasses translates Python's character classes to Go's.
var unicodeClasses = strings.NewReplacer(`\d`, `\p{Nd}`, `\w`, `[\p{L}\p{N}_]`)

func (v value) check(s string) error {
	switch {
	case v.kind == whole:
		return v.checkInteger(s)
	case v.kind == boolean:
		if _, ok := Bool(s); !ok {
			return refuse("'%s' is not a valid boolean-like value.", s)
		}
	case v.pattern != nil && !v.pattern.MatchString(s):
		return refuse("'%s' is not of the format '%s'.", s, v.format)
	case v.enum != nil && !slices.Contains(v.enum, s):
		return refuse("'%s' is not one of: %s.", s, strings.Join(v.enum, ", "))
	}
	return nil
}

func (v value) checkInteger(s string) error {
	n, ok := Integer(s)
	switch {
	case !ok:
		return refuse("'%s' is not a valid integer value.", s)
	case v.max != nil && n.Cmp(v.max) > 0:
		return refuse("'%s' is greater than the max value of '%s'.", n, v.max)
	case v.min != nil && n.Cmp(v.min) < 0:
		return refuse("'%s' is less than the min value of '%s'.", n, v.min)
	}
	return nil
}

// Bool reads a truth value as oslo.utils does: "yes", "On", "1". It returns false,
// false for anything else.
func Bool(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimFunc(s, space)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// maxDigits is how long a number may be that is read at all. Python stops at 4300.
const maxDigits = 4300

// Integer reads a whole number as Python's int does: with space around it, a sign,
// digits of any script, and single underscores between them.
func Integer(s string) (*big.Int, bool) {
	s = strings.TrimFunc(s, space)
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	var digits strings.Builder
	under := true // none at the beginning
	for _, r := range s {
		if r == '_' && !under {
			under = true
			continue
		}
		d, ok := digit(r)
		if !ok || digits.Len() == maxDigits {
			return nil, false
		}
		digits.WriteByte(d)
		under = false
	}
	if under {
		return nil, false
	}
	return new(big.Int).SetString(sign+digits.String(), 10)
}

// digit returns the decimal value of a character.
func digit(r rune) (byte, bool) {
	if r >= '0' && r <= '9' {
		return byte(r), true
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	// Digits of a script come in tens, the zero first.
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte('0' + (r-rune(t.Lo))%10), true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte('0' + (r-rune(t.Lo))%10), true
		}
	}
	return 0, false
}

// space reports whether Python strips a character.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
