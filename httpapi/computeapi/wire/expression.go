package wire

import (
	"regexp"
	"regexp/syntax"
)

// maxExpression bounds the size of an expression, to which the time is proportional of one
// character: a longest name, with an anchor at both ends, and as much again.
const maxExpression = 2 * (255 + 2)

// Expression compiles the expression of a parameter of a query, unless it is too large: some
// characters can stand for a million.
func Expression(name, text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	switch {
	case err != nil:
		return nil, BadRequest("Invalid %s filter [%s]", name, text)
	case sizeOf(tree) > maxExpression:
		return nil, BadRequest("The regular expression of %s is too large.", name)
	}
	return regexp.Compile(text)
}

// sizeOf is about how many steps of an automaton an expression becomes.
func sizeOf(e *syntax.Regexp) int {
	n := max(1, len(e.Rune))
	if e.Op == syntax.OpCharClass {
		n = 1 // its ranges are searched at once
	}
	for _, part := range e.Sub {
		n += sizeOf(part)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(1, e.Min, e.Max)
	}
	return n
}
