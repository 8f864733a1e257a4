package resource

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A Converter converts the value of an attribute to its canonical form. Its error is the whole text
// for the caller.
type Converter func(pyjson.Value) (pyjson.Value, error)

// A Checker returns what is wrong with a value, "" when nothing is.
type Checker func(pyjson.Value) string

// Truthy is Python's bool().
func Truthy(v pyjson.Value) bool {
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

// ToBool converts what oslo.utils' bool_from_string accepts.
func ToBool(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Bool {
		return v, nil
	}
	switch strings.ToLower(strings.TrimSpace(pyjson.Str(v))) {
	case "1", "t", "true", "on", "y", "yes":
		return pyjson.NewBool(true), nil
	case "0", "f", "false", "off", "n", "no":
		return pyjson.NewBool(false), nil
	}
	return v, InvalidInput("'%s' cannot be converted to boolean", pyjson.Str(v))
}

// ToInt converts what Python's int() accepts of JSON.
func ToInt(v pyjson.Value) (pyjson.Value, error) {
	n, ok := ParseInt(v)
	if !ok {
		return v, InvalidInput("'%s' is not an integer", pyjson.Str(v))
	}
	return pyjson.NewInt(n), nil
}

// ParseInt is Python's int(): floats lose their fraction, booleans count.
func ParseInt(v pyjson.Value) (int64, bool) {
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

// NullToList converts null to a list.
func NullToList(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return pyjson.NewArray(), nil
	}
	return v, nil
}

// Nullable accepts null and what c accepts.
func Nullable(c Checker) Checker {
	return func(v pyjson.Value) string {
		if v.Kind() == pyjson.Null {
			return ""
		}
		return c(v)
	}
}

// MaxLength is a string of so many characters at most.
func MaxLength(most int) Checker {
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

// OneOf is one of some strings or numbers.
func OneOf[V string | int](valid ...V) Checker {
	known := make([]pyjson.Value, len(valid))
	for i, v := range valid {
		known[i] = pyjson.Of(v)
	}
	return func(v pyjson.Value) string {
		if slices.ContainsFunc(known, func(w pyjson.Value) bool { return Equal(v, w) }) {
			return ""
		}
		return pyjson.Str(v) + " is not in valid_values"
	}
}

// Between is a whole number within bounds, both included.
func Between(low, high int64) Checker {
	return func(v pyjson.Value) string {
		n, ok := ParseInt(v)
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

// NotNegative is a whole number from 0 on.
func NotNegative(v pyjson.Value) string {
	n, ok := ParseInt(v)
	switch {
	case !ok:
		return "'" + pyjson.Str(v) + "' is not an integer"
	case n < 0:
		return fmt.Sprintf("'%d' should be non-negative", n)
	}
	return ""
}

// UUID is a UUID, with or without hyphens, braces or a urn.
func UUID(v pyjson.Value) string {
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

// ListOf is a list without duplicates whose items pass a check.
func ListOf(item Checker) Checker {
	return func(v pyjson.Value) string {
		if v.Kind() != pyjson.Array {
			return "'" + pyjson.Str(v) + "' is not a list"
		}
		if twice := duplicates(v.Items()); len(twice) > 0 {
			return "Duplicate items in the list: '" + strings.Join(twice, ", ") + "'"
		}
		return FirstWrong(v.Items(), item)
	}
}

// duplicates returns the values that a list has more than once, each once.
func duplicates(items []pyjson.Value) []string {
	var twice []string
	seen, reported := ValueSet{}, map[string]bool{}
	for _, v := range items {
		if seen.Add(v) || reported[pyjson.Str(v)] {
			continue
		}
		reported[pyjson.Str(v)] = true
		twice = append(twice, pyjson.Str(v))
	}
	return twice
}

// ValueSet is a set of values, of which those that are equal are one.
type ValueSet map[string]bool

// Add adds a value, and reports whether it is new.
func (s ValueSet) Add(v pyjson.Value) bool {
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
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b pyjson.Member) int {
			return strings.Compare(a.Key, b.Key)
		})
		for _, m := range members {
			b = appendKey(appendKey(b, pyjson.Of(m.Key)), m.Value)
		}
		return b
	}
	return pyjson.AppendRepr(append(b, '='), v)
}

// FirstWrong returns the first message of a check about an item, "" when there is none.
func FirstWrong(items []pyjson.Value, item Checker) string {
	for _, v := range items {
		if wrong := item(v); wrong != "" {
			return wrong
		}
	}
	return ""
}

// IsObject is a JSON object. Neutron accepts NaN and Infinity in it, too, and then answers with
// what is no JSON; here they are refused.
func IsObject(v pyjson.Value) string {
	switch {
	case !v.IsFinite():
		return "'" + pyjson.Str(v) + "' has a number that is not finite"
	case v.Kind() == pyjson.Object:
		return ""
	}
	return "'" + pyjson.Str(v) + "' is not a dictionary"
}

// Equal reports whether two values are the same as Python's == has it.
func Equal(v, w pyjson.Value) bool {
	switch {
	case v.IsNumber() && w.IsNumber():
		return !v.Less(w) && !w.Less(v)
	case v.Kind() != w.Kind() || v.Len() != w.Len():
		return false
	case v.Kind() == pyjson.Array:
		return slices.EqualFunc(v.Items(), w.Items(), Equal)
	case v.Kind() == pyjson.Object:
		return sameMembers(v, w)
	}
	return v.Str() == w.Str() && v.Bool() == w.Bool()
}

func sameMembers(v, w pyjson.Value) bool {
	for _, m := range v.Members() {
		if other, ok := w.Get(m.Key); !ok || !Equal(m.Value, other) {
			return false
		}
	}
	return true
}

// List makes a list of values.
func List[T any](items []T, one func(T) pyjson.Value) pyjson.Value {
	values := make([]pyjson.Value, len(items))
	for i, item := range items {
		values[i] = one(item)
	}
	return pyjson.NewArray(values...)
}

// Each reads the items of a list; nil when v is no list, or empty.
func Each[T any](v pyjson.Value, one func(pyjson.Value) T) []T {
	var all []T
	for _, item := range v.Items() {
		all = append(all, one(item))
	}
	return all
}

// Member is the value of a key, and null when there is none.
func Member(v pyjson.Value, key string) pyjson.Value {
	m, _ := v.Get(key)
	return m
}

// TextOrNull is a string, and null for an empty one.
func TextOrNull[S ~string](s S) pyjson.Value {
	if s == "" {
		return pyjson.Value{}
	}
	return pyjson.NewString(string(s))
}

// Texts are the strings of a list.
func Texts(v pyjson.Value) []string { return Each(v, pyjson.Value.Str) }

// Encode writes a value as JSON text, and null as an empty object.
func Encode(v pyjson.Value) []byte {
	if v.Kind() != pyjson.Object {
		return []byte("{}")
	}
	var b bytes.Buffer
	j := httpapi.NewJSON(&b)
	j.Value(v)
	_ = j.Close() // a Buffer takes all
	return b.Bytes()
}

// Decode reads an object that encode wrote.
func Decode(text []byte) pyjson.Value {
	v, err := pyjson.Parse(text)
	if err != nil {
		return pyjson.NewObject()
	}
	return v
}
