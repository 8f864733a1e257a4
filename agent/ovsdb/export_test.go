package ovsdb

import "encoding/json"

// A Mirror takes what servers send.
type Mirror struct{ m *mirror }

// NewMirror returns one that has a schema.
func NewMirror(schema string) (Mirror, error) {
	m := Mirror{newMirror()}
	return m, m.m.learn(json.RawMessage(schema))
}

func (m Mirror) Sync(text []byte) error   { return m.m.sync(text) }
func (m Mirror) Update(text []byte) error { return m.m.update(text) }
func (m Mirror) Take() Delta              { return m.m.take() }

// Comment is an operation that changes nothing.
func Comment(text string) Operation { return Operation{"comment", map[string]any{"comment": text}} }
