package policy

import (
	"strings"
	"unicode"
)

// The policy language has "and", "or", "not" and parentheses between words; a word is "@", "!" or
// <kind>:<match>. Parsing never fails: malformed text becomes a misread check, which refuses, as it
// does upstream.

// A symbol is what a token or a finished part of an expression counts as.
type symbol int

const (
	symCheck symbol = iota
	symAll          // checks joined by "and", outside parentheses
	symSome         // checks joined by "or", outside parentheses
	symAnd
	symOr
	symNot
	symOpen
	symClose
	symQuoted // a quoted string, which no rule may contain
)

// An item is a symbol on the parser's stack, with its check if it has one.
type item struct {
	sym   symbol
	check check
}

// parseText compiles a rule written in the policy language. The empty text
// allows everything; blank text is not understood.
func parseText(text string) check {
	if text == "" {
		return constant(true)
	}
	var stack []item
	for _, tok := range tokens(text) {
		stack = append(stack, tok)
		for more := true; more; {
			stack, more = reduce(stack)
		}
	}
	if len(stack) != 1 || stack[0].check == nil {
		return misread{text}
	}
	return stack[0].check
}

// reduce replaces a complete expression at the top of the stack by its check. "and" binds tighter
// than "or" although the text is read from left to right: it takes the last check out of a
// preceding "or".
func reduce(stack []item) ([]item, bool) {
	n := len(stack)
	if n >= 3 {
		if it, ok := join(stack[n-3], stack[n-2], stack[n-1]); ok {
			return append(stack[:n-3], it), true
		}
	}
	if n >= 2 && stack[n-2].sym == symNot && stack[n-1].sym == symCheck {
		return append(stack[:n-2], item{symCheck, negation{stack[n-1].check}}), true
	}
	return stack, false
}

// join combines three items: a parenthesis, or two checks and what is between.
func join(a, op, b item) (item, bool) {
	switch {
	case a.sym == symOpen && op.check != nil && b.sym == symClose:
		return item{symCheck, op.check}, true
	case b.sym != symCheck || a.check == nil:
		return item{}, false
	case op.sym == symAnd:
		return conjoin(a, b.check), true
	case op.sym == symOr:
		return disjoin(a, b.check), true
	}
	return item{}, false
}

// conjoin adds a check with "and".
func conjoin(a item, b check) item {
	switch a.sym {
	case symAll:
		return item{symAll, append(a.check.(all), b)}
	case symSome:
		alternatives := a.check.(some)
		last := &alternatives[len(alternatives)-1]
		if inner, ok := (*last).(all); ok {
			*last = append(inner, b)
		} else {
			*last = all{*last, b}
		}
		return item{symSome, alternatives}
	}
	return item{symAll, all{a.check, b}}
}

// disjoin adds a check with "or".
func disjoin(a item, b check) item {
	if a.sym == symSome {
		return item{symSome, append(a.check.(some), b)}
	}
	return item{symSome, some{a.check, b}}
}

// tokens splits the text at white space and separates parentheses from both ends of each word.
// Those inside a word belong to it: %(name)s.
func tokens(text string) []item {
	var toks []item
	for _, word := range strings.FieldsFunc(text, space) {
		inner := strings.TrimLeft(word, "(")
		for range len(word) - len(inner) {
			toks = append(toks, item{sym: symOpen})
		}
		if inner == "" {
			continue
		}
		clean := strings.TrimRight(inner, ")")
		if clean != "" {
			toks = append(toks, wordToken(inner, clean))
		}
		for range len(inner) - len(clean) {
			toks = append(toks, item{sym: symClose})
		}
	}
	return toks
}

// wordToken classifies a word; inner still has the parentheses that close after it, because a word
// is quoted only without any. A quoted string is no check, so that a text with one is misread.
func wordToken(inner, clean string) item {
	switch strings.ToLower(clean) {
	case "and":
		return item{sym: symAnd}
	case "or":
		return item{sym: symOr}
	case "not":
		return item{sym: symNot}
	}
	if quoted(inner) {
		return item{sym: symQuoted}
	}
	return item{symCheck, parseWord(clean)}
}

// quoted reports whether s begins and ends with the same quotation mark.
func quoted(s string) bool {
	return len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0]
}

// space adds to Unicode's white space the four separators Python counts too.
func space(r rune) bool {
	return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
}

// parseWord compiles a single word. Kinds other than those named here compare an attribute of the
// caller, or a literal, with the right side.
func parseWord(word string) check {
	switch word {
	case "!":
		return constant(false)
	case "@":
		return constant(true)
	}
	kind, match, ok := strings.Cut(word, ":")
	if !ok {
		return misread{word}
	}
	switch kind {
	case "http", "https":
		return remote{word}
	case "rule":
		return ruleRef(match)
	case "role":
		return hasRole{newTemplate(match)}
	}
	return compare(kind, match)
}

// parseList compiles the oldest form of a rule: a list of alternatives, each a list of words that
// must all be true, or a single word. Empty alternatives are omitted; a list of nothing but them
// refuses, whereas an empty list allows everything (_parse_list_rule).
func parseList(alternatives [][]string) check {
	if len(alternatives) == 0 {
		return constant(true)
	}
	var or some
	for _, words := range alternatives {
		var and all
		for _, w := range words {
			and = append(and, parseWord(w))
		}
		switch len(and) {
		case 0:
		case 1:
			or = append(or, and[0])
		default:
			or = append(or, and)
		}
	}
	switch len(or) {
	case 0:
		return constant(false)
	case 1:
		return or[0]
	}
	return or
}
