package pyschema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// An Error is the violation of a schema that the library finds most relevant (best_match).
type Error struct {
	// Message is the mistake in one line, as in "'x' is not of type 'integer'".
	Message string

	details string
}

// Error returns the message, the part of the schema it comes from, and the value
// it is about, as str shows a Python ValidationError. The layout of the last
// two ends in "..." if it would become much larger than any useful answer.
func (e *Error) Error() string { return e.Message + e.details }

const (
	// width is the line length that jsonschema passes to pprint.
	width = 72

	// prettyLimit bounds the layout of a value. Python has no bound, and a
	// request of some 100 KB can be laid out in gigabytes.
	prettyLimit = 256 << 10

	// messageLimit bounds a message, and the values in it: a body of megabytes is not sent back.
	messageLimit = 64 << 10
)

// brief returns the repr of a value for a message.
func brief(v pyjson.Value) string { return pyjson.Brief(v, messageLimit) }

// A failure is one mistake. Paths start at the value that was validated or, for
// the causes of another failure, at the value of that one.
type failure struct {
	schema     *Schema
	keyword    string
	value      pyjson.Value
	path       []pyjson.Value
	schemaPath []pyjson.Value
	message    func() string
	causes     []*failure // why no branch of an anyOf was met
}

// compare orders failures by relevance: first those higher up in the value, of
// these those with the greater path, then whatever is not an anyOf, then values
// of a wrong type.
func (f *failure) compare(g *failure) int {
	if c := cmp.Compare(len(g.path), len(f.path)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(f.path, g.path, compareSteps); c != 0 {
		return c
	}
	if c := compareBools(f.keyword != "anyOf", g.keyword != "anyOf"); c != 0 {
		return c
	}
	return compareBools(!f.rightType(), !g.rightType())
}

// compareSteps compares two steps out of the same value: both are keys or both
// are indexes. Keys are ordered by code points, which UTF-8's bytes are too.
func compareSteps(a, b pyjson.Value) int {
	if a.Kind() == pyjson.String {
		return strings.Compare(a.Str(), b.Str())
	}
	i, _ := a.Int64()
	j, _ := b.Int64()
	return cmp.Compare(i, j)
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rightType reports whether the schema names a type and the value is of it.
func (f *failure) rightType() bool {
	return f.schema.types != 0 && f.schema.types.has(f.value)
}

// deepest follows the causes of f down, each time to the least relevant, until
// there are none or two are equally irrelevant.
func (f *failure) deepest() *failure {
	for len(f.causes) > 0 {
		least := slices.MinFunc(f.causes, (*failure).compare)
		for _, g := range f.causes {
			if g != least && g.compare(least) == 0 {
				return f
			}
		}
		f = least
	}
	return f
}

// report returns the Error for the failure. It is made for one failure only: formatting a large
// value takes longer than validating it.
func (f *failure) report() *Error {
	return &Error{
		Message: pyjson.CutMiddle(f.message(), messageLimit),
		details: "\n\nFailed validating " + pyjson.Quote(f.keyword) + " in " + index("schema", f.schemaPath) +
			":\n    " + pretty(f.schema.source) +
			"\n\nOn " + pyjson.Cut(index("instance", f.path), messageLimit, false) + ":\n    " + pretty(f.value),
	}
}

// index writes path as Python would to get there from root.
func index(root string, path []pyjson.Value) string {
	b := []byte(root)
	for _, step := range path {
		b = append(pyjson.AppendRepr(append(b, '['), step), ']')
	}
	return string(b)
}

// pretty returns the layout of a value, indented by four columns but for its first line.
func pretty(v pyjson.Value) string {
	return strings.ReplaceAll(pyjson.Pretty(v, width, prettyLimit), "\n", "\n    ")
}
