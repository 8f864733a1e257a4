package policy

import "strings"

// A template is the right side of a check: text with %(name)s in it, in the syntax of Python's
// formatting with a dictionary. Only the conversion s is supported; with any other the template is
// malformed from there on.
type template struct {
	source string
	parts  []part
}

// A part is literal text, a name to look up, or the point (after the look-up of the name, if there
// is one) where the template is malformed.
type part struct {
	text  string
	name  string
	named bool
	bad   bool
}

// An outcome is how filling in a template ended.
type outcome int

const (
	// missing makes one check false, malformed refuses the whole decision: upstream catches
	// KeyError there and no other exception.
	expanded outcome = iota
	missing
	malformed
)

// newTemplate parses the text. It never fails: a malformed part is detected on expansion, since a
// missing name before it is detected first.
func newTemplate(source string) template {
	t := template{source: source}
	rest := source
	for rest != "" {
		var p part
		p, rest = nextPart(rest)
		t.parts = append(t.parts, p)
		if p.bad {
			break
		}
	}
	return t
}

// nextPart takes one part off the front of s, which is not empty.
func nextPart(s string) (p part, rest string) {
	if s[0] != '%' {
		end := strings.IndexByte(s, '%')
		if end < 0 {
			end = len(s)
		}
		return part{text: s[:end]}, s[end:]
	}
	if strings.HasPrefix(s, "%%") {
		return part{text: "%"}, s[2:]
	}
	name, rest, ok := nameOf(s[1:])
	if !ok {
		return part{bad: true}, ""
	}
	rest, plain := strings.CutPrefix(rest, "s")
	return part{name: name, named: true, bad: !plain}, rest
}

// nameOf reads a name in parentheses, which may contain balanced ones itself.
func nameOf(s string) (name, rest string, ok bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return s[min(1, i):i], s[i+1:], i > 0
		}
	}
	return "", "", false
}

// malformed reports whether every expansion of the template fails.
func (t template) malformed() bool {
	return len(t.parts) > 0 && t.parts[len(t.parts)-1].bad
}

// expand fills in the names from the target of an evaluation.
func (t template) expand(ev *evaluation) (string, outcome) {
	if len(t.parts) == 1 {
		return t.parts[0].expand(ev)
	}
	var b strings.Builder
	for _, p := range t.parts {
		s, outcome := p.expand(ev)
		if outcome != expanded {
			return "", outcome
		}
		b.WriteString(s)
	}
	return b.String(), expanded
}

// expand looks up the name of a part before it finds the part malformed, as Python's formatting
// does.
func (p part) expand(ev *evaluation) (string, outcome) {
	text := p.text
	if p.named {
		v, ok := ev.of(p.name)
		if !ok {
			return "", missing
		}
		text = v
	}
	if p.bad {
		return "", malformed
	}
	return text, expanded
}
