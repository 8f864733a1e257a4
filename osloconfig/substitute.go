package osloconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// reference matches "$$", "$name" and "${name}", where a name may have dots. Any other dollar sign
// is literal.
var reference = regexp.MustCompile(`(?i)\$(?:\$|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})`)

// longest bounds the expansion of references, so that options that double each other do not exhaust
// memory.
const longest = 1 << 20

// errElsewhere means that an option refers to one that is invalid, which has been reported already.
var errElsewhere = errors.New("refers to an option that is wrong")

// expand replaces the references in the text of an option.
func (l *loader) expand(text string, from *Option) (string, error) {
	text = strings.ReplaceAll(text, `\$`, "$$")
	var b strings.Builder
	rest := 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[rest:m[0]])
		rest = m[1]
		value, err := l.dollar(text, m, from)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		if b.Len() > longest {
			return "", errors.New("its references expand to more than 1 MiB")
		}
	}
	b.WriteString(text[rest:])
	return b.String(), nil
}

// dollar returns the replacement of one match of reference.
func (l *loader) dollar(text string, m []int, from *Option) (string, error) {
	switch {
	case m[2] >= 0:
		return l.follow(text[m[2]:m[3]], from)
	case m[4] >= 0:
		return l.follow(text[m[4]:m[5]], from)
	}
	return "$", nil
}

// follow returns the value of a reference, and loads the option first if needed. Errors about
// references in a secret do not contain the name, which is probably a piece of a password.
func (l *loader) follow(name string, from *Option) (string, error) {
	to := l.target(name, from.Group)
	if to == nil {
		return "", blame(from, "$"+name+" is not an option; write $$ for a dollar sign",
			"it refers to an option that does not exist; write $$ for a dollar sign")
	}
	if l.states[to] == busy {
		return "", blame(from, fmt.Sprintf("$%s leads back to %s itself", name, to.Name),
			"it refers to itself, maybe through others; write $$ for a dollar sign")
	}
	l.load(to)
	if l.states[to] == failed {
		return "", errElsewhere
	}
	return to.Value.substitute(), nil
}

// blame returns the error with the text secret for an option whose value is one, else with open.
func blame(o *Option, open, secret string) error {
	if o.Secret() {
		return errors.New(secret)
	}
	return errors.New(open)
}

// target finds the option of a reference: "group.name" names a group; a plain name is looked up in
// the referring option's group, then in DEFAULT. Groups are spelled as in the declaration, and
// DEFAULT cannot be named at all, both as in oslo.
func (l *loader) target(name, group string) *Option {
	if g, rest, ok := strings.Cut(name, "."); ok {
		if g == DefaultGroup {
			return nil
		}
		return l.named(Name{g, rest})
	}
	if o := l.named(Name{group, name}); o != nil {
		return o
	}
	return l.named(Name{DefaultGroup, name})
}

// named returns the option of a name, nil for none. Deprecated names count after current ones.
func (l *loader) named(n Name) *Option {
	if o := l.current[n]; o != nil {
		return o
	}
	return l.older[n]
}
