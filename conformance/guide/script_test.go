package guide

import (
	"os"
	"strings"
	"testing"
)

// A step is a command, or an event.
type step struct {
	head    []string // comments and blank lines above, and the user
	who     string
	event   string // what happens, if it is no command
	command string // as in the file, with its continued lines
	name    string // of the id that is printed
	want    string
	reason  string // why upstream's output differs
	theirs  string
}

const (
	dashes   = "----"
	upstream = dashes + " upstream: "
)

// A script is a file of steps.
type script struct {
	path  string
	steps []*step
	text  string
}

func readScript(t *testing.T, path string) *script {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{path: path, text: string(data)}
	st, who := &step{}, ""
	lines := strings.Split(strings.TrimRight(s.text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		event, happens := strings.CutPrefix(line, "* ")
		person, cur := strings.CutPrefix(line, "as ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			st.head = append(st.head, line)
			continue
		case cur:
			st.head, who = append(st.head, line), person
			continue
		case happens:
			st.event = event
		case strings.HasPrefix(line, "$ ") && personas[who] != "":
			i += st.read(lines[i:]) - 1
		default:
			t.Fatalf("%s:%d: %q is no step", path, i+1, line)
		}
		st.who = who
		s.steps = append(s.steps, st)
		st = &step{}
	}
	return s
}

// read takes a command and what belongs to it, up to a blank line, and returns how
// many lines that are.
func (st *step) read(lines []string) int {
	into := &st.command
	for i, line := range lines {
		name, named := strings.CutPrefix(line, "= ")
		reason, theirs := strings.CutPrefix(line, upstream)
		switch {
		case line == "":
			return i
		case named:
			st.name = name
		case theirs:
			st.reason, into = reason, &st.theirs
		case line == dashes:
			into = &st.want
		default:
			*into += line + "\n"
		}
	}
	return len(lines)
}

// line is the command as it is typed, without the prompt.
func (st *step) line() string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(st.command, "$ "), "\\\n", " "), "\n")
}

// write is the script with the actual output.
func (s *script) write() string {
	var b strings.Builder
	for _, st := range s.steps {
		for _, line := range st.head {
			b.WriteString(line + "\n")
		}
		if st.event != "" {
			b.WriteString("* " + st.event + "\n")
			continue
		}
		b.WriteString(st.command)
		if st.name != "" {
			b.WriteString("= " + st.name + "\n")
		}
		b.WriteString(dashes + "\n" + st.want)
		if st.reason != "" {
			b.WriteString(upstream + st.reason + "\n" + st.theirs)
		}
	}
	return b.String()
}
