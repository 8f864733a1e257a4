package pyschema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// Draft4 compiles schemas of draft 4 as OpenStack's Compute reads them, with release 4.10 of the
// library: 1.0 is no integer there, and few limits have texts of their own. As Compute has it,
// texts that are numbers count as numbers where there is a minimum or a maximum.
type Draft4 struct {
	Formats Formats
	// Patterns are the expressions that Go has not, with what decides instead.
	Patterns map[string]func(string) bool
}

// MustCompile is [MustCompile] for draft 4. There are more keywords in it: oneOf,
// allOf, a list of items, additionalItems, exclusiveMinimum and exclusiveMaximum as
// booleans, and additionalProperties may be true.
func (o Draft4) MustCompile(text string) *Schema {
	source, err := pyjson.Parse([]byte(text))
	if err == nil {
		var s *Schema
		if s, err = compile(source, &dialect{formats: o.Formats, patterns: o.Patterns, draft4: true}); err == nil {
			return s
		}
	}
	panic(fmt.Sprintf("pyschema: %v in %s", err, text))
}

// A Mistake is one way in which a value violates a schema.
type Mistake struct {
	Path    []pyjson.Value // the keys and indexes that lead to the value
	Value   pyjson.Value
	Message string       // as that of an [Error]
	Keyword string       // that is not met
	Wants   pyjson.Value // what the schema has under the keyword
}

// First returns the first mistake in the order of the schema's keys, which the library's validate
// raises; nil if v is valid.
func (s *Schema) First(v pyjson.Value) *Mistake {
	if s.holds(v) {
		return nil
	}
	var first *failure
	s.blame(&walk{found: func(f *failure) {
		if first == nil {
			first = f
		}
	}}, v)
	wants, _ := first.schema.source.Get(first.keyword)
	return &Mistake{first.path, first.value, pyjson.CutMiddle(first.message(), messageLimit), first.keyword, wants}
}

// exclusives are the keywords that make limits exclusive.
var exclusives = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

// compileDraft4 makes the check for a keyword that only draft 4 has here.
func compileDraft4(keyword string, v pyjson.Value, s *Schema, d *dialect) (c check, err error, known bool) {
	if !d.draft4 {
		return nil, nil, false
	}
	switch keyword {
	case "exclusiveMinimum", "exclusiveMaximum":
		return anything{}, demand(v.Kind() == pyjson.Bool, "is no boolean"), true
	case "oneOf":
		all, err := compileAll(v, d)
		return oneOf(all), err, true
	case "allOf":
		all, err := compileAll(v, d)
		return allOf(all), err, true
	case "additionalItems":
		list, _ := s.source.Get("items")
		return atMost(list.Len()), demand(v.Kind() == pyjson.Bool && !v.Bool(), "only false is known"), true
	}
	return nil, nil, false
}

// anything is the check of a keyword without a constraint.
type anything struct{}

func (anything) holds(pyjson.Value) bool   { return true }
func (anything) blame(*walk, pyjson.Value) {}

// itemList is "items" with a schema for each of the first.
type itemList []*Schema

func (c itemList) holds(v pyjson.Value) bool {
	for i, item := range v.Items() {
		if i < len(c) && !c[i].holds(item) {
			return false
		}
	}
	return true
}

func (c itemList) blame(w *walk, v pyjson.Value) {
	for i, item := range v.Items() {
		if at := pyjson.NewInt(int64(i)); i < len(c) {
			w.into(c[i], item, &at, at)
		}
	}
}

// atMost is "additionalItems": false behind so many.
type atMost int

func (c atMost) holds(v pyjson.Value) bool { return len(v.Items()) <= int(c) }

func (c atMost) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string {
		more := v.Items()[c:]
		return fmt.Sprintf("Additional items are not allowed (%s %s unexpected)", list(more),
			plural(len(more), "was", "were"))
	})
}

// allOf is "allOf": every branch has to hold, and the mistakes are those of the branches.
type allOf []*Schema

func (c allOf) holds(v pyjson.Value) bool {
	for _, s := range c {
		if !s.holds(v) {
			return false
		}
	}
	return true
}

func (c allOf) blame(w *walk, v pyjson.Value) {
	for i, s := range c {
		w.into(s, v, nil, pyjson.NewInt(int64(i)))
	}
}

// oneOf is "oneOf": exactly one branch has to hold.
type oneOf []*Schema

func (c oneOf) holds(v pyjson.Value) bool { return len(c.valid(v)) == 1 }

// valid returns the branches that hold.
func (c oneOf) valid(v pyjson.Value) (all []*Schema) {
	for _, s := range c {
		if s.holds(v) {
			all = append(all, s)
		}
	}
	return all
}

func (c oneOf) blame(w *walk, v pyjson.Value) {
	all := c.valid(v)
	if len(all) == 0 {
		anyOf(c).blame(w, v)
		return
	}
	w.fail(v, func() string {
		texts := make([]string, len(all))
		for i, s := range append(all[1:], all[0]) {
			texts[i] = s.String()
		}
		return brief(v) + " is valid under each of " + strings.Join(texts, ", ")
	})
}

// numberIn returns the number that a value has in Python's int() or float(), and the value itself
// when it has none.
func numberIn(v pyjson.Value) pyjson.Value {
	switch v.Kind() {
	case pyjson.Bool:
		if v.Bool() {
			return pyjson.NewInt(1)
		}
		return pyjson.NewInt(0)
	case pyjson.String:
		return numberOf(v)
	}
	return v
}

// numberOf converts a text as Compute's validator does (_number_from_str): as an integer or else as
// a float. A text that is neither is returned as it is, and no limit applies to it.
func numberOf(text pyjson.Value) pyjson.Value {
	s := strings.TrimSpace(text.Str())
	if n, ok := new(big.Int).SetString(strings.TrimPrefix(s, "+"), 10); ok {
		if v, err := pyjson.Parse([]byte(n.String())); err == nil {
			return v
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return pyjson.NewFloat(f)
	}
	return text
}
