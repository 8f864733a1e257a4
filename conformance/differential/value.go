package differential

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Request bodies are values whose objects preserve their order, because a service may process
// members in that order. A value is nil, bool, int, string, list, object, or raw text that is
// inserted unchanged.

type (
	member struct {
		key   string
		value any
	}
	object []member
	list   []any
	raw    string
)

// get returns the member of that name.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// encode writes a value as JSON.
func encode(v any) string {
	var b strings.Builder
	encodeTo(&b, v)
	return b.String()
}

func encodeTo(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case raw:
		b.WriteString(string(v))
	case string:
		b.WriteString(quote(v))
	case list:
		encodeList(b, v)
	case object:
		encodeObject(b, v)
	default:
		panic(fmt.Sprintf("no JSON for a %T", v))
	}
}

func encodeList(b *strings.Builder, l list) {
	b.WriteByte('[')
	for i, v := range l {
		if i > 0 {
			b.WriteString(", ")
		}
		encodeTo(b, v)
	}
	b.WriteByte(']')
}

func encodeObject(b *strings.Builder, o object) {
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(m.key))
		b.WriteString(": ")
		encodeTo(b, m.value)
	}
	b.WriteByte('}')
}

func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always has a JSON form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// decode reads JSON into maps, slices, strings, bools, nil and json.Numbers;
// ok is false for anything that is not one JSON document.
func decode(text string) (v any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, false
	}
	return v, true
}

// at walks down objects by their keys and returns the value there, nil for a missing one.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asString(v any) string {
	s, _ := v.(string)
	return s
}

func asStrings(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, it := range items {
		if s, ok := it.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func asInt(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n.String())
	return i, err == nil
}
