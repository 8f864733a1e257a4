package osloconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// reference matches "$$", "$name" and "${name}", where a name may have dots.
// Any other dollar sign stands for itself.
var reference = regexp.MustCompile(`(?i)\$(?:\$|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})`)

// longest bounds what references may expand to, so that options that double
// each other do not eat the machine.
const longest = 1 << 20

// errElsewhere says that an option cannot be read because one that it refers
// to cannot, which has been reported there.
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

// dollar returns what one match of reference stands for.
func (l *loader) dollar(text string, m []int, from *Option) (string, error) {
	switch {
	case m[2] >= 0:
		return l.follow(text[m[2]:m[3]], from)
	case m[4] >= 0:
		return l.follow(text[m[4]:m[5]], from)
	}
	return "$", nil
}

// follow returns the value that a reference names, and loads it before if
// needed. The reasons of errors do not repeat the name when it stands in a
// secret: it is more likely a piece of a password.
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

func blame(o *Option, open, secret string) error {
	if o.Secret() {
		return errors.New(secret)
	}
	return errors.New(open)
}

// target finds the option that a reference means: "group.name" names a group; a
// plain name is looked for in the referring option's group, then in DEFAULT.
// Groups are written as they are declared here, and DEFAULT cannot be written
// at all, both as in oslo.
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

func (l *loader) named(n Name) *Option {
	if o := l.current[n]; o != nil {
		return o
	}
	return l.older[n]
}
