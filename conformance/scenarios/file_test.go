package scenarios

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A file is a scenario file as paragraphs of statements and questions, in its order.
type file struct {
	path  string
	items []item
}

// An item is a line of a file, and below a question the recorded answer.
type item struct {
	line   string
	answer *answer // nil for a question without one, and for what is no question
}

// An answer is the answer to a question as the files have it.
type answer struct {
	candidates []string // sorted; nil for none
	fault      string
	summary    []string // the providers, or nil when there is no summary
	explained  []string // lines that are Berth's own
	lacks      []string // candidates that upstream lacks
	adds       []string // candidates of upstream alone
	fails      bool     // upstream answers with 500
}

// explanation matches the first line of an explanation.
var explanation = regexp.MustCompile(`^\d+ providers in \d+ trees$`)

func readFile(t testing.TB, path string) *file {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &file{path: path}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		it := item{line: lines[i]}
		if it.questions() && i+1 < len(lines) && lines[i+1] == "----" {
			end := i + 2
			for end < len(lines) && lines[end] != "" {
				end++
			}
			it.answer = readAnswer(lines[i+2 : end])
			i = end
		} else if it.questions() && i+1 < len(lines) && lines[i+1] == "" {
			i++
		}
		f.items = append(f.items, it)
	}
	return f
}

func readAnswer(lines []string) *answer {
	a := &answer{}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "upstream":
			a.differs(rest)
		case len(a.explained) > 0 || explanation.MatchString(line):
			a.explained = append(a.explained, line)
		case word == "fault:":
			a.fault = rest
		case word == "summary":
			a.summary = append([]string{}, strings.Fields(rest)...)
		case line != "none":
			a.candidates = append(a.candidates, line)
		}
	}
	return a
}

// differs reads how upstream differs.
func (a *answer) differs(rest string) {
	switch how, candidate, _ := strings.Cut(rest, " "); how {
	case "lacks":
		a.lacks = append(a.lacks, candidate)
	case "adds":
		a.adds = append(a.adds, candidate)
	case "fails":
		a.fails = true
	}
}

func (i item) questions() bool { return strings.HasPrefix(i.line, "candidates ") }

// lines returns an answer as the files have it.
func (a *answer) lines() []string {
	lines := slices.Clone(a.candidates)
	if a.fault != "" {
		lines = append(lines, "fault: "+a.fault)
	} else if len(lines) == 0 {
		lines = append(lines, "none")
	}
	if a.summary != nil {
		lines = append(lines, strings.TrimRight("summary "+strings.Join(a.summary, " "), " "))
	}
	lines = append(lines, a.explained...)
	if a.fails {
		lines = append(lines, "upstream fails")
	}
	for _, c := range a.lacks {
		lines = append(lines, "upstream lacks "+c)
	}
	for _, c := range a.adds {
		lines = append(lines, "upstream adds "+c)
	}
	return lines
}

func (f *file) write(t testing.TB) {
	t.Helper()
	var b strings.Builder
	for _, it := range f.items {
		fmt.Fprintln(&b, it.line)
		if it.questions() {
			if it.answer != nil {
				fmt.Fprintln(&b, "----\n"+strings.Join(it.answer.lines(), "\n"))
			}
			fmt.Fprintln(&b)
		}
	}
	if err := os.WriteFile(f.path, []byte(strings.TrimRight(b.String(), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
