package networkapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// An attribute is one member of an object of the API. T is the object, S what
// callers may say of it.
type attribute[T, S any] struct {
	name string
	use  use

	// usual is the default of an optional attribute; the zero S has it as well.
	usual   pyjson.Value
	convert convert // nil: the value is unchanged
	check   check   // nil takes all

	most int // items of a list in a body; maxItems when 0

	set   func(*S, pyjson.Value)              // nil when no caller may set it
	show  func(*T) pyjson.Value               // nil when it is never shown
	with  func(wanted []string) func(*T) bool // as a filter; nil compares what is shown
	alike func(string) []string               // as a filter: what the store may have for it; nil for the same

	parts bool // its members have rules of their own
	pairs bool // as a filter it is written KEY=VALUE

	shownIf func(*T) bool // objects of which it is shown; nil for all
}

// A use says what may be done with an attribute.
type use int

const (
	post     use = 1 << iota // may be in POST
	put                      // may be in PUT
	required                 // must be in POST
	filter                   // may be in a query
	sortable                 // lists may be sorted by it
	guarded                  // setting it has a policy rule of its own
	idle                     // PUT does nothing with it
)

// A body is what a request says of one object, checked.
type body struct {
	values map[string]pyjson.Value
	names  []string // of values that do something, in the table's order
}

// read checks one object of a request against a table.
func read[T, S any](table []attribute[T, S], v pyjson.Value, creating bool) (body, error) {
	b := body{values: make(map[string]pyjson.Value, v.Len())}
	for _, m := range v.Members() {
		b.values[m.Key] = m.Value
	}
	if unknown := unknownIn(v, func(key string) bool { return find(table, key) != nil }); len(unknown) > 0 {
		return b, unrecognized(unknown)
	}
	for i := range table {
		if err := allowed(&table[i], b, creating); err != nil {
			return b, err
		}
	}
	for i := range table {
		if err := convertTo(&table[i], b); err != nil {
			return b, err
		}
	}
	for i := range table {
		if _, ok := b.values[table[i].name]; ok && (creating || table[i].use&idle == 0) {
			b.names = append(b.names, table[i].name)
		}
	}
	return b, nil
}

// unknownIn returns what an object has that is not known, sorted. In Neutron the
// order is that of a set: none.
func unknownIn(v pyjson.Value, known func(key string) bool) []string {
	var unknown []string
	for _, m := range v.Members() {
		if !known(m.Key) {
			unknown = append(unknown, m.Key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// unrecognized is the fault of attributes that are in no table.
func unrecognized(names []string) error {
	return badRequest("Unrecognized attribute(s) '%s'", strings.Join(names, ", "))
}

// allowed refuses what is missing and what may not be there.
func allowed[T, S any](a *attribute[T, S], b body, creating bool) error {
	_, given := b.values[a.name]
	switch {
	case creating && !given && a.use&required != 0:
		return badRequest("Failed to parse request. Required attribute '%s' not specified", a.name)
	case creating && given && a.use&post == 0:
		return badRequest("Attribute '%s' not allowed in POST", a.name)
	case !creating && given && a.use&put == 0:
		name := a.name
		if name == "project_id" {
			name = "tenant_id" // which is what it is converted to first
		}
		return badRequest("Cannot update read-only attribute %s", name)
	}
	return nil
}

// convertTo brings a value into its usual form and checks it.
func convertTo[T, S any](a *attribute[T, S], b body) (err error) {
	v, given := b.values[a.name]
	if !given {
		return nil
	}
	if most := cmp.Or(a.most, maxItems); v.Kind() == pyjson.Array && v.Len() > most {
		return tooMany(a.name, v.Len(), most)
	}
	if a.convert != nil {
		if v, err = a.convert(v); err != nil {
			return err
		}
		b.values[a.name] = v
	}
	if a.check != nil {
		if reason := a.check(v); reason != "" {
			return invalidValue(a.name, reason)
		}
	}
	return nil
}

// apply writes what a body says into s.
func apply[T, S any](table []attribute[T, S], b body, s *S) {
	for i := range table {
		if table[i].set != nil && slices.Contains(b.names, table[i].name) {
			table[i].set(s, b.values[table[i].name])
		}
	}
}
