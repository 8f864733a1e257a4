package neutron

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A dialogue is a file of requests and the answers to them.
type dialogue struct{ blocks []block }

// A block is a comment, a request, or both.
type block struct {
	comment string
	line    string // the request, "" for none
	body    string
	answer  string // as the file has it
}

// readDialogue reads a file, whose requests must have the right form.
func readDialogue(path string) (*dialogue, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDialogue(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func parseDialogue(text string) (*dialogue, error) {
	d := new(dialogue)
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b := parseBlock(part)
		if _, err := parseRequest(b.line); b.line != "" && err != nil {
			return nil, err
		}
		if b.comment != "" || b.line != "" {
			d.blocks = append(d.blocks, b)
		}
	}
	return d, nil
}

func parseBlock(text string) block {
	request, answer, _ := strings.Cut(text+"\n", "\n----\n")
	b := block{answer: strings.TrimSuffix(answer, "\n")}
	for line := range strings.Lines(strings.TrimSpace(request) + "\n") {
		switch {
		case b.line == "" && strings.HasPrefix(line, "#"):
			b.comment += line
		case b.line == "":
			b.line = strings.TrimSpace(line)
		default:
			b.body += line
		}
	}
	b.body = strings.TrimSuffix(b.body, "\n")
	return b
}

// text returns the dialogue as it is written.
func (d *dialogue) text() string {
	blocks := make([]string, len(d.blocks))
	for i, b := range d.blocks {
		blocks[i] = b.text()
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// text returns the block as it is written.
func (b block) text() string {
	text := b.comment
	if b.line == "" {
		return strings.TrimSuffix(text, "\n")
	}
	text += b.line + "\n"
	if b.body != "" {
		text += b.body + "\n"
	}
	return text + "----\n" + b.answer
}

// A request is the first line of a block.
type request struct {
	who    string
	method string // "" of what is no HTTP
	path   string
	args   []string    // of what is no HTTP
	header [][2]string // value "-" for none
	binds  [][2]string // name and where in the answer its value is
	only   []string    // the attributes to show, nil for all
	until  []string    // what the answer must say
	not    []string    // attributes that are not shown, wherever they are
}

var headerForm = regexp.MustCompile(`\s\[([^:\]]+):\s*([^\]]*)\]`)

func parseRequest(line string) (request, error) {
	var r request
	for _, m := range headerForm.FindAllStringSubmatch(line, -1) {
		r.header = append(r.header, [2]string{m[1], m[2]})
	}
	words := strings.Fields(headerForm.ReplaceAllString(line, ""))
	if len(words) < 3 {
		return r, fmt.Errorf("not a request: %q", line)
	}
	r.who = words[0]
	if !strings.HasPrefix(words[2], "/") {
		r.args = words[1:]
		return r, nil
	}
	r.method, r.path = words[1], words[2]
	for _, word := range words[3:] {
		if only, ok := strings.CutPrefix(word, "only="); ok {
			r.only = strings.Split(only, ",")
			continue
		}
		if not, ok := strings.CutPrefix(word, "without="); ok {
			r.not = strings.Split(not, ",")
			continue
		}
		if until, ok := strings.CutPrefix(word, "until="); ok {
			r.until = append(r.until, until)
			continue
		}
		name, way, _ := strings.Cut(word, "=")
		if name == "" || nameForm.FindString(name) != name {
			return r, fmt.Errorf("%q is no name in %q", word, line)
		}
		r.binds = append(r.binds, [2]string{name, cmp.Or(way, "id")})
	}
	return r, nil
}
