// Package golden compares results of tests with files. With the flag -update it writes the files
// instead, for review.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests find out into the files that it is compared with")

// Compare compares the text of a file with got, line by line.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	want := Read(t, file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-file +found; -update writes it):\n%s", file, diff)
	}
}

// Files lists the files that match a pattern, at least one.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %d files", pattern, err, len(files))
	}
	return files
}

// Read returns the text of a file.
func Read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Answer compares a file of questions and answers: a question is a paragraph, a line
// ---- ends it, and its answer follows up to an empty line. Lines at its head that
// start with # are comments.
func Answer(t *testing.T, file string, answer func(t *testing.T, question []string) []string) {
	t.Helper()
	var out []string
	for i, paragraph := range strings.Split(strings.TrimRight(Read(t, file), "\n"), "\n\n") {
		comments, question := split(paragraph)
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, comments...)
		if len(question) > 0 {
			out = append(append(out, question...), "----")
			out = append(out, answer(t, question)...)
		}
	}
	Compare(t, file, strings.Join(out, "\n")+"\n")
}

// split returns the comments at the head of a paragraph and the question after them.
func split(paragraph string) (comments, question []string) {
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
