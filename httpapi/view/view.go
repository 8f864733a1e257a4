// Package view writes the JSON objects of answers from members with types: a member is made by the
// function of its value's type, so that the compiler refuses what cannot be written. A list writes
// its items one after the other and keeps none.
//
// It is not for values that are compared, filtered or sorted before they are shown: those are of
// package pyjson.
package view

import (
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// An Object is a JSON object: its members in the order in which they are written.
type Object []Member

// A Member is one member of an object.
type Member struct {
	name  string
	write func(*httpapi.JSON)
}

// If returns the object with further members when a condition holds, such as that the version of
// the request has them.
func (o Object) If(holds bool, members ...Member) Object {
	if holds {
		return append(o, members...)
	}
	return o
}

// Write writes the object.
func (o Object) Write(j *httpapi.JSON) {
	j.Object()
	for _, m := range o {
		j.Key(m.name)
		m.write(j)
	}
	j.EndObject()
}

// Value is a member whose value is written by a function.
func Value(name string, write func(*httpapi.JSON)) Member { return Member{name, write} }

// Nested is a member that is an object.
func Nested(name string, o Object) Member { return Member{name, o.Write} }

// JSON is a member that is any JSON.
func JSON(name string, v pyjson.Value) Member {
	return Member{name, func(j *httpapi.JSON) { j.Value(v) }}
}

// Null is a member without a value.
func Null(name string) Member { return Member{name, (*httpapi.JSON).Null} }

// Text is a member that is a string.
func Text[S ~string](name string, s S) Member {
	return Member{name, func(j *httpapi.JSON) { j.String(string(s)) }}
}

// TextOrNull is a string, and null when that is empty.
func TextOrNull[S ~string](name string, s S) Member {
	if s == "" {
		return Null(name)
	}
	return Text(name, s)
}

// Int is a member that is a whole number.
func Int[I ~int | ~int64](name string, n I) Member {
	return Member{name, func(j *httpapi.JSON) { j.Int(int64(n)) }}
}

// Float is a member that is a number.
func Float(name string, f float64) Member {
	return Member{name, func(j *httpapi.JSON) { j.Float(f) }}
}

// Bool is a member that is true or false.
func Bool(name string, b bool) Member {
	return Member{name, func(j *httpapi.JSON) { j.Bool(b) }}
}

// Time is a time in UTC in a layout of package time, and null for the zero time.
func Time(name string, t time.Time, layout string) Member {
	if t.IsZero() {
		return Null(name)
	}
	return Text(name, t.UTC().Format(layout))
}

// Texts is a list of strings, empty when it is nil.
func Texts[S ~string](name string, texts []S) Member {
	return Member{name, func(j *httpapi.JSON) {
		j.Array()
		for _, s := range texts {
			j.String(string(s))
		}
		j.EndArray()
	}}
}

// TextMap is an object whose values are strings, sorted by name.
func TextMap(name string, texts map[string]string) Member {
	return Member{name, func(j *httpapi.JSON) {
		j.Object()
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			j.KeyString(key, texts[key])
		}
		j.EndObject()
	}}
}

// List is a list of objects. Each is made when it is written.
func List[T any](name string, items []T, object func(T) Object) Member {
	return Member{name, func(j *httpapi.JSON) {
		j.Array()
		for _, item := range items {
			object(item).Write(j)
		}
		j.EndArray()
	}}
}
