package pyschema

import (
	"math/big"
	"slices"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// enum is "enum". As in Python, 1 and 1.0 are the same, 1 and True are not.
type enum struct {
	keys   map[string]bool // of the values, see appendKey
	source pyjson.Value
}

func newEnum(v pyjson.Value) enum {
	c := enum{source: v, keys: map[string]bool{}}
	for _, item := range v.Items() {
		c.keys[string(appendKey(nil, item))] = true
	}
	return c
}

func (c enum) holds(v pyjson.Value) bool { return c.keys[string(appendKey(nil, v))] }

func (c enum) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string { return brief(v) + " is not one of " + pyjson.Repr(c.source) })
}

// inRange is "minimum" or "maximum". NaN is beyond neither.
type inRange struct {
	limit     pyjson.Value
	upper     bool
	exclusive bool
	texts     bool // that are numbers count as such
}

func (c inRange) holds(v pyjson.Value) bool {
	if c.texts {
		v = numberIn(v)
	}
	switch {
	case !v.IsNumber():
		return true
	case c.exclusive && c.upper:
		return v.Less(c.limit)
	case c.exclusive:
		return c.limit.Less(v)
	case c.upper:
		return !c.limit.Less(v)
	}
	return !v.Less(c.limit)
}

func (c inRange) blame(w *walk, v pyjson.Value) {
	says, end := " is less than", " the minimum of "
	if c.upper {
		says, end = " is greater than", " the maximum of "
	}
	if c.exclusive {
		says += " or equal to"
	}
	says += end
	if c.texts {
		v = numberIn(v)
	}
	w.fail(v, func() string { return brief(v) + says + pyjson.Repr(c.limit) })
}

// pattern is "pattern". It holds for everything that is not a string.
type pattern struct {
	expr   expression
	source string
}

func (c pattern) holds(v pyjson.Value) bool {
	return v.Kind() != pyjson.String || c.expr.match(v.Str())
}

func (c pattern) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string { return brief(v) + " does not match " + pyjson.Quote(c.source) })
}

// format is "format". Whether it holds for what is not a string is up to ok.
type format struct {
	name pyjson.Value
	ok   func(pyjson.Value) bool
}

func (c format) holds(v pyjson.Value) bool { return c.ok(v) }

func (c format) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string { return brief(v) + " is not a " + pyjson.Repr(c.name) })
}

// A size is a bound on how long a string, an array or an object is.
type size struct {
	kind  pyjson.Kind
	upper bool
	limit int
	edge  int    // a limit with words of its own
	atIt  string // these words
	says  string // the words for all other limits
}

// sizes has the keywords with their texts. Limits for emptiness have words of their own since
// release 4.21 of the library, so that draft 4, which is for release 4.10, has none.
var sizes = map[string]size{
	"minLength": {kind: pyjson.String, edge: 1, atIt: " should be non-empty", says: " is too short"},
	"minItems":  {kind: pyjson.Array, edge: 1, atIt: " should be non-empty", says: " is too short"},
	"minProperties": {
		kind: pyjson.Object, edge: 1, atIt: " should be non-empty", says: " does not have enough properties",
	},
	"maxLength":     {kind: pyjson.String, upper: true, atIt: " is expected to be empty", says: " is too long"},
	"maxItems":      {kind: pyjson.Array, upper: true, atIt: " is expected to be empty", says: " is too long"},
	"maxProperties": {kind: pyjson.Object, upper: true, edge: none, says: " has too many properties"},
}

// none is an edge that no limit is at.
const none = -1

func (c size) holds(v pyjson.Value) bool {
	if v.Kind() != c.kind {
		return true
	}
	n := v.Len()
	if c.kind == pyjson.String {
		n = pyjson.RuneLen(v.Str())
	}
	if c.upper {
		return n <= c.limit
	}
	return n >= c.limit
}

func (c size) blame(w *walk, v pyjson.Value) {
	says := c.says
	if c.limit == c.edge {
		says = c.atIt
	}
	w.fail(v, func() string { return brief(v) + says })
}

// uniqueItems is "uniqueItems": true.
type uniqueItems struct{}

// holds compares by a key that equal values share. Python sorts and compares neighbours, which
// misses some equal values in lists that mix 1 and True, or have NaN in them; here they are found.
func (uniqueItems) holds(v pyjson.Value) bool {
	seen := make(map[string]bool, len(v.Items()))
	for _, item := range v.Items() {
		key := string(appendKey(nil, item))
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func (uniqueItems) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string { return brief(v) + " has non-unique elements" })
}

// appendKey appends a text that is the same for equal values only: 1 and 1.0
// are equal, 1 and True are not, and the order of keys does not matter.
func appendKey(b []byte, v pyjson.Value) []byte {
	switch {
	case v.Kind() == pyjson.Array:
		b = append(b, '[')
		for _, item := range v.Items() {
			b = append(appendKey(b, item), ',')
		}
		return append(b, ']')
	case v.Kind() == pyjson.Object:
		return appendObjectKey(b, v)
	case v.Kind() == pyjson.Float && v.IsInteger():
		return appendWhole(b, v.Float64())
	}
	return pyjson.AppendRepr(b, v)
}

// appendObjectKey appends the members sorted by their texts.
func appendObjectKey(b []byte, v pyjson.Value) []byte {
	var members []string
	for _, m := range v.Members() {
		members = append(members, pyjson.Quote(m.Key)+":"+string(appendKey(nil, m.Value)))
	}
	slices.Sort(members)
	b = append(b, '{')
	for _, m := range members {
		b = append(append(b, m...), ',')
	}
	return append(b, '}')
}

// appendWhole writes a float without a fraction as an integer.
func appendWhole(b []byte, f float64) []byte {
	n, _ := new(big.Float).SetFloat64(f).Int(nil)
	return n.Append(b, 10)
}
