// Package osloconfig reads the INI files of oslo.config by oslo's own rules
// and fills typed options from them. It is not for deciding which options
// there are or what they mean: the caller declares those in a Table.
//
// Reading goes in two steps. Read parses files, directories of files and the
// environment into a Set. Set.Load looks up each option of a table there,
// expands references to other options, converts the text and stores it:
//
//	lines ── Parse ──▶ File ─┐
//	lines ── Parse ──▶ File ─┼─ Set ── Load(Table) ──▶ fields of the caller
//	environment ─────────────┘            │
//	                                      └──▶ warnings, all wrong values
//
// The rules, where they surprise:
//
//   - The first '=' or ':' of a line ends the name. An indented line continues
//     the value above it. There are no comments behind a value.
//   - One pair of equal quotes around the first line of a value is dropped.
//   - Group names are compared without case, except DEFAULT; names of options
//     with it.
//   - A name that is given again replaces the value, or adds one to an option
//     of several values. Later files win over earlier ones, the environment
//     (OS_GROUP__OPTION) over all files.
//   - $name, ${name} and ${group.name} stand for the value of another option;
//     $$ and \$ stand for a dollar sign.
//   - A line's content is never repeated in an error, since it may be a
//     password that lost its name.
package osloconfig

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultGroup is the group of options that belong to no other.
const DefaultGroup = "DEFAULT"

// A Name is the full name of an option. An empty Group in the older names of
// an Option means the option's own group.
type Name struct {
	Group  string
	Option string
}

// String returns the name as messages show it: "[placement_database] connection".
func (n Name) String() string { return "[" + n.Group + "] " + n.Option }

// An Option is one setting: what it is called, what it is for, and where its
// value goes. The value that the target holds before loading is the default.
type Option struct {
	Name
	Help  string
	Value Value
	Older []Name // names it had before; still read, with a warning
}

// Secret reports whether the value must not be shown.
func (o Option) Secret() bool { return o.Value.secret }

// Display returns the value as one would write it in a file, with asterisks in
// place of a secret.
func (o Option) Display() string {
	text := o.Value.String()
	if o.Secret() && text != "" {
		return mask
	}
	return text
}

// names returns all names of the option, the current one first.
func (o Option) names() []Name {
	all := []Name{o.Name}
	for _, n := range o.Older {
		if n.Group == "" {
			n.Group = o.Group
		}
		all = append(all, n)
	}
	return all
}

// A Table is everything a program's files may say.
type Table struct {
	Options []Option
	// Foreign lists groups that belong to somebody else. Whatever stands there
	// is neither read nor warned about.
	Foreign []string
}

// A Location is the place a value came from.
type Location struct {
	File string // path of the file; empty when the value came from the environment
	Line int    // counted from 1
	Env  string // name of the environment variable
}

// String returns "path:line" or "environment variable NAME".
func (l Location) String() string {
	if l.Env != "" {
		return "environment variable " + l.Env
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}

// A ValueError says which value is wrong and what would be right. Value is
// masked when the option is secret, and stands as written: references in it are
// not expanded, because they could lead to a secret.
type ValueError struct {
	Location
	Option Name
	Value  string
	Reason string
}

// Error returns one line with everything the error knows.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s = %s: %s", e.Location, e.Option, e.Value, e.Reason)
}

// A SyntaxError says which line of a file cannot be read. It never holds the
// line.
type SyntaxError struct {
	Location
	Reason string
}

// Error returns the place and the reason.
func (e *SyntaxError) Error() string { return e.Location.String() + ": " + e.Reason }

// sameGroup folds a group name for comparison.
func sameGroup(name string) string {
	if name == DefaultGroup {
		return name
	}
	return strings.ToLower(name)
}

// key returns the name by which settings are found in files.
func (n Name) key() Name { return Name{sameGroup(n.Group), n.Option} }

// has reports whether the list holds the group.
func has(groups []string, group string) bool {
	return slices.ContainsFunc(groups, func(g string) bool { return sameGroup(g) == group })
}
