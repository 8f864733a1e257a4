package clients

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A script is a file of commands and their output.
type script struct {
	path     string
	sections []*section
	known    map[string]bool // the UUIDs that the commands name
}

// A section is a run of commands at one microversion.
type section struct {
	head    []string // comments and blank lines before the version
	version string
	steps   []*step
}

// A step is one command.
type step struct {
	head    []string // comments and blank lines before the command
	command string
	want    string
}

const dashes = "----"

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// readScript parses a script file.
func readScript(path string) (*script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &script{path: path, known: map[string]bool{}}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	var head []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		version, isVersion := strings.CutPrefix(line, "version ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			head = append(head, line)
		case isVersion:
			s.sections = append(s.sections, &section{head: head, version: version})
			head = nil
		case len(s.sections) == 0:
			return nil, fmt.Errorf("%s:%d: a command before the first version", path, i+1)
		default:
			st := &step{head: head}
			i = st.read(lines, i)
			s.add(st)
			head = nil
		}
	}
	return s, nil
}

func (s *script) add(st *step) {
	for _, u := range uuids.FindAllString(st.command, -1) {
		s.known[u] = true
	}
	last := s.sections[len(s.sections)-1]
	last.steps = append(last.steps, st)
}

// read takes a command, which a backslash continues on the next line, and
// what it prints, up to a blank line. It returns the last line it used.
func (st *step) read(lines []string, i int) int {
	start := i
	for strings.HasSuffix(lines[i], `\`) && i+1 < len(lines) {
		i++
	}
	st.command = strings.Join(lines[start:i+1], "\n")
	if i+1 >= len(lines) || lines[i+1] != dashes {
		return i
	}
	i += 2
	start = i
	for i < len(lines) && lines[i] != "" {
		i++
	}
	st.want = strings.Join(lines[start:i], "\n")
	return i - 1
}

// line returns the command as one line.
func (st *step) line() string { return strings.ReplaceAll(st.command, "\\\n", " ") }

// write stores the script with its present expectations.
func (s *script) write() error {
	var b strings.Builder
	put := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	for _, sec := range s.sections {
		put(sec.head...)
		put("version " + sec.version)
		for _, st := range sec.steps {
			put(st.head...)
			put(st.command, dashes)
			if st.want != "" {
				put(st.want)
			}
		}
	}
	return os.WriteFile(s.path, []byte(b.String()), 0o644)
}
