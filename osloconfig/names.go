package osloconfig

import (
	"iter"
	"strings"
)

// Names are options and whole groups by name only.
type Names struct {
	Options []Name
	Groups  []string
}

// ParseNames reads a list of names: each heading in brackets is followed by the names of options of
// that group, all separated by white space. Those behind [*] are whole groups. A line that begins
// with # is a comment.
func ParseNames(text string) Names {
	var n Names
	group := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			switch {
			case strings.HasPrefix(word, "["):
				group = strings.Trim(word, "[]")
			case group == "*":
				n.Groups = append(n.Groups, word)
			default:
				n.Options = append(n.Options, Name{group, word})
			}
		}
	}
	return n
}

// ByGroup returns the names of options by group, for lists in which each group is in one piece.
func (n Names) ByGroup() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		rest := n.Options
		for len(rest) > 0 {
			group, names := rest[0].Group, []string(nil)
			for len(rest) > 0 && rest[0].Group == group {
				names, rest = append(names, rest[0].Option), rest[1:]
			}
			if !yield(group, names) {
				return
			}
		}
	}
}

// Ignored lists the options that a table ignores and that a source sets, in the table's order.
func (s *Set) Ignored(t Table) []string {
	read := map[Name]bool{}
	for _, o := range t.Options {
		for _, n := range o.names() {
			read[n] = true
		}
	}
	var given []string
	for _, n := range t.Ignored.Options {
		if !read[n] && s.Given(Option{Name: n}) {
			given = append(given, n.String())
			read[n] = true // listed once
		}
	}
	return given
}
