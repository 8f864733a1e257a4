package guarantee_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the scenarios give into their files")

// runScenarios runs a file of questions and answers: a question is a paragraph, a
// line ---- ends it, and its answer follows up to an empty line. Lines that start
// with # are comments. With the flag -update the answers are written into the file
// instead of being compared.
func runScenarios(t *testing.T, file string, ask func(t *testing.T, question []string) []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, paragraph := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
		comments, question := splitParagraph(paragraph)
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, comments...)
		if len(question) > 0 {
			out = append(append(out, question...), "----")
			out = append(out, ask(t, question)...)
		}
	}
	got := strings.Join(out, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got); diff != "" {
		t.Errorf("%s (-file +answers):\n%s", file, diff)
	}
}

// splitParagraph returns the comments at the head and the question after them.
func splitParagraph(paragraph string) (comments, question []string) {
	for line := range strings.SplitSeq(paragraph, "\n") {
		switch {
		case line == "----":
			return comments, question
		case strings.HasPrefix(line, "#"):
			comments = append(comments, line)
		default:
			question = append(question, line)
		}
	}
	return comments, question
}
