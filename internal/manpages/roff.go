package manpages

import (
	"fmt"
	"strings"
)

// A writer composes one page.
type writer struct {
	strings.Builder
}

// begin writes the title line and the section for whatis(1).
func begin(name string, section int, summary string, s Stamp) *writer {
	w := &writer{}
	fmt.Fprintf(w, ".TH %s %d %s %s %s\n", quote(strings.ToUpper(name)), section, quote(s.Date), quote("berth "+s.Version),
		quote("Berth"))
	w.WriteString(".nh\n.ad l\n") // names of options read badly when they are broken
	w.section("NAME")
	w.WriteString(escape(name) + ` \- ` + escape(summary) + "\n")
	return w
}

func (w *writer) section(title string) { fmt.Fprintf(w, ".SH %s\n", quote(title)) }

// item writes a term, which is roff already, and its description.
func (w *writer) item(term, text string) {
	fmt.Fprintf(w, ".TP\n%s\n%s\n", term, protect(inline(text)))
}

// prose writes text that is formatted for a terminal: blank lines separate paragraphs, and text
// that is indented or aligned with spaces is preserved.
func (w *writer) prose(text string) {
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		block = strings.Trim(block, "\n")
		title, heading := strings.CutPrefix(block, "#### ")
		switch {
		case block == "":
		case heading:
			fmt.Fprintf(w, ".SS %s\n", quote(strings.TrimSuffix(title, ":")))
		case aligned(block):
			w.verbatim(block)
		default:
			w.WriteString(".PP\n")
			w.lines(block, inline)
		}
	}
}

// aligned reports whether the line breaks and spaces of a block matter.
func aligned(block string) bool {
	for _, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, "\t") || strings.Contains(line, "  ") {
			return true
		}
	}
	return false
}

// verbatim writes text with its line breaks and spaces.
func (w *writer) verbatim(text string) {
	w.WriteString(".PP\n.nf\n")
	w.lines(strings.ReplaceAll(text, "\t", "    "), escape)
	w.WriteString(".fi\n")
}

func (w *writer) lines(text string, mark func(string) string) {
	for _, line := range strings.Split(text, "\n") {
		w.WriteString(protect(mark(line)) + "\n")
	}
}

// inline escapes text and sets text between backquotes in bold.
func inline(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			part = breakable(bold(part))
		} else {
			part = escape(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// breakable allows line breaks within long values, which have no spaces. It takes roff.
func breakable(roff string) string {
	return strings.NewReplacer(",", `,\:`, "/", `/\:`, ")", `)\:`).Replace(roff)
}

func bold(text string) string   { return `\fB` + escape(text) + `\fR` }
func italic(text string) string { return `\fI` + escape(text) + `\fR` }

// quote formats one argument of a macro.
func quote(text string) string {
	return `"` + strings.ReplaceAll(escape(text), `"`, `\(dq`) + `"`
}

// protect keeps a line from being read as a macro, and an empty one from ending the paragraph.
func protect(line string) string {
	if line == "" || line[0] == '.' {
		return `\&` + line
	}
	return line
}

// escape spells the characters that roff would read or print as others.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case escapes[r] != "":
			b.WriteString(escapes[r])
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var escapes = map[rune]string{
	'\\': `\(rs`,
	'-':  `\-`, // a minus, which can be copied into a shell
	'\'': `\(aq`,
	'`':  `\(ga`,
	'^':  `\(ha`,
	'~':  `\(ti`,
}
