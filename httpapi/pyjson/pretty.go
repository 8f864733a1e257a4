package pyjson

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pretty returns v as Python's pprint.pformat lays it out in lines of the given
// width, keys in the order they have.
//
// The layout indents by the length of the keys above, so its size can be many
// times that of v. Pretty stops after limit bytes and then ends in "...".
func Pretty(v Value, width, limit int) string {
	p := printer{width: width, limit: limit}
	p.value(v, place{}, 0)
	if p.full {
		return strings.ToValidUTF8(string(p.out[:limit]), "") + "..."
	}
	return string(p.out)
}

// A printer lays values out.
type printer struct {
	width, limit int
	out          []byte
	full         bool // limit is reached; nothing more is written
	// scratch is the buffer of oneLine, which tries each value on one line first.
	scratch []byte
}

// A place is where on the page a value starts, and how much has to fit behind it on its last line.
// Both are numbers of characters.
type place struct {
	indent, allowance int
}

func (p *printer) write(s string) {
	p.out = append(p.out, s...)
	p.full = p.full || len(p.out) > p.limit
}

// newline starts a line at column indent.
func (p *printer) newline(indent int) {
	room := max(p.limit-len(p.out), 0) + 1
	p.write("\n")
	p.out = append(p.out, bytes.Repeat([]byte{' '}, min(indent, room))...)
}

// value writes v on one line if that fits, and broken up if not. depth counts
// the containers around it.
func (p *printer) value(v Value, at place, depth int) {
	if p.full {
		return
	}
	if line, ok := p.oneLine(v, p.width-at.indent-at.allowance); ok {
		p.write(line)
		return
	}
	switch {
	case v.kind == Array && len(v.items) > 0:
		p.array(v.items, at, depth+1)
	case v.kind == Object && len(v.members) > 0:
		p.object(v.members, at, depth+1)
	case v.kind == String && v.str != "":
		p.text(v.str, at, depth == 0)
	default:
		p.write(Repr(v))
	}
}

// oneLine returns the repr of v if it has at most room characters. It does not
// write out more of a large value than it needs to know.
func (p *printer) oneLine(v Value, room int) (string, bool) {
	if room <= 0 {
		return "", false
	}
	if v.kind == String && len(v.str) > utf8.UTFMax*room {
		return "", false
	}
	line, ok := appendRepr(p.scratch[:0], v, utf8.UTFMax*room)
	p.scratch = line
	if !ok || utf8.RuneCount(line) > room {
		return "", false
	}
	return string(line), true
}

// array writes the items one a line, indented by one column. The last leaves room for the bracket
// and for what the caller has to put behind it.
func (p *printer) array(items []Value, at place, depth int) {
	p.write("[")
	for i, item := range items {
		inner := place{at.indent + 1, 1}
		if i == len(items)-1 {
			inner.allowance = at.allowance + 1
		}
		if i > 0 {
			p.write(",")
			p.newline(at.indent + 1)
		}
		p.value(item, inner, depth)
		if p.full {
			return
		}
	}
	p.write("]")
}

// object writes the members one a line. A value is indented by its key's length, as pprint does,
// which is why a layout can be much larger than the value.
func (p *printer) object(members []Member, at place, depth int) {
	p.write("{")
	for i, m := range members {
		key := Quote(m.Key)
		inner := place{at.indent + 1 + utf8.RuneCountInString(key) + 2, 1}
		if i == len(members)-1 {
			inner.allowance = at.allowance + 1
		}
		if i > 0 {
			p.write(",")
			p.newline(at.indent + 1)
		}
		p.write(key + ": ")
		p.value(m.Value, inner, depth)
		if p.full {
			return
		}
	}
	p.write("}")
}

// text writes a string as adjacent literals, one a line. At the top of the
// document they are in parentheses.
func (p *printer) text(s string, at place, top bool) {
	if top {
		at.indent++
		at.allowance++
	}
	chunks := chunks(s, p.width-at.indent, at.allowance)
	top = top && len(chunks) > 1
	if top {
		p.write("(")
	}
	for i, c := range chunks {
		if i > 0 {
			p.newline(at.indent)
		}
		p.write(Quote(c))
		if p.full {
			return
		}
	}
	if top {
		p.write(")")
	}
}

// chunks breaks s after line ends, and lines that are too wide after spaces.
// The last chunk leaves allowance free.
func chunks(s string, width, allowance int) []string {
	var out []string
	lines := splitLines(s)
	for i, line := range lines {
		last := 0
		if i == len(lines)-1 {
			last = allowance
		}
		if quotedLen(line) <= width-last {
			out = append(out, line)
			continue
		}
		out = append(out, wrap(line, width, last)...)
	}
	return out
}

// wrap breaks line into pieces whose repr is at most width wide, if there are
// spaces to break after. The last word leaves allowance free.
func wrap(line string, width, allowance int) []string {
	var out []string
	words := splitWords(line)
	current := ""
	for i, w := range words {
		if i == len(words)-1 {
			width -= allowance
		}
		if quotedLen(current+w) <= width {
			current += w
			continue
		}
		if current != "" {
			out = append(out, current)
		}
		current = w
	}
	return append(out, current)
}

// quotedLen returns the width of a string's repr in characters.
func quotedLen(s string) int { return utf8.RuneCountInString(Quote(s)) }

// splitLines cuts s behind each line end that Python's str.splitlines knows.
func splitLines(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		if r == '\r' && strings.HasPrefix(s[i+1:], "\n") {
			n = 2
		}
		i += n
		if isLineEnd(r) {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// isLineEnd reports whether str.splitlines breaks after r: in addition to the usual line ends at
// U+000B, U+000C and U+001C to U+001E.
func isLineEnd(r rune) bool {
	switch {
	case r >= '\n' && r <= '\r', r >= 0x1c && r <= 0x1e:
		return true
	}
	return r == 0x85 || r == 0x2028 || r == 0x2029
}

// splitWords cuts s behind each run of spaces.
func splitWords(s string) []string {
	var out []string
	start, spaces := 0, false
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		if spaces && !IsSpace(r) {
			out = append(out, s[start:i])
			start = i
		}
		spaces = IsSpace(r)
		i += n
	}
	return append(out, s[start:])
}

// IsSpace reports what Python's str.isspace does: it counts the four separators of ASCII (U+001C to
// U+001F) too, which Unicode does not.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
