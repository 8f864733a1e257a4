// Package pyschema validates JSON values against JSON schemas and reports mistakes as Python's
// jsonschema library does (release 4.26, draft 2020-12).
//
// Clients of OpenStack's Placement see that library's text in the answer to an invalid request:
// which of several mistakes is named, in which words, with the schema and the offending value laid
// out below. All of this is reproduced. OpenStack's Compute has an older release of the library and
// schemas of draft 4, and shows less: see [Draft4].
//
// compile.go turns a schema into checks, one for each keyword; keywords.go, values.go and draft4.go
// have them. A check decides in holds, which every request calls, and finds the mistakes in blame,
// which only invalid values reach. error.go chooses the most relevant mistake and formats it.
//
// It is not a general validator: it has the keywords that these schemas use and refuses to compile
// any other.
package pyschema

import (
	"fmt"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A Schema is a compiled JSON schema. It is immutable and may be used from several goroutines.
type Schema struct {
	source pyjson.Value
	rules  []rule // in the order of their keys
	types  types  // of the key "type", 0 if there is none
}

// A rule is one keyword of a schema.
type rule struct {
	keyword string
	check   check
}

// A check is the constraint of a keyword.
type check interface {
	// holds reports whether v meets the constraint. It is called for every request, so it is quick
	// and does not allocate.
	holds(v pyjson.Value) bool

	// blame hands each mistake in v to w, in the library's order. It is only
	// called with values that do not hold.
	blame(w *walk, v pyjson.Value)
}

// Formats are the checks of the values of "format" that a schema may have. A check gets values of
// any type.
type Formats map[string]func(pyjson.Value) bool

// Compile reads a schema from its JSON text. The order of the keys matters:
// mistakes are looked for and the schema is shown in that order. An error says
// what of the text is not JSON, is no keyword this package knows, or is a
// format that is not in formats.
func Compile(text string, formats Formats) (*Schema, error) {
	source, err := pyjson.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return compile(source, &dialect{formats: formats})
}

// A dialect is what schemas differ in that are written for one release of the library
// or another.
type dialect struct {
	formats  Formats
	patterns map[string]func(string) bool
	draft4   bool
}

// MustCompile is [Compile] for schemas that are part of the program: it panics
// if the text has a mistake.
func MustCompile(text string, formats Formats) *Schema {
	s, err := Compile(text, formats)
	if err != nil {
		panic(fmt.Sprintf("pyschema: %v in %s", err, text))
	}
	return s
}

// String returns the schema as Python's repr shows it.
func (s *Schema) String() string { return pyjson.Repr(s.source) }

// Validate returns nil if v is valid, and otherwise an [*Error] about the one
// mistake that the library finds most relevant.
func (s *Schema) Validate(v pyjson.Value) error {
	if s.holds(v) {
		return nil
	}
	var worst *failure
	s.blame(&walk{found: func(f *failure) {
		if worst == nil || f.compare(worst) > 0 {
			worst = f
		}
	}}, v)
	return worst.deepest().report()
}

// holds reports whether v meets all keywords. Requests that are valid cost no more than this.
func (s *Schema) holds(v pyjson.Value) bool {
	for i := range s.rules {
		if !s.rules[i].check.holds(v) {
			return false
		}
	}
	return true
}

// blame hands the mistakes of every keyword that v does not meet to w, in the order of the keys.
func (s *Schema) blame(w *walk, v pyjson.Value) {
	outer, keyword := w.schema, w.keyword
	for _, r := range s.rules {
		if !r.check.holds(v) {
			w.schema, w.keyword = s, r.keyword
			r.check.blame(w, v)
		}
	}
	w.schema, w.keyword = outer, keyword
}

// A walk is a descent through a value and its schema in search of mistakes.
type walk struct {
	found      func(*failure)
	schema     *Schema // the innermost one
	keyword    string  // the one of its keywords at work
	path       []pyjson.Value
	schemaPath []pyjson.Value
}

// into blames v, which is at step within the current value, by the schema s,
// which is at name under the current keyword.
func (w *walk) into(s *Schema, v pyjson.Value, step *pyjson.Value, name ...pyjson.Value) {
	path, schemaPath := len(w.path), len(w.schemaPath)
	if step != nil {
		w.path = append(w.path, *step)
	}
	w.schemaPath = append(append(w.schemaPath, pyjson.NewString(w.keyword)), name...)
	s.blame(w, v)
	w.path, w.schemaPath = w.path[:path], w.schemaPath[:schemaPath]
}

// fail notes that v does not hold by the current keyword.
func (w *walk) fail(v pyjson.Value, message func() string) { w.failBecause(v, message, nil) }

// failBecause copies the paths, which the walk goes on to change.
func (w *walk) failBecause(v pyjson.Value, message func() string, causes []*failure) {
	w.found(&failure{
		schema:     w.schema,
		keyword:    w.keyword,
		value:      v,
		path:       append([]pyjson.Value{}, w.path...),
		schemaPath: append([]pyjson.Value{}, w.schemaPath...),
		message:    message,
		causes:     causes,
	})
}
