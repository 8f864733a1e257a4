package osloconfig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Value is the type of an option, bound to the variable that receives it. The functions below
// return one each; the variable's content at loading is the default.
type Value struct {
	kind   string
	multi  bool // takes all values given, not only the last
	secret bool
	set    func(raws []string) error // raws is never empty
	text   func() string             // as one writes it in a file
	python func() string             // as a reference to the option reads; text when nil
}

// errUnset means "no value", so that the default applies.
var errUnset = errors.New("empty")

// Type returns the name of the type for documents: "string", "integer", …
func (v Value) Type() string { return v.kind }

// String returns the variable's value in the syntax of a file. Secrets are not masked; see
// Option.Display.
func (v Value) String() string { return v.text() }

// substitute returns the replacement of a reference to the option: the value as Python prints it.
func (v Value) substitute() string {
	if v.python != nil {
		return v.python()
	}
	return v.text()
}

// Check returns a Value that also has to pass ok, which gets the text after references are
// expanded. The error is the reason that the operator reads: it must not contain a secret.
func (v Value) Check(ok func(text string) error) Value {
	set := v.set
	v.set = func(raws []string) error {
		if err := ok(raws[len(raws)-1]); err != nil {
			return err
		}
		return set(raws)
	}
	return v
}

// last returns a setter for options of one value: the last value applies.
func last(set func(string) error) func([]string) error {
	return func(raws []string) error { return set(raws[len(raws)-1]) }
}

// String is any text.
func String(p *string) Value {
	return Value{
		kind: "string",
		set:  last(func(raw string) error { *p = raw; return nil }),
		text: func() string { return *p },
	}
}

// Hidden is any text that must never be printed.
func Hidden(p *Secret) Value {
	return Value{
		kind:   "string",
		secret: true,
		set:    last(func(raw string) error { *p = Secret(raw); return nil }),
		text:   func() string { return p.Reveal() },
	}
}

// Choice is one of the given words, compared with case.
func Choice(p *string, words ...string) Value {
	v := String(p)
	v.kind = "one of " + strings.Join(words, ", ")
	return v.Check(func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return errors.New("want " + v.kind)
	})
}

// Bool is one of true, yes, on, 1 and false, no, off, 0 in any case.
func Bool(p *bool) Value {
	return Value{
		kind: "boolean",
		set: last(func(raw string) error {
			b, err := parseBool(raw)
			if err == nil {
				*p = b
			}
			return err
		}),
		text: func() string { return strconv.FormatBool(*p) },
		python: func() string {
			if *p {
				return "True"
			}
			return "False"
		},
	}
}

// OptionalBool is a boolean; an empty value is nil.
func OptionalBool(p **bool) Value {
	return Value{
		kind: "boolean",
		set: last(func(raw string) error {
			if raw == "" {
				*p = nil
				return nil
			}
			b, err := parseBool(raw)
			if err == nil {
				*p = &b
			}
			return err
		}),
		text: func() string {
			if *p == nil {
				return ""
			}
			return strconv.FormatBool(**p)
		},
	}
}

// parseBool converts the words of oslo's type Boolean.
func parseBool(raw string) (bool, error) {
	switch strings.ToLower(raw) {
	case "true", "1", "on", "yes":
		return true, nil
	case "false", "0", "off", "no":
		return false, nil
	}
	return false, errors.New("want a boolean: true, yes, on, 1 or false, no, off, 0")
}

// List is words separated by commas. An option that is unset is nil, one with an empty value an
// empty list.
func List(p *[]string) Value {
	return Value{
		kind:   "list",
		set:    last(func(raw string) error { *p = parseList(raw); return nil }),
		text:   func() string { return strings.Join(*p, ",") },
		python: func() string { return pythonList(*p) },
	}
}

// parseList drops commas at the end, and keeps an empty word between two commas, as oslo's type
// List does.
func parseList(raw string) []string {
	raw = strings.TrimRight(strings.TrimFunc(raw, isSpace), ",")
	if raw == "" {
		return []string{}
	}
	words := strings.Split(raw, ",")
	for i, w := range words {
		words[i] = strings.TrimFunc(w, isSpace)
	}
	return words
}

// Multi is an option with several values; the variable receives all of them, those of earlier files
// first. They replace the default ones.
func Multi(p *[]string) Value {
	return Value{
		kind:   "multi-valued",
		multi:  true,
		set:    func(raws []string) error { *p = slices.Clone(raws); return nil },
		text:   func() string { return strings.Join(*p, ", ") },
		python: func() string { return pythonList(*p) },
	}
}

// pythonList writes a list as Python does, and an unset one as a reference to
// an unset option reads.
func pythonList(words []string) string {
	if words == nil {
		return ""
	}
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, pythonQuote(w))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// pythonQuote writes a string as Python's repr does: in single quotes, unless
// that would need escaping and double quotes would not.
func pythonQuote(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteString(pythonRune(r, quote))
	}
	return quote + b.String() + quote
}

// pythonRune returns a character as repr shows it between these quotation marks.
func pythonRune(r rune, quote string) string {
	switch {
	case string(r) == quote || r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case strconv.IsPrint(r):
		return string(r)
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
