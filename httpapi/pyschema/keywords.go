package pyschema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// types is a set of JSON schema's types.
type types uint8

const (
	isNull types = 1 << iota
	isBoolean
	isInteger
	isNumber
	isString
	isArray
	isObject
	isInt // an integer that is written as one
)

// typeNames are the names in a schema. isInt has none: it is the integer of draft 4.
var typeNames = map[string]types{
	"null": isNull, "boolean": isBoolean, "integer": isInteger, "number": isNumber,
	"string": isString, "array": isArray, "object": isObject,
}

// has reports whether v is of one of the types. 1.0 is an integer, True is not.
func (t types) has(v pyjson.Value) bool {
	switch v.Kind() {
	case pyjson.Null:
		return t&isNull != 0
	case pyjson.Bool:
		return t&isBoolean != 0
	case pyjson.String:
		return t&isString != 0
	case pyjson.Array:
		return t&isArray != 0
	case pyjson.Object:
		return t&isObject != 0
	}
	return t&isNumber != 0 || t&isInteger != 0 && v.IsInteger() || t&isInt != 0 && v.Kind() == pyjson.Int
}

// ofType is "type". The message lists names as the schema has them.
type ofType struct {
	types types
	names []pyjson.Value
}

func (c ofType) holds(v pyjson.Value) bool { return c.types.has(v) }

func (c ofType) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string { return brief(v) + " is not of type " + list(c.names) })
}

// list writes the reprs of vs with commas between them.
func list(vs []pyjson.Value) string {
	var words []string
	for _, v := range vs {
		words = append(words, brief(v))
	}
	return strings.Join(words, ", ")
}

type property struct {
	name   pyjson.Value
	schema *Schema
}

// properties is "properties". A member that is absent meets it; "required" is a keyword of its own.
type properties []property

func (c properties) holds(v pyjson.Value) bool {
	for i := range c {
		if sub, ok := v.Get(c[i].name.Str()); ok && !c[i].schema.holds(sub) {
			return false
		}
	}
	return true
}

func (c properties) blame(w *walk, v pyjson.Value) {
	for _, p := range c {
		if sub, ok := v.Get(p.name.Str()); ok {
			w.into(p.schema, sub, &p.name, p.name)
		}
	}
}

type patternProperty struct {
	pattern expression
	source  pyjson.Value
	schema  *Schema
}

// patternProperties is "patternProperties". A member has to meet the schema of each pattern that
// its key matches.
type patternProperties []patternProperty

func (c patternProperties) holds(v pyjson.Value) bool {
	members := v.Members()
	for i := range c {
		for j := range members {
			if c[i].pattern.match(members[j].Key) && !c[i].schema.holds(members[j].Value) {
				return false
			}
		}
	}
	return true
}

func (c patternProperties) blame(w *walk, v pyjson.Value) {
	for _, p := range c {
		for _, m := range v.Members() {
			if p.pattern.match(m.Key) {
				key := pyjson.NewString(m.Key)
				w.into(p.schema, m.Value, &key, p.source)
			}
		}
	}
}

func (c patternProperties) match(key string) bool {
	for i := range c {
		if c[i].pattern.match(key) {
			return true
		}
	}
	return false
}

// noExtras is "additionalProperties": false.
type noExtras struct {
	known    pyjson.Value // an object with the known keys
	patterns patternProperties
}

func (c noExtras) extra(key string) bool {
	_, known := c.known.Get(key)
	return !known && !c.patterns.match(key)
}

func (c noExtras) holds(v pyjson.Value) bool {
	members := v.Members()
	for i := range members {
		if c.extra(members[i].Key) {
			return false
		}
	}
	return true
}

func (c noExtras) blame(w *walk, v pyjson.Value) {
	w.fail(v, func() string {
		var extras []string
		for _, m := range v.Members() {
			if c.extra(m.Key) {
				extras = append(extras, m.Key)
			}
		}
		return c.message(extras)
	})
}

// message has the library's two forms: with patterns next to it in the schema it lists those.
func (c noExtras) message(extras []string) string {
	if c.patterns == nil {
		verb := plural(len(extras), "was", "were")
		return fmt.Sprintf("Additional properties are not allowed (%s %s unexpected)", sorted(extras), verb)
	}
	var sources []string
	for _, p := range c.patterns {
		sources = append(sources, p.source.Str())
	}
	verb := plural(len(extras), "does", "do")
	return fmt.Sprintf("%s %s not match any of the regexes: %s", sorted(extras), verb, sorted(sources))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// sorted orders names by code points and lists their reprs.
func sorted(names []string) string {
	slices.Sort(names)
	for i, n := range names {
		names[i] = pyjson.Quote(n)
	}
	return strings.Join(names, ", ")
}

// required is "required". It holds for everything that is not an object.
type required []string

func (c required) holds(v pyjson.Value) bool {
	if v.Kind() != pyjson.Object {
		return true
	}
	for _, name := range c {
		if _, ok := v.Get(name); !ok {
			return false
		}
	}
	return true
}

func (c required) blame(w *walk, v pyjson.Value) {
	for _, name := range c {
		if _, ok := v.Get(name); !ok {
			w.fail(v, func() string { return pyjson.Quote(name) + " is a required property" })
		}
	}
}

// items is "items" with one schema for all items.
type items struct{ schema *Schema }

func (c items) holds(v pyjson.Value) bool {
	for _, item := range v.Items() {
		if !c.schema.holds(item) {
			return false
		}
	}
	return true
}

func (c items) blame(w *walk, v pyjson.Value) {
	for i, item := range v.Items() {
		at := pyjson.NewInt(int64(i))
		w.into(c.schema, item, &at)
	}
}

// anyOf is "anyOf". Its mistake has those of all branches as causes, among which best_match
// descends.
type anyOf []*Schema

func (c anyOf) holds(v pyjson.Value) bool {
	return slices.ContainsFunc(c, func(s *Schema) bool { return s.holds(v) })
}

func (c anyOf) blame(w *walk, v pyjson.Value) {
	var causes []*failure
	for i, s := range c {
		inner := &walk{
			found:      func(f *failure) { causes = append(causes, f) },
			schemaPath: []pyjson.Value{pyjson.NewInt(int64(i))},
		}
		s.blame(inner, v)
	}
	message := func() string { return brief(v) + " is not valid under any of the given schemas" }
	w.failBecause(v, message, causes)
}
