// Package markdown has the lines of the documents: tests write them and read them.
package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// linkTarget is where a link of a document leads to.
var linkTarget = regexp.MustCompile(`\]\([^)]*\)`)

// Wrap returns a paragraph of a document, or an item of a list, in lines of 100 columns, of which
// the targets of links are none.
func Wrap(text string) string {
	line, indent := "", ""
	if strings.HasPrefix(text, "* ") {
		indent = "  "
	}
	var lines []string
	for word := range strings.FieldsSeq(text) {
		longer := line + " " + word
		if line == "" {
			longer = word
		}
		if line != "" && utf8.RuneCountInString(linkTarget.ReplaceAllString(longer, "]()")) > 100 {
			lines = append(lines, line)
			longer = indent + word
		}
		line = longer
	}
	return strings.Join(append(lines, line), "\n") + "\n"
}

// Unwrap returns the lines of a document, those of a paragraph or of an item of a list joined.
func Unwrap(page string) (lines []string) {
	for line := range strings.SplitSeq(page, "\n") {
		begins := line == "" || strings.ContainsAny(line[:1], "*|#<") || strings.HasPrefix(line, "```")
		if last := len(lines) - 1; !begins && last >= 0 && lines[last] != "" {
			lines[last] += " " + strings.TrimSpace(line)
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}
