package ovsdb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Row has a value for each column. A value is an atom (int64, float64, bool,
// string, UUID), a Set or a Map. In rows that are written, int and Named are good
// as well. In rows that were read, a real without a fraction is an int64, and a
// set of one element may be the element alone: [Value], [Values] and [Pairs] take
// both forms.
type Row map[string]any

// A UUID names a row: 32 lower-case hexadecimal digits with hyphens.
type UUID string

// A Named refers to the row that an insert of the same transaction creates under this name:
// letters, digits and underscores, not a digit first.
type Named string

// A Set has atoms of one type, each once.
type Set []any

// A Map has atoms of one type for atoms of one type.
type Map map[any]any

// SetOf returns a Set of the values.
func SetOf[T any](values ...T) Set {
	s := make(Set, len(values))
	for i, v := range values {
		s[i] = v
	}
	return s
}

// MapOf returns a Map with the pairs of m.
func MapOf[K comparable, V any](m map[K]V) Map {
	pairs := make(Map, len(m))
	for k, v := range m {
		pairs[k] = v
	}
	return pairs
}

// Value returns the value of a column that has one at most: the zero value when
// it has none, or one of another type.
func Value[T comparable](r Row, column string) T {
	var none T
	if vs := Values[T](r, column); len(vs) > 0 {
		return vs[0]
	}
	return none
}

// Values returns the elements of a column that are of type T, in their order.
func Values[T comparable](r Row, column string) []T {
	set, ok := r[column].(Set)
	if !ok {
		set = Set{r[column]}
	}
	var vs []T
	for _, e := range set {
		if v, ok := e.(T); ok {
			vs = append(vs, v)
		}
	}
	return vs
}

// Pairs returns the pairs of a column that are of these types. The map is never
// nil.
func Pairs[K, V comparable](r Row, column string) map[K]V {
	all, _ := r[column].(Map)
	m := make(map[K]V, len(all))
	for key, value := range all {
		k, ok := key.(K)
		v, ok2 := value.(V)
		if ok && ok2 {
			m[k] = v
		}
	}
	return m
}

// MarshalJSON writes the notation of RFC 7047, section 5.1.
func (u UUID) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{"uuid", string(u)}) }

// MarshalJSON writes the notation of RFC 7047, section 5.1.
func (n Named) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{"named-uuid", string(n)}) }

// MarshalJSON writes the notation of RFC 7047, section 5.1.
func (s Set) MarshalJSON() ([]byte, error) {
	elements := make([]any, len(s)) // not null when it is empty
	for i, e := range s {
		elements[i] = noted(e)
	}
	return json.Marshal([2]any{"set", elements})
}

// MarshalJSON writes the notation of RFC 7047, section 5.1, in the order of the
// keys.
func (m Map) MarshalJSON() ([]byte, error) {
	pairs := make([][2]any, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, [2]any{noted(k), noted(v)})
	}
	slices.SortFunc(pairs, func(a, b [2]any) int { return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	return json.Marshal([2]any{"map", pairs})
}

// MarshalJSON writes the notation of RFC 7047, section 5.1.
func (r Row) MarshalJSON() ([]byte, error) {
	columns := make(map[string]any, len(r))
	for name, v := range r {
		columns[name] = noted(v)
	}
	return json.Marshal(columns)
}

// noted is a value as it is written. A number too large for an integer has an
// exponent, or it would be taken for one.
func noted(v any) any {
	if f, ok := v.(float64); ok && math.Abs(f) >= 1<<63 {
		return json.Number(strconv.FormatFloat(f, 'e', -1, 64))
	}
	return v
}

// UnmarshalJSON reads the notation of RFC 7047, section 5.1. What does not keep to
// it is an error.
func (r *Row) UnmarshalJSON(text []byte) error {
	var wire map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // or integers above 2^53 change
	if err := d.Decode(&wire); err != nil {
		return err
	}
	row := make(Row, len(wire))
	for column, w := range wire {
		v, err := value(w)
		if err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
		row[column] = v
	}
	*r = row
	return nil
}

func value(wire any) (any, error) {
	pair, ok := wire.([]any)
	if !ok || len(pair) != 2 {
		return atom(wire)
	}
	elements, ok := pair[1].([]any)
	switch {
	case ok && pair[0] == "set":
		return set(elements)
	case ok && pair[0] == "map":
		return mapping(elements)
	}
	return atom(wire)
}

func set(elements []any) (Set, error) {
	s := make(Set, len(elements))
	for i, e := range elements {
		var err error
		if s[i], err = atom(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func mapping(pairs []any) (Map, error) {
	m := make(Map, len(pairs))
	for _, p := range pairs {
		pair, _ := p.([]any)
		if len(pair) != 2 {
			return nil, errors.New("a map has something that is no pair")
		}
		k, err := atom(pair[0])
		if err != nil {
			return nil, err
		}
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("a map has the key %.40q twice", fmt.Sprint(k))
		}
		if m[k], err = atom(pair[1]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func atom(wire any) (any, error) {
	switch w := wire.(type) {
	case string, bool:
		return w, nil
	case json.Number:
		return number(string(w))
	case []any:
		return reference(w)
	}
	return nil, fmt.Errorf("%T is no atom", wire)
}

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		return nil, fmt.Errorf("the number %.40s is out of range", text)
	}
	if f == math.Trunc(f) && -(1<<63) <= f && f < 1<<63 {
		return int64(f), nil // as it would come in its short form
	}
	return f, nil
}

func reference(pair []any) (any, error) {
	if len(pair) == 2 {
		name, ok := pair[1].(string)
		switch {
		case ok && pair[0] == "uuid" && isUUID(name):
			return UUID(name), nil
		case ok && pair[0] == "named-uuid":
			return Named(name), nil
		}
	}
	return nil, errors.New("an array is no UUID, set or map")
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (s[i] == '-') || !hyphen && !strings.ContainsRune("0123456789abcdef", rune(s[i])) {
			return false
		}
	}
	return true
}
