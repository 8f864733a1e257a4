package computeapi

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A writer writes one JSON element.
type writer = func(*httpapi.JSON)

// object writes an object of alternating names and values. A value is of one of the types that
// write knows.
func object(j *httpapi.JSON, pairs ...any) {
	j.Object()
	put(j, pairs...)
	j.EndObject()
}

// members is object as a value.
func members(pairs ...any) writer {
	return func(j *httpapi.JSON) { object(j, pairs...) }
}

// put writes members of an object: alternating names and values.
func put(j *httpapi.JSON, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		j.Key(pairs[i].(string))
		write(j, pairs[i+1])
	}
}

// array is a list as a value, each item of which is written by one function.
func array[T any](items []T, one func(*httpapi.JSON, T)) writer {
	return func(j *httpapi.JSON) {
		j.Array()
		for _, item := range items {
			one(j, item)
		}
		j.EndArray()
	}
}

// write writes a value. A time that is zero is null.
func write(j *httpapi.JSON, value any) {
	switch v := value.(type) {
	case nil:
		j.Null()
	case writer:
		v(j)
	case string:
		j.String(v)
	case compute.ID:
		j.String(string(v))
	case bool:
		j.Bool(v)
	case int:
		j.Int(int64(v))
	case int64:
		j.Int(v)
	case float64:
		j.Float(v)
	case time.Time:
		writeTime(j, v)
	case []string:
		array(v, (*httpapi.JSON).String)(j)
	case []compute.ID:
		array(v, func(j *httpapi.JSON, id compute.ID) { j.String(string(id)) })(j)
	case map[string]string:
		writeTexts(j, v)
	case pyjson.Value:
		j.Value(v)
	default:
		panic(fmt.Sprintf("computeapi: no way to write a %T", value))
	}
}

// writeTime writes a time as Nova's library does, in UTC and without saying so.
func writeTime(j *httpapi.JSON, t time.Time) {
	if t.IsZero() {
		j.Null()
		return
	}
	j.String(t.UTC().Format("2006-01-02T15:04:05.000000"))
}

func writeTexts(j *httpapi.JSON, m map[string]string) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	j.Object()
	for _, key := range keys {
		put(j, key, m[key])
	}
	j.EndObject()
}

// shown is a value as Python's str() has it, which is how texts quote values.
func shown(v pyjson.Value) string {
	if v.Kind() == pyjson.String {
		return v.Str()
	}
	return pyjson.Repr(v)
}

// orNull is a text, null for an empty one.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// number is a number that a schema has accepted, as a number or as text.
func number(v pyjson.Value) int64 {
	if n, ok := v.Int64(); ok {
		return n
	}
	n, _ := strconv.ParseInt(shown(v), 10, 64) // one out of range is the last in it
	return n
}
