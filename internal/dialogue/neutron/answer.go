package neutron

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// An answer is a service's answer to one request.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	ordered bool     // the order of a list in it has a meaning
	only    []string // the attributes to show, nil for all
	not     []string // attributes that are not shown
}

// says reports whether an answer is one that a request is repeated for: a status, or way=value,
// where the value null says that there is nothing.
func (a answer) says(what string) bool {
	way, want, ok := strings.Cut(what, "=")
	if !ok {
		return fmt.Sprint(a.status) == what
	}
	v, err := decode(a.body)
	if err != nil || a.status/100 != 2 {
		return false
	}
	found, err := find(v, way)
	if want == "null" {
		return err != nil
	}
	return err == nil && fmt.Sprint(found) == want
}

// text returns the answer in the form of a dialogue, with names in place of variable values.
func (a answer) text(n *names) string {
	lines := []string{fmt.Sprint(a.status)}
	lines = append(lines, a.unusual(n)...)
	if len(a.body) == 0 {
		return strings.Join(lines, "\n")
	}
	v, err := decode(a.body)
	if err != nil {
		words := strings.Fields(n.text(string(a.body)))
		return strings.Join(append(lines, strings.Join(words, " ")), "\n")
	}
	if e, ok := asError(v); ok {
		return strings.Join(append(lines, e.lines(n)...), "\n")
	}
	v = n.value("", arrange(without(pick(v, a.only), a.not), a.ordered, n))
	return strings.Join(append(lines, layOut(v)), "\n")
}

// unusual returns the headers that differ from those of most answers. Allow and Retry-After are not
// among them: Neutron omits them where HTTP requires them.
func (a answer) unusual(n *names) []string {
	var lines []string
	usual := ""
	if len(a.body) > 0 {
		usual = "application/json"
	}
	for _, name := range []string{"Content-Type", "Location"} {
		switch value := a.header.Get(name); {
		case name == "Content-Type" && value == usual:
		case name == "Content-Type" && value == "" && usual != "":
			lines = append(lines, "no "+name)
		case value != "":
			lines = append(lines, name+": "+n.text(value))
		}
	}
	return lines
}

// decode reads JSON and preserves the spelling of numbers.
func decode(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = errors.New("something follows the JSON")
	}
	return v, err
}

// A refusal is Neutron's form of an error.
type refusal struct{ outer, kind, message, detail string }

// asError returns the error that a body is, if it is one with no more and no less
// than an error has.
func asError(v any) (refusal, bool) {
	object, ok := v.(map[string]any)
	if !ok || len(object) != 1 {
		return refusal{}, false
	}
	for _, outer := range []string{"NeutronError", "NotImplementedError"} {
		inner, ok := object[outer].(map[string]any)
		if !ok || len(inner) != 3 {
			continue
		}
		kind, ok1 := inner["type"].(string)
		message, ok2 := inner["message"].(string)
		detail, ok3 := inner["detail"].(string)
		return refusal{outer, kind, message, detail}, ok1 && ok2 && ok3
	}
	return refusal{}, false
}

// lines returns the error, with its outer key when that is not the usual one, and its detail when
// there is any.
func (e refusal) lines(n *names) []string {
	word := "error"
	if e.outer != "NeutronError" {
		word = e.outer
	}
	lines := []string{fmt.Sprintf("%s %s: %s", word, e.kind, oneLine(n.text(e.message)))}
	if e.detail != "" {
		lines = append(lines, "detail: "+oneLine(n.text(e.detail)))
	}
	return lines
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// pick returns only some attributes of the object in an answer, or of each of the objects. An
// answer of several members is the object itself.
func pick(v any, only []string) any {
	object, ok := v.(map[string]any)
	if !ok || only == nil {
		return v
	}
	things := []any{object}
	for _, inner := range object {
		if list, ok := inner.([]any); ok && len(object) == 1 {
			things = list
		} else if len(object) == 1 {
			things = []any{inner}
		}
	}
	for _, thing := range things {
		if attributes, ok := thing.(map[string]any); ok {
			maps.DeleteFunc(attributes, func(key string, _ any) bool { return !slices.Contains(only, key) })
		}
	}
	return v
}

// without removes attributes from all objects in an answer.
func without(v any, keys []string) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, _ any) bool { return slices.Contains(keys, key) })
		for _, inner := range v {
			without(inner, keys)
		}
	case []any:
		for _, inner := range v {
			without(inner, keys)
		}
	}
	return v
}

// inOrder are the attributes whose lists have an order.
var inOrder = []string{"dns_nameservers", "segments", "request_groups", "same_subtree"}

// opaque are the attributes that are returned as they were given.
var opaque = []string{"binding:profile", "profile", "configurations"}

// arrange sorts the lists in an answer whose order does not matter.
func arrange(v any, ordered bool, n *names) any {
	object, ok := v.(map[string]any)
	if !ok {
		return sortLists(v, n, "")
	}
	for key, inner := range object {
		list, ok := inner.([]any)
		if !ok || !ordered || strings.HasSuffix(key, "_links") {
			object[key] = sortLists(inner, n, "")
			continue
		}
		for i := range list {
			list[i] = sortLists(list[i], n, "")
		}
	}
	return object
}

// sortLists sorts the lists of an attribute, and those within.
func sortLists(v any, n *names, attribute string) any {
	if slices.Contains(opaque, attribute) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = sortLists(inner, n, key)
		}
	case []any:
		for i := range v {
			v[i] = sortLists(v[i], n, attribute)
		}
		if !slices.Contains(inOrder, attribute) {
			slices.SortStableFunc(v, func(a, b any) int {
				return strings.Compare(blankText(a, n, attribute), blankText(b, n, attribute))
			})
		}
	}
	return v
}

// blankText is the sort key of an element: its text with one word for all values without a name
// yet.
func blankText(v any, n *names, attribute string) string {
	text, err := json.Marshal(n.blank().value(attribute, v))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
