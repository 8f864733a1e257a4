// Package pyjson reads JSON as Python's json module does and shows values as Python shows them.
//
// OpenStack's services are written in Python, and what their clients see of a malformed request is
// Python's: which texts are JSON, the words of the syntax error, the repr of the offending value.
// This package reproduces those so that answers are the same. Values keep the order of object keys,
// integers of any size and lone surrogates, all of which encoding/json drops.
//
// parse.go and quoted.go are the parser, value.go has the values, repr.go writes a value as repr()
// does, pretty.go as pprint.pformat does, utf8.go has the errors of Python's decoder.
//
// It is not a general JSON library: use encoding/json where no client compares the text, and
// httpapi/view for answers whose values are not compared with anything.
package pyjson

import (
	"math"
	"math/big"
	"strconv"
)

// A Kind is the Python type of a [Value].
type Kind uint8

// The kinds, after the Python types None, bool, int, float, str, list and dict.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	Object
)

// A Value is one node of a JSON document. The zero Value is null.
//
// Values are never changed after they were made: they may be copied freely and
// read from several goroutines, and the slices they hand out must not be
// written to.
type Value struct {
	kind    Kind
	num     uint64 // Bool: 0 or 1; Int: an int64, unless str is set; Float: its bits
	str     string // String: the text; Int: the digits of one too large for int64
	items   []Value
	members []Member
}

// A Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// NewBool returns the boolean b.
func NewBool(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.num = 1
	}
	return v
}

// NewInt returns the integer n.
func NewInt(n int64) Value { return Value{kind: Int, num: uint64(n)} }

// NewFloat returns the float f, which may be infinite or not a number.
func NewFloat(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

// NewString returns the string s. A lone surrogate in s is written as the three
// bytes that UTF-8's rule gives for it.
func NewString(s string) Value { return Value{kind: String, str: s} }

// NewArray returns an array of items, which it keeps.
func NewArray(items ...Value) Value { return Value{kind: Array, items: items} }

// NewObject returns an object with the given members, which it keeps. Of equal
// keys the last value counts, at the place of the first, as in a Python dict.
func NewObject(members ...Member) Value {
	return Value{kind: Object, members: unique(members)}
}

// Of returns a Go value as JSON; a nil list is an empty one.
func Of[V bool | int | int64 | string | []string | Value](v V) Value {
	switch v := any(v).(type) {
	case bool:
		return NewBool(v)
	case int:
		return NewInt(int64(v))
	case int64:
		return NewInt(v)
	case string:
		return NewString(v)
	case []string:
		items := make([]Value, len(v))
		for i, text := range v {
			items[i] = NewString(text)
		}
		return NewArray(items...)
	case Value:
		return v
	}
	return Value{} // there is no other type
}

// M is a member of an object with a Go value.
func M[V bool | int | int64 | string | []string | Value](key string, v V) Member {
	return Member{key, Of(v)}
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// Bool reports whether v is true.
func (v Value) Bool() bool { return v.kind == Bool && v.num == 1 }

// Str returns the text of a string and "" for all other kinds. It is valid UTF-8, see
// utf8.ValidString, unless the document had a lone surrogate, which is encoded in the three bytes
// that UTF-8's rule gives for it.
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	return v.str
}

// Int64 returns the integer that v is by JSON schema's definition, which includes 2.0, and false
// for other values and for integers that do not fit.
func (v Value) Int64() (int64, bool) {
	switch v.kind {
	case Int:
		return int64(v.num), v.str == ""
	case Float:
		f := math.Float64frombits(v.num)
		// 1<<63 is the first float too large; -1<<63 fits.
		whole := f == math.Trunc(f) && f >= -1<<63 && f < 1<<63
		if !whole {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

// Float64 returns the number v as a float: the nearest one for an integer, an
// infinity for one beyond its range, and 0 for all other kinds.
func (v Value) Float64() float64 {
	switch {
	case v.kind == Float:
		return math.Float64frombits(v.num)
	case v.kind != Int:
		return 0
	case v.str == "":
		return float64(int64(v.num))
	}
	f, _ := strconv.ParseFloat(v.str, 64) // out of range yields the infinity that is wanted
	return f
}

// IsInteger reports whether v is an integer by JSON schema's definition: any Python int, and a
// float without a fraction, but no bool.
func (v Value) IsInteger() bool {
	if v.kind != Float {
		return v.kind == Int
	}
	f := math.Float64frombits(v.num)
	return f == math.Trunc(f) && !math.IsInf(f, 0)
}

// IsFinite reports whether a value can be written as JSON. Python reads NaN and Infinity, and
// numbers beyond the range of a float, which JSON does not have.
func (v Value) IsFinite() bool {
	if v.kind == Float {
		f := v.Float64()
		return !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	for _, item := range v.items {
		if !item.IsFinite() {
			return false
		}
	}
	for _, m := range v.members {
		if !m.Value.IsFinite() {
			return false
		}
	}
	return true
}

// IsNumber reports whether v is an integer or a float.
func (v Value) IsNumber() bool { return v.kind == Int || v.kind == Float }

// Items returns the items of an array and nil for all other kinds.
func (v Value) Items() []Value { return v.items }

// Members returns the members of an object in order, each key once, and nil for
// all other kinds.
func (v Value) Members() []Member { return v.members }

// Len returns the number of items or members.
func (v Value) Len() int { return len(v.items) + len(v.members) }

// Get returns the value of a key of an object and whether it is there. Its cost
// grows with the number of members: to visit many keys, range over [Value.Members].
func (v Value) Get(key string) (Value, bool) {
	for i := range v.members {
		if v.members[i].Key == key {
			return v.members[i].Value, true
		}
	}
	return Value{}, false
}

// Less reports whether the number v is less than the number w, compared exactly
// as Python does, also between integers and floats. Nothing is less than NaN or
// the other way round. Both must be numbers.
func (v Value) Less(w Value) bool {
	if v.kind == Int && w.kind == Int && v.str == "" && w.str == "" {
		return int64(v.num) < int64(w.num)
	}
	a, b := v.Float64(), w.Float64()
	if v.kind == Float && w.kind == Float || math.IsNaN(a) || math.IsNaN(b) {
		return a < b
	}
	return v.exact().Cmp(w.exact()) < 0
}

// exact returns a number other than NaN without rounding.
func (v Value) exact() *big.Float {
	switch {
	case v.kind == Float:
		return new(big.Float).SetFloat64(math.Float64frombits(v.num))
	case v.str == "":
		return new(big.Float).SetInt64(int64(v.num))
	}
	n, _ := new(big.Int).SetString(v.str, 10) // the parser let only digits in
	return new(big.Float).SetInt(n)
}

// unique drops repeated keys as a Python dict does. It works in place.
func unique(ms []Member) []Member {
	at := make(map[string]int, len(ms))
	kept := ms[:0]
	for _, m := range ms {
		if i, ok := at[m.Key]; ok {
			kept[i].Value = m.Value
			continue
		}
		at[m.Key] = len(kept)
		kept = append(kept, m)
	}
	return kept
}
