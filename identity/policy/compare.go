package policy

import (
	"regexp"
	"slices"
	"strings"
)

// Upstream evaluates the left side of a comparison in Python: a literal has its printed form, a
// name or a dotted path of names is looked up in the caller's credentials, and a syntax error
// raises an exception. The patterns cover the literals and names of real policies; anything else
// fails the decision, which refuses.
var (
	pathPattern   = regexp.MustCompile(`^[\pL_][\pL\pN_]*([.-][\pL_][\pL\pN_]*)*$`)
	numberPattern = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)$`)
)

// keywords cannot be names in Python.
var keywords = strings.Fields(`
	False None True and as assert async await break class continue def del
	elif else except finally for from global if import in is lambda nonlocal
	not or pass raise return try while with yield`)

// compare compiles <kind>:<match> for a kind that is not a check of its own.
func compare(kind, match string) check {
	if value, ok := literalValue(kind); ok {
		return literal{kind, value, newTemplate(match)}
	}
	if !pathPattern.MatchString(kind) || slices.ContainsFunc(names(kind), keyword) {
		return unreadable{kind, match}
	}
	return attribute{strings.Split(kind, "."), newTemplate(match)}
}

// names returns the names of a path for the check against keywords. Between names, a dash is a
// subtraction to Python: no literal, but no error of syntax either, so that upstream looks up a
// credential of the whole name.
func names(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '-' })
}

func keyword(name string) bool { return slices.Contains(keywords, name) }

// literalValue returns Python's printed form of a literal.
func literalValue(s string) (string, bool) {
	switch {
	case s == "True" || s == "False" || s == None:
		return s, true
	case numberPattern.MatchString(s):
		return number(s), true
	case quoted(s) && !strings.ContainsAny(s, "\\\n\r\x00"):
		return unquote(s)
	}
	return "", false
}

// unquote joins adjacent quoted strings, as Python does. Triple-quoted strings are handled too,
// unless they contain quotation marks.
func unquote(s string) (joined string, ok bool) {
	for s != "" {
		inner, rest, closed := strings.Cut(s[1:], s[:1])
		if !closed || rest != "" && rest[0] != '\'' && rest[0] != '"' {
			return "", false
		}
		joined, s = joined+inner, rest
	}
	return joined, true
}

// number drops a plus, and the sign of zero, as printing an integer does.
func number(s string) string {
	s = strings.TrimPrefix(s, "+")
	if s == "-0" {
		return "0"
	}
	return s
}
