package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// The longest lines, with a tab as one column.
const (
	longestCode    = 120
	longestComment = 100
)

// TestLinesAreWrapped refuses lines that are too long to be read next to others: 120 columns of
// code, and 100 of a comment that has the line to itself. Lines of a text over several lines are as
// long as the text needs.
func TestLinesAreWrapped(t *testing.T) {
	for _, files := range packages(t) {
		for _, f := range files {
			text, err := os.ReadFile(f.path)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range longLines(string(text)) {
				t.Errorf("%s:%s", f.path, problem)
			}
		}
	}
}

// longLines returns the numbers of the lines that are too long, with what is wrong.
func longLines(text string) (problems []string) {
	texts := linesOfTexts(text)
	for i, line := range strings.Split(text, "\n") {
		if texts[i] {
			continue
		}
		limit := longestCode
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			limit = longestComment
		}
		if n := utf8.RuneCountInString(line); n > limit {
			problems = append(problems, fmt.Sprintf("%d: %d columns, at most %d", i+1, n, limit))
		}
	}
	return problems
}

// linesOfTexts returns the lines, from 0, that strings over several lines take.
func linesOfTexts(source string) map[int]bool {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), func(token.Position, string) {}, 0)
	lines := map[int]bool{}
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if n := strings.Count(text, "\n"); kind == token.STRING && n > 0 {
			for i := range n + 1 {
				lines[file.Line(pos)-1+i] = true
			}
		}
	}
}

// TestLongLinesAreFound gives the check what it must refuse, and what it must not.
func TestLongLinesAreFound(t *testing.T) {
	text := strings.Repeat("x", 120) + "\n" + strings.Repeat("x", 121) + "\n// " +
		strings.Repeat("c", 97) + "\n\t// " + strings.Repeat("c", 97) +
		"\nx = `\n" + strings.Repeat("t", 121) + "`\n"
	if got := longLines(text); len(got) != 2 || !strings.HasPrefix(got[0], "2: 121 ") ||
		!strings.HasPrefix(got[1], "4: 101 ") {
		t.Errorf("longLines() = %q", got)
	}
}
