package osloconfig

import (
	"fmt"
	"strings"
)

// unknown lists groups and options in the files that the table does not have.
func unknown(s *Set, t Table) []string {
	d := newDictionary(t)
	var warnings []string
	for _, f := range s.files {
		for _, sec := range f.sections {
			if !d.groups[sameGroup(sec.name)] && !has(t.Ignored.Groups, sameGroup(sec.name)) {
				warnings = append(warnings, fmt.Sprintf("%s:%d: there is no group [%s]%s",
					f.path, sec.line, printable(sec.name), d.groupLike(sec.name)))
			}
		}
		for _, st := range f.settings {
			if d.groups[st.name.Group] && !d.options[st.name] && !has(t.Ignored.Groups, st.name.Group) {
				warnings = append(warnings, fmt.Sprintf("%s:%d: there is no option %s%s",
					f.path, st.line, Name{st.name.Group, printable(st.name.Option)}, d.optionLike(st.name)))
			}
		}
	}
	return warnings
}

// printable truncates a name before the first character that no name contains: a password without
// its name is parsed as a name.
func printable(name string) string {
	odd := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", r)
	}
	if i := strings.IndexFunc(name, odd); i >= 0 {
		return name[:i] + "…"
	}
	return name
}

// A dictionary contains all names of a table: groups folded, older names included.
type dictionary struct {
	current []Name
	groups  map[string]bool
	options map[Name]bool
}

// newDictionary returns the names of a table's options and of those that it ignores. The group
// DEFAULT is always known.
func newDictionary(t Table) dictionary {
	d := dictionary{groups: map[string]bool{DefaultGroup: true}, options: map[Name]bool{}}
	add := func(names []Name) {
		for _, n := range names {
			d.groups[sameGroup(n.Group)] = true
			d.options[n.key()] = true
		}
	}
	for i := range t.Options {
		d.current = append(d.current, t.Options[i].Name)
		add(t.Options[i].names())
	}
	d.current = append(d.current, t.Ignored.Options...)
	add(t.Ignored.Options)
	return d
}

// groupLike suggests a group: one that is spelled alike.
func (d dictionary) groupLike(name string) string {
	best, least := "", tolerance(name)
	for _, o := range d.current {
		if n := distance(strings.ToLower(strings.TrimFunc(name, isSpace)), strings.ToLower(o.Group)); n < least {
			best, least = o.Group, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean [" + best + "]?"
}

// optionLike suggests an option: one of the same group that is spelled alike,
// or else one of the same name in another group.
func (d dictionary) optionLike(name Name) string {
	var best Name
	least := tolerance(name.Option)
	for _, o := range d.current {
		n := distance(name.Option, o.Option)
		switch {
		case sameGroup(o.Group) == name.Group && n < least:
			best, least = o, n
		case n == 0 && best == Name{}:
			best = o
		}
	}
	switch {
	case best == Name{}:
		return ""
	case sameGroup(best.Group) == name.Group:
		return "; did you mean " + best.Option + "?"
	}
	return "; did you mean " + best.String() + "?"
}

// Closest is the name with the spelling most similar to the given one, or "" when none is similar:
// for suggestions.
func Closest(name string, names []string) string {
	best, least := "", tolerance(name)
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// tolerance is the distance from which on two names are not alike.
func tolerance(name string) int { return min(3, 1+len(name)/2) }

// distance counts the letters to insert, drop or replace to get from a to b; a hyphen counts as an
// underscore. Texts longer than any name have a large distance.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	a = strings.ReplaceAll(a, "-", "_")
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := corner
			if a[i] != b[j] {
				swap++
			}
			corner = row[j+1]
			row[j+1] = min(swap, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
