package networkapi

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A convert converts the value of an attribute to its canonical form. Its error is the whole text
// for the caller.
type convert func(pyjson.Value) (pyjson.Value, error)

// A check returns what is wrong with a value, "" when nothing is.
type check func(pyjson.Value) string

// truthy is Python's bool().
func truthy(v pyjson.Value) bool {
	switch v.Kind() {
	case pyjson.Null:
		return false
	case pyjson.Bool:
		return v.Bool()
	case pyjson.Int, pyjson.Float:
		return v.Float64() != 0
	case pyjson.String:
		return v.Str() != ""
	}
	return v.Len() > 0
}

// toBool takes what oslo.utils takes for a boolean.
func toBool(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Bool {
		return v, nil
	}
	switch strings.ToLower(strings.TrimSpace(pyjson.Str(v))) {
	case "1", "t", "true", "on", "y", "yes":
		return pyjson.NewBool(true), nil
	case "0", "f", "false", "off", "n", "no":
		return pyjson.NewBool(false), nil
	}
	return v, invalidInput("'%s' cannot be converted to boolean", pyjson.Str(v))
}

// toInt takes what Python's int() takes of JSON.
func toInt(v pyjson.Value) (pyjson.Value, error) {
	n, ok := whole(v)
	if !ok {
		return v, invalidInput("'%s' is not an integer", pyjson.Str(v))
	}
	return pyjson.NewInt(n), nil
}

// whole is Python's int(): floats lose their fraction, booleans count.
func whole(v pyjson.Value) (int64, bool) {
	switch v.Kind() {
	case pyjson.Int:
		return v.Int64()
	case pyjson.Float:
		f := v.Float64()
		return int64(f), f > -1<<62 && f < 1<<62
	case pyjson.Bool:
		if v.Bool() {
			return 1, true
		}
		return 0, true
	case pyjson.String:
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(v.Str()), "_", ""), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// emptyList converts null to a list.
func emptyList(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return pyjson.NewArray(), nil
	}
	return v, nil
}

// orNull accepts null besides what c accepts.
func orNull(c check) check {
	return func(v pyjson.Value) string {
		if v.Kind() == pyjson.Null {
			return ""
		}
		return c(v)
	}
}

// text is a string of so many characters at most.
func text(most int) check {
	return func(v pyjson.Value) string {
		switch {
		case v.Kind() != pyjson.String:
			return "'" + pyjson.Str(v) + "' is not a valid string"
		case utf8.RuneCountInString(v.Str()) > most:
			return fmt.Sprintf("'%s' exceeds maximum length of %d", v.Str(), most)
		}
		return ""
	}
}

// oneOf is one of some strings or numbers.
func oneOf(valid ...any) check {
	known := make([]pyjson.Value, len(valid))
	for i, v := range valid {
		known[i] = valueOf(v)
	}
	return func(v pyjson.Value) string {
		if slices.ContainsFunc(known, func(w pyjson.Value) bool { return equal(v, w) }) {
			return ""
		}
		return pyjson.Str(v) + " is not in valid_values"
	}
}

// between is a whole number within bounds, both included.
func between(low, high int64) check {
	return func(v pyjson.Value) string {
		n, ok := whole(v)
		switch {
		case !ok:
			return "'" + pyjson.Str(v) + "' is not an integer"
		case n < low:
			return fmt.Sprintf("'%d' is too small - must be at least '%d'", n, low)
		case n > high:
			return fmt.Sprintf("'%d' is too large - must be no larger than '%d'", n, high)
		}
		return ""
	}
}

// notNegative is a whole number from 0 on.
func notNegative(v pyjson.Value) string {
	n, ok := whole(v)
	switch {
	case !ok:
		return "'" + pyjson.Str(v) + "' is not an integer"
	case n < 0:
		return fmt.Sprintf("'%d' should be non-negative", n)
	}
	return ""
}

// uuid is a UUID, with or without hyphens, braces or a urn.
func uuid(v pyjson.Value) string {
	if v.Kind() == pyjson.String && isUUID(v.Str()) {
		return ""
	}
	return "'" + pyjson.Str(v) + "' is not a valid UUID"
}

var withoutURN = strings.NewReplacer("urn:", "", "uuid:", "")

// isUUID is oslo.utils' is_uuid_like.
func isUUID(s string) bool {
	s = withoutURN.Replace(s)
	s = strings.ReplaceAll(strings.Trim(s, "{}"), "-", "")
	if len(s) != 32 {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F')
	}) < 0
}

// listOf is a list without duplicates whose items pass a check.
func listOf(item check) check {
	return func(v pyjson.Value) string {
		if v.Kind() != pyjson.Array {
			return "'" + pyjson.Str(v) + "' is not a list"
		}
		if twice := duplicates(v.Items()); len(twice) > 0 {
			return "Duplicate items in the list: '" + strings.Join(twice, ", ") + "'"
		}
		return firstOf(v.Items(), item)
	}
}

