// Package osloconfig reads the INI files of oslo.config by oslo's own rules and fills typed options
// from them. The caller declares the options and their types in a [Table]; package config has the
// tables.
//
// Reading has two steps. [Read] parses files, directories of files and the environment into a
// [Set]. [Set.Load] looks up each option of a table there, expands references to other options,
// converts the text and stores it:
//
//	lines ── Parse ──▶ File ─┐
//	lines ── Parse ──▶ File ─┼─ Set ── Load(Table) ──▶ fields of the caller
//	environment ─────────────┘            │
//	                                      └──▶ warnings, all invalid values
//
// ini.go parses, set.go looks up, substitute.go expands references, value.go and number.go convert,
// unknown.go finds names that the table does not have, names.go reads lists of ignored options.
//
// The less obvious rules of oslo.config:
//
//   - The first '=' or ':' of a line ends the name. An indented line continues
//     the value above it. There are no comments behind a value.
//   - One pair of equal quotes around the first line of a value is dropped.
//   - Group names are compared without case, except DEFAULT; names of options
//     with it.
//   - A name that is given again replaces the value, or adds one to an option
//     of several values. Later files win over earlier ones, the environment
//     (OS_GROUP__OPTION) over all files.
//   - $name, ${name} and ${group.name} refer to the value of another option;
//     $$ and \$ are a dollar sign.
//
// An error never contains the content of a line, since that may be a password without its name.
package osloconfig

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultGroup is the group of options that belong to no other.
const DefaultGroup = "DEFAULT"

// A Name is the full name of an option. An empty Group in the older names of an Option means the
// option's own group.
type Name struct {
	Group  string
	Option string
}

// String returns the name in the form of messages: "[placement_database] connection".
func (n Name) String() string { return "[" + n.Group + "] " + n.Option }

// An Option is one setting: its name, its help, and the variable for its value, whose content
// before loading is the default.
type Option struct {
	Name
	Help  string
	Value Value
	Older []Name // names it had before; still read, with a warning
}

// Secret reports whether the value must not be printed.
func (o Option) Secret() bool { return o.Value.secret }

// Display returns the value in the syntax of a file, with asterisks in place of a secret.
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

// A Table has all options of a program's files.
type Table struct {
	Options []Option
	// Ignored are known and not read: there is no warning about them, and their values are not
	// checked. Options refer to their values all the same. Names among Options are ignored here.
	Ignored Names
}

// A Location is where a value comes from.
type Location struct {
	File string // path of the file; empty for the environment
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

// A ValueError is about an invalid value and says what is valid. Value is masked when the option is
// secret; references in it are not expanded, because they could lead to a secret.
type ValueError struct {
	Location
	Option Name
	Value  string
	Reason string
}

// Error returns one line with all fields.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s = %s: %s", e.Location, e.Option, e.Value, e.Reason)
}

// A SyntaxError is about a malformed line of a file. It never contains the line.
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

// has reports whether the list contains the group.
func has(groups []string, group string) bool {
	return slices.ContainsFunc(groups, func(g string) bool { return sameGroup(g) == group })
}
