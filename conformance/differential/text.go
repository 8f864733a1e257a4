package differential

import (
	"fmt"
	"strconv"
	"strings"
)

// The text form of a sequence is for reading and for testdata: requests are separated by a line of
// four or more dashes, each has a request line, its headers, an empty line and the body. Lines
// starting with # are comments, except in a body. Bytes that a line of text cannot contain are
// written in a Go string literal.

const separator = "----"

// Format writes requests as text.
func Format(reqs []Request) string {
	var b strings.Builder
	for i, r := range reqs {
		if i > 0 {
			b.WriteString(separator + "\n")
		}
		formatOne(&b, r)
	}
	return b.String()
}

func formatOne(b *strings.Builder, r Request) {
	fmt.Fprintf(b, "%s %s\n", r.Method, plain(r.Target))
	for _, f := range r.Header {
		fmt.Fprintf(b, "%s: %s\n", f.Name, plain(f.Value))
	}
	if r.Body != "" {
		fmt.Fprintf(b, "\n%s\n", plain(r.Body))
	}
}

// plain quotes text that would not survive as part of a line.
func plain(s string) string {
	for _, c := range s {
		if c < ' ' || c == 0x7f || c == '\uFFFD' {
			return strconv.QuoteToASCII(s)
		}
	}
	if strings.HasPrefix(s, separator) || strings.TrimSpace(s) != s ||
		(strings.HasPrefix(s, `"`) && unquotable(s)) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

func unquotable(s string) bool {
	_, err := strconv.Unquote(s)
	return err == nil
}

func unplain(s string) string {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

// Parse reads the output of Format. Requests get their position as ID.
func Parse(text string) ([]Request, error) {
	var reqs []Request
	var block []string
	flush := func() error {
		r, found, err := parseOne(block)
		block = nil
		if found {
			r.ID = len(reqs)
			reqs = append(reqs, r)
		}
		return err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, separator) {
			block = append(block, line)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return reqs, flush()
}

func parseOne(lines []string) (r Request, found bool, err error) {
	for i, line := range lines {
		switch {
		case !found && (line == "" || strings.HasPrefix(line, "#")):
		case !found:
			r.Method, r.Target, found = strings.Cut(line, " ")
			if !found {
				return r, false, fmt.Errorf("request line %q has no target", line)
			}
			r.Target = unplain(r.Target)
		case line == "":
			r.Body = unplain(strings.TrimRight(strings.Join(lines[i+1:], "\n"), "\n"))
			return r, true, nil
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return r, false, fmt.Errorf("header line %q has no colon", line)
			}
			r.Header = append(r.Header, Field{name, unplain(strings.TrimPrefix(value, " "))})
		}
	}
	return r, found, nil
}
