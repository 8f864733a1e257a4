package placementtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/golden"
)

// RunScenarios runs the scenario files that the pattern matches, as subtests.
// With the flag -update it writes the answers into the files instead of
// comparing them.
//
// A file describes snapshots and requests candidates. Lines that start with # are
// comments, and these are the others:
//
//	snapshot
//
// forgets all providers that were named so far.
//
//	provider cn1/nic VCPU=16/reserved=2/ratio=4/max=8/min=1/step=1/used=3 +TRAIT @aggregate
//
// adds a provider below the one in its path, with inventories, traits and
// aggregates. "+SHARES" is short for the trait that makes it a sharing one.
//
//	trait CUSTOM_X
//
// adds a trait that no provider has.
//
//	candidates VCPU:1,CUSTOM_T _PORT=NET:1,!CUSTOM_U isolate
//
// questions, and is followed by a line ---- and the answer up to an empty line. An
// argument with a suffix and an equals sign is a suffixed group, one without is
// a piece of the unsuffixed group. What stands between commas in a group is
//
//	CLASS:4     resources              @a|b   member_of: in one of the aggregates
//	TRAIT|TRAIT one of the traits      !@a    in none of the aggregates
//	!TRAIT      not the trait          ^cn1   in_tree
//
// and the other arguments are isolate, limit=N, max=N, breadth, flat, sample=N,
// root=TRAIT,!TRAIT and same_subtree=_A,_B for the query, and explain and
// summary for the answer.
//
// A candidate is a line, with the suffixes of the groups that a provider
// satisfies after what it gives. Candidates are sorted. Each question is put
// in more ways than one: see askOtherwise. Lines of an answer that begin with
// "upstream" are about where upstream's service differs; conformance/scenarios,
// which puts the same questions to it, compares them.
func RunScenarios(t *testing.T, pattern string) {
	t.Helper()
	for _, file := range golden.Files(t, pattern) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runFile(t, file) })
	}
}

func runFile(t *testing.T, file string) {
	s := scenario{t: t, file: file, b: NewBuilder(), lines: strings.Split(golden.Read(t, file), "\n")}
	for s.at < len(s.lines) {
		s.line()
	}
	golden.Compare(t, file, strings.TrimRight(s.out.String(), "\n")+"\n")
}

// A scenario is a file that is being run: it copies the questions to out, with
// the answers that it gets.
type scenario struct {
	t     *testing.T
	file  string
	b     *Builder
	lines []string
	at    int
	out   strings.Builder
}

// line does the next line, with the answer below it when it is a question.
func (s *scenario) line() {
	line := s.lines[s.at]
	s.at++
	fmt.Fprintln(&s.out, line)
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(line, "#") {
		return
	}
	switch words[0] {
	case "cloud":
		s.b = NewBuilder()
	case "provider":
		s.provider(words[1:])
	case "trait":
		s.b.Trait(words[1])
	case "candidates":
		upstream := s.skipAnswer()
		fmt.Fprintln(&s.out, "----")
		s.answer(line, words[1:])
		for _, line := range upstream {
			fmt.Fprintln(&s.out, line)
		}
		fmt.Fprintln(&s.out)
	default:
		s.fatal("unknown word %q", words[0])
	}
}

// skipAnswer goes past the answer that is in the file, if there is one, and the
// empty lines after it. It returns the lines about upstream's answer.
func (s *scenario) skipAnswer() (upstream []string) {
	if s.at < len(s.lines) && s.lines[s.at] == "----" {
		for s.at < len(s.lines) && s.lines[s.at] != "" {
			if strings.HasPrefix(s.lines[s.at], "upstream ") {
				upstream = append(upstream, s.lines[s.at])
			}
			s.at++
		}
	}
	for s.at < len(s.lines) && s.lines[s.at] == "" {
		s.at++
	}
	return upstream
}

func (s *scenario) fatal(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s:%d: %s", s.file, s.at, fmt.Sprintf(format, args...))
}

// provider adds a provider from the words of its line.
func (s *scenario) provider(words []string) {
	p := s.b.Provider(words[0])
	for _, word := range words[1:] {
		switch {
		case word == "+SHARES":
			p.Shares()
		case word[0] == '+':
			p.Traits(word[1:])
		case word[0] == '@':
			p.Aggregates(word[1:])
		default:
			s.inventory(p, word)
		}
	}
}

// answer answers a question and puts it in other ways.
func (s *scenario) answer(line string, words []string) {
	q, show := s.query(words)
	w := s.b.Snapshot()
	got, err := List(w, q)
	if err != nil {
		fmt.Fprintf(&s.out, "fault: %v\n", err)
		return
	}
	for _, c := range sortedCopy(got) {
		fmt.Fprintln(&s.out, c)
	}
	if len(got) == 0 {
		fmt.Fprintln(&s.out, "none")
	}
	for _, name := range show {
		s.show(name, w, q)
	}
	s.answerOtherwise(line, q, got)
}

func sortedCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
