package osloconfig

import (
	"errors"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A File is one parsed file: its sections and settings in order.
type File struct {
	path     string
	sections []section
	settings []setting
}

// A section is a heading, as it is written.
type section struct {
	name string
	line int
}

// A setting is one assignment. Lines of a continued value are joined by
// newlines, as oslo does.
type setting struct {
	name  Name // with the group folded
	value string
	line  int
}

// Parse parses one file's text. The path is used in messages only. The File contains everything
// that could be read, even with an error; the error joins a SyntaxError for each malformed line.
func Parse(path string, text []byte) (*File, error) {
	p := parser{file: &File{path: path}}
	// Lines end as in Python's text files: at \n, \r\n and \r.
	for _, line := range strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n") {
		p.line++
		p.read(line)
	}
	p.flush()
	return p.file, errors.Join(p.errs...)
}

// All yields the assignments in the order of the file, names with lower-case groups other than
// DEFAULT, and values without their substitutions. Lines of a value are joined by newlines.
func (f *File) All() iter.Seq2[Name, string] {
	return func(yield func(Name, string) bool) {
		for _, s := range f.settings {
			if !yield(s.name, s.value) {
				return
			}
		}
	}
}

// A parser has the assignment that continuation lines may extend.
type parser struct {
	file    *File
	line    int
	group   string // "" before the first heading
	open    bool   // an assignment is under way
	current setting
	errs    []error
}

// read takes the next line. A malformed one is reported, and does not end the reading: in contrast
// to oslo, the operator sees all of them at once.
func (p *parser) read(line string) {
	if !utf8.ValidString(line) {
		p.fail("not valid UTF-8")
		return
	}
	line = strings.TrimRightFunc(line, isSpace)
	switch {
	case line == "":
		p.flush()
	case line[0] == ' ' || line[0] == '\t':
		if !p.open { // a blank line, a comment or a heading in between ends the assignment
			p.fail("an indented line continues a value, and there is none above it")
			return
		}
		p.current.value += "\n" + strings.TrimLeftFunc(line, isSpace)
	default:
		p.flush()
		switch line[0] {
		case '[':
			p.heading(line)
		case '#', ';':
		default:
			p.assign(line)
		}
	}
}

// heading begins a group. The name is all between the brackets, with spaces, as oslo has it.
func (p *parser) heading(line string) {
	switch {
	case !strings.HasSuffix(line, "]"):
		p.fail("a group heading must end with ]")
	case len(line) <= 2:
		p.fail("a group heading needs a name")
	default:
		name := line[1 : len(line)-1]
		p.group = sameGroup(name)
		p.file.sections = append(p.file.sections, section{name, p.line})
	}
}

// assign begins an assignment, which continuation lines may extend.
func (p *parser) assign(line string) {
	cut := strings.IndexAny(line, "=:")
	if cut < 0 {
		p.fail("neither a heading nor a comment, and no = or : in it")
		return
	}
	name := strings.TrimFunc(line[:cut], isSpace)
	if name == "" {
		p.fail("no name before the " + line[cut:cut+1])
		return
	}
	if p.group == "" {
		p.fail("a setting before the first group heading")
	}
	p.open = true
	p.current = setting{Name{p.group, name}, unquote(strings.TrimFunc(line[cut+1:], isSpace)), p.line}
}

// flush ends the current assignment. One outside any group has been reported and is dropped.
func (p *parser) flush() {
	if p.open && p.current.name.Group != "" {
		p.file.settings = append(p.file.settings, p.current)
	}
	p.open = false
}

// fail reports the current line, without its content.
func (p *parser) fail(reason string) {
	p.errs = append(p.errs, &SyntaxError{Location{File: p.file.path, Line: p.line}, reason})
}

// unquote drops one pair of equal quotes. A lone quote becomes an empty text.
func unquote(value string) string {
	if value == "" || value[0] != '"' && value[0] != '\'' || value[0] != value[len(value)-1] {
		return value
	}
	return value[1:max(1, len(value)-1)]
}

// isSpace is Python's str.isspace, which includes four separators that Unicode's white space
// property does not.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }
