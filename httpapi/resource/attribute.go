package resource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// An Attribute is one member of an object of the API. T is the object, S its specification.
type Attribute[T, S any] struct {
	Name string
	Use  Use

	// Default is the default of an optional attribute; the zero S has it as well.
	Default pyjson.Value
	Convert Converter // nil: the value is unchanged
	Check   Checker   // nil accepts all

	MaxItems int // items of a list in a body; maxItems when 0

	Set         func(*S, pyjson.Value)              // nil when no caller may set it
	Show        func(*T) pyjson.Value               // nil when it is never shown
	Filter      func(values []string) func(*T) bool // as a filter; nil compares what is shown
	StoredForms func(string) []string               // as a filter: the forms of a value in the store; nil for the same

	NestedPolicy bool // its members have rules of their own
	KeyValue     bool // as a filter it is written KEY=VALUE

	ShownIf func(*T) bool // objects of which it is shown; nil for all
}

// A Use is what may be done with an attribute.
type Use int

const (
	Post       Use = 1 << iota // may be in POST
	Put                        // may be in PUT
	Required                   // must be in POST
	Filterable                 // may be in a query
	Sortable                   // lists may be sorted by it
	Guarded                    // setting it has a policy rule of its own
	Ignored                    // PUT does nothing with it
)

// A Body is one object of a request, checked.
type Body struct {
	Values map[string]pyjson.Value
	names  []string // of values that change something, in the table's order
}

// Read checks one object of a request against a table, in the order of prepare_request_body in
// Neutron's api/v2/base.py.
func Read[T, S any](table []Attribute[T, S], v pyjson.Value, creating bool) (Body, error) {
	b := Body{Values: make(map[string]pyjson.Value, v.Len())}
	for _, m := range v.Members() {
		b.Values[m.Key] = m.Value
	}
	if unknown := UnknownMembers(v, func(key string) bool { return Find(table, key) != nil }); len(unknown) > 0 {
		return b, Unrecognized(unknown)
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
		if _, ok := b.Values[table[i].Name]; ok && (creating || table[i].Use&Ignored == 0) {
			b.names = append(b.names, table[i].Name)
		}
	}
	return b, nil
}

// UnknownMembers returns the members of an object that are not known, sorted. In Neutron the
// order is that of a set: none.
func UnknownMembers(v pyjson.Value, known func(key string) bool) []string {
	var unknown []string
	for _, m := range v.Members() {
		if !known(m.Key) {
			unknown = append(unknown, m.Key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Unrecognized is the fault of attributes that are in no table.
func Unrecognized(names []string) error {
	return BadRequest("Unrecognized attribute(s) '%s'", strings.Join(names, ", "))
}

// allowed refuses what is missing and what may not be there: fill_post_defaults in neutron_lib.
func allowed[T, S any](a *Attribute[T, S], b Body, creating bool) error {
	_, given := b.Values[a.Name]
	switch {
	case creating && !given && a.Use&Required != 0:
		return BadRequest("Failed to parse request. Required attribute '%s' not specified", a.Name)
	case creating && given && a.Use&Post == 0:
		return BadRequest("Attribute '%s' not allowed in POST", a.Name)
	case !creating && given && a.Use&Put == 0:
		name := a.Name
		if name == "project_id" {
			name = "tenant_id" // which is what it is converted to first
		}
		return BadRequest("Cannot update read-only attribute %s", name)
	}
	return nil
}

// convertTo normalizes a value and checks it.
func convertTo[T, S any](a *Attribute[T, S], b Body) (err error) {
	v, given := b.Values[a.Name]
	if !given {
		return nil
	}
	if most := cmp.Or(a.MaxItems, maxItems); v.Kind() == pyjson.Array && v.Len() > most {
		return TooMany(a.Name, v.Len(), most)
	}
	if a.Convert != nil {
		if v, err = a.Convert(v); err != nil {
			return err
		}
		b.Values[a.Name] = v
	}
	if a.Check != nil {
		if reason := a.Check(v); reason != "" {
			return InvalidValue(a.Name, reason)
		}
	}
	return nil
}

// Apply writes a body into s.
func Apply[T, S any](table []Attribute[T, S], b Body, s *S) {
	for i := range table {
		if table[i].Set != nil && slices.Contains(b.names, table[i].Name) {
			table[i].Set(s, b.Values[table[i].Name])
		}
	}
}