// duplicates returns what is more than once in a list, each once.
func duplicates(items []pyjson.Value) []string {
	var twice []string
	seen, said := values{}, map[string]bool{}
	for _, v := range items {
		if seen.add(v) || said[pyjson.Str(v)] {
			continue
		}
		said[pyjson.Str(v)] = true
		twice = append(twice, pyjson.Str(v))
	}
	return twice
}

// values is a set of values, of which those that are equal are one.
type values map[string]bool

// add adds a value, and reports whether it is new.
func (s values) add(v pyjson.Value) bool {
	key := string(appendKey(nil, v))
	if s[key] {
		return false
	}
	s[key] = true
	return true
}

// appendKey appends a text that is the same for two values when they are equal, and for no
// others.
func appendKey(b []byte, v pyjson.Value) []byte {
	switch n, whole := v.Int64(); {
	case whole:
		return strconv.AppendInt(append(b, '#'), n, 10)
	case v.Kind() == pyjson.Float && v.IsInteger():
		return new(big.Float).SetFloat64(v.Float64()).Append(append(b, '#'), 'f', 0)
	case v.IsNumber():
		return pyjson.AppendRepr(append(b, '#'), v)
	case v.Kind() == pyjson.String:
		b = strconv.AppendInt(append(b, '"'), int64(len(v.Str())), 10)
		return append(append(b, ':'), v.Str()...)
	case v.Kind() == pyjson.Array:
		b = strconv.AppendInt(append(b, '['), int64(v.Len()), 10)
		for _, item := range v.Items() {
			b = appendKey(b, item)
		}
		return b
	case v.Kind() == pyjson.Object:
		b = strconv.AppendInt(append(b, '{'), int64(v.Len()), 10)
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b pyjson.Member) int { return strings.Compare(a.Key, b.Key) })
		for _, m := range members {
			b = appendKey(appendKey(b, valueOf(m.Key)), m.Value)
		}
		return b
	}
	return pyjson.AppendRepr(append(b, '='), v)
}

// firstOf returns the first thing that is wrong with an item.
func firstOf(items []pyjson.Value, item check) string {
	for _, v := range items {
		if wrong := item(v); wrong != "" {
			return wrong
		}
	}
	return ""
}

// anObject is a JSON object, which is kept as it is. Neutron keeps NaN and Infinity, too, and
// has answers then that are no JSON.
func anObject(v pyjson.Value) string {
	switch {
	case !v.IsFinite():
		return "'" + pyjson.Str(v) + "' has a number that is not finite"
	case v.Kind() == pyjson.Object:
		return ""
	}
	return "'" + pyjson.Str(v) + "' is not a dictionary"
}

// equal reports whether two values are the same as Python's == has it.
func equal(v, w pyjson.Value) bool {
	switch {
	case v.IsNumber() && w.IsNumber():
		return !v.Less(w) && !w.Less(v)
	case v.Kind() != w.Kind() || v.Len() != w.Len():
		return false
	case v.Kind() == pyjson.Array:
		return slices.EqualFunc(v.Items(), w.Items(), equal)
	case v.Kind() == pyjson.Object:
		return sameMembers(v, w)
	}
	return v.Str() == w.Str() && v.Bool() == w.Bool()
}

func sameMembers(v, w pyjson.Value) bool {
	for _, m := range v.Members() {
		if other, ok := w.Get(m.Key); !ok || !equal(m.Value, other) {
			return false
		}
	}
	return true
}

// valueOf is a Go value as JSON: nil, bool, int, int64, string, []string.
func valueOf(v any) pyjson.Value {
	switch v := v.(type) {
	case bool:
		return pyjson.NewBool(v)
	case int:
		return pyjson.NewInt(int64(v))
	case int64:
		return pyjson.NewInt(v)
	case string:
		return pyjson.NewString(v)
	case []string:
		return array(v, pyjson.NewString)
	case pyjson.Value:
		return v
	}
	return pyjson.Value{}
}

// array makes a list of values.
func array[T any](items []T, one func(T) pyjson.Value) pyjson.Value {
	values := make([]pyjson.Value, len(items))
	for i, item := range items {
		values[i] = one(item)
	}
	return pyjson.NewArray(values...)
}

// each reads the items of a list. Of what is none or empty it is nil.
func each[T any](v pyjson.Value, one func(pyjson.Value) T) []T {
	var all []T
	for _, item := range v.Items() {
		all = append(all, one(item))
	}
	return all
}

// part is the value of a key, and null when there is none.
func part(v pyjson.Value, key string) pyjson.Value {
	m, _ := v.Get(key)
	return m
}

// orNone is a string, and null for an empty one.
func orNone[S ~string](s S) pyjson.Value {
	if s == "" {
		return pyjson.Value{}
	}
	return pyjson.NewString(string(s))
}

// object builds an object of alternating keys and values.
func object(pairs ...any) pyjson.Value {
	members := make([]pyjson.Member, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		members = append(members, pyjson.Member{Key: pairs[i].(string), Value: valueOf(pairs[i+1])})
	}
	return pyjson.NewObject(members...)
}
