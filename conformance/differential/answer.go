package differential

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// An Answer is a response without the parts in which two services may differ: addresses, request
// ids, times, the uuids that a service chooses, and the order of unordered lists.
type Answer struct {
	Status int
	Head   map[string]string // the headers that matter, by lower-case name
	JSON   any               // the body when it is JSON, else nil
	Text   string            // the body when it is not JSON

	location string // the Location header with canonical uuids
}

// heldHeaders are compared by value.
var heldHeaders = []string{
	"content-type", "openstack-api-version", "location", "cache-control", "www-authenticate",
	"access-control-allow-origin", "access-control-allow-credentials", "access-control-allow-methods",
	"access-control-allow-headers", "access-control-expose-headers", "access-control-max-age",
}

// listHeaders contain names whose order and case do not matter.
var listHeaders = []string{"vary", "allow"}

// seenHeaders are compared by presence and form.
var seenHeaders = map[string]*regexp.Regexp{
	"last-modified":          regexp.MustCompile(`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$`),
	"x-openstack-request-id": regexp.MustCompile(`^req-[0-9a-f-]{36}$`),
}

var requestID = regexp.MustCompile(`req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// NewAnswer normalises the response to a request; the names of services and the ids that they chose
// must be canonical already. Lists in the answer to a PUT keep their order where a service echoes
// the request.
func NewAnswer(r Request, res Response) Answer {
	a := Answer{Status: res.Status, Head: head(res.Header), location: res.Header.Get("Location")}
	text := requestID.ReplaceAllString(res.Body, "req-")
	v, ok := decode(text)
	if !ok || !strings.Contains(a.Head["content-type"], "json") {
		a.Text = text
		return a
	}
	echo := r.Method == http.MethodPut && strings.HasSuffix(r.path(), "/aggregates")
	a.JSON = settle(v, "aggregates", !echo) // before 1.19 they were the document
	return a
}

func head(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range heldHeaders {
		if vs := h.Values(name); len(vs) > 0 {
			out[name] = strings.Join(vs, ", ")
		}
	}
	for _, name := range listHeaders {
		if vs := h.Values(name); len(vs) > 0 {
			items := strings.Split(strings.ToLower(strings.Join(vs, ",")), ",")
			for i := range items {
				items[i] = strings.TrimSpace(items[i])
			}
			sort.Strings(items)
			out[name] = strings.Join(items, ", ")
		}
	}
	for name, form := range seenHeaders {
		if vs := h.Values(name); len(vs) == 1 && form.MatchString(vs[0]) {
			out[name] = "present"
		} else if len(vs) > 0 {
			out[name] = fmt.Sprintf("malformed: %q", vs)
		}
	}
	return out
}

// unordered names the lists in which order carries no meaning.
var unordered = []string{
	"resource_providers", "resource_classes", "traits", "aggregates", "allocation_requests", "allocations",
}

// settle sorts lists without order and writes numbers one way. Integers and fractions remain
// distinct, as they are in Python.
func settle(v any, key string, sorting bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, it := range v {
			name := k
			if key == "mappings" {
				name = "resource_providers" // a mapping's list has no order either
			}
			v[k] = settle(it, name, sorting)
		}
	case []any:
		for i, it := range v {
			v[i] = settle(it, "", sorting)
		}
		if sorting && slices.Contains(unordered, key) {
			sortValues(v)
		}
	case json.Number:
		return number(v)
	}
	return v
}

func sortValues(vs []any) {
	slices.SortFunc(vs, func(x, y any) int { return strings.Compare(identity(x), identity(y)) })
}

// identity orders items that have a uuid or a name by these, so that matching items are compared,
// and all others by their text.
func identity(v any) string {
	return asString(at(v, "uuid")) + " " + asString(at(v, "name")) + " " + render(v)
}

func number(n json.Number) any {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return n
	}
	return f
}

// render writes a settled value as one line of JSON.
func render(v any) string {
	if f, ok := v.(float64); ok {
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// problem returns the one error of an error document.
func (a Answer) problem() (map[string]any, bool) {
	errs, _ := at(a.JSON, "errors").([]any)
	if len(errs) != 1 {
		return nil, false
	}
	e, ok := errs[0].(map[string]any)
	return e, ok
}

// detail returns the explanation of an error, "" if there is none.
func (a Answer) detail() string {
	e, ok := a.problem()
	if !ok {
		return a.Text
	}
	return asString(e["detail"])
}

// String renders the answer for a report.
func (a Answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", a.Status)
	names := make([]string, 0, len(a.Head))
	for n := range a.Head {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(&b, "\n%s: %s", n, a.Head[n])
	}
	if a.JSON != nil {
		b.WriteString("\n" + render(a.JSON))
	} else if a.Text != "" {
		b.WriteString("\n" + a.Text)
	}
	return b.String()
}
