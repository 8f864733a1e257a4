package fuzzing

import (
	"encoding/json"
	"io"
	"strings"
)

// A node is a part of a JSON text that preserves the order of members, and may have several of one
// name. Exactly one of its fields is set.
type node struct {
	raw     string // what is neither of the others, as it is written
	members []member
	items   []*node
	kind    byte // '{', '[', or 0 for raw
}

type member struct {
	name  string
	value *node
}

// parse reads a text.
func parse(text string) (*node, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	n, err := read(d)
	if err == nil && d.More() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func read(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, cur := t.(json.Delim)
	if !cur {
		raw, err := json.Marshal(t)
		return &node{raw: string(raw)}, err
	}
	n := &node{kind: byte(open)}
	for d.More() {
		var name string
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			name = t.(string)
		}
		value, err := read(d)
		if err != nil {
			return nil, err
		}
		if open == '{' {
			n.members = append(n.members, member{name, value})
		} else {
			n.items = append(n.items, value)
		}
	}
	_, err = d.Token()
	return n, err
}

// quoted is a string as JSON.
func quoted(s string) string {
	text, _ := json.Marshal(s) // a string does not fail
	return string(text)
}

// text writes a node.
func (n *node) text() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case '{':
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoted(m.name) + ":")
			m.value.write(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(n.raw)
	}
}

// all are a node and those below it.
func (n *node) all() []*node {
	out := []*node{n}
	for _, m := range n.members {
		out = append(out, m.value.all()...)
	}
	for _, item := range n.items {
		out = append(out, item.all()...)
	}
	return out
}
