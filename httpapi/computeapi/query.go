package computeapi

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

// A querySchema is the schema of a query string. Parameters that it does not name are ignored before
// 2.75, and refused since; a strict schema refuses them at every version.
type querySchema struct {
	names       []string // one that begins with ^ stands for all that begin with the rest
	lax, strict *pyschema.Schema
}

// many is a parameter that may be repeated, once one that may not.
func many(part string) string { return `{"type": "array", "items": ` + part + `}` }
func once(part string) string { return `{"type": "array", "items": ` + part + `, "maxItems": 1}` }

// newQuery returns a schema of alternating names and parts.
func newQuery(strict bool, params ...string) querySchema {
	var s querySchema
	var properties, patterns []string
	for i := 0; i < len(params); i += 2 {
		s.names = append(s.names, params[i])
		property := strconv.Quote(params[i]) + ": " + params[i+1]
		if strings.HasPrefix(params[i], "^") {
			patterns = append(patterns, property)
		} else {
			properties = append(properties, property)
		}
	}
	text := `{"type": "object", "properties": {` + strings.Join(properties, ", ") + `}`
	if patterns != nil {
		text += `, "patternProperties": {` + strings.Join(patterns, ", ") + `}`
	}
	s.strict = draft4.MustCompile(text + `, "additionalProperties": false}`)
	s.lax = s.strict
	if !strict {
		s.lax = draft4.MustCompile(text + `}`)
	}
	return s
}

// has reports whether the schema names a parameter.
func (s querySchema) has(param string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		prefix, all := strings.CutPrefix(name, "^")
		return name == param || all && strings.HasPrefix(param, prefix)
	})
}

// checkQuery validates the query string against a schema, and keeps what the schema names.
func (q *request) checkQuery(s querySchema) error {
	all, order, ok := parseQuery(q.URL.RawQuery)
	if !ok {
		return fault.New(fault.Invalid, codeValidation, "Query string is not UTF-8 encoded")
	}
	given := make([]pyjson.Member, len(order))
	for i, name := range order {
		var values []pyjson.Value
		for _, v := range all[name] {
			values = append(values, pyjson.NewString(v))
		}
		given[i] = pyjson.Member{Key: name, Value: pyjson.NewArray(values...)}
	}
	schema := s.lax
	if q.minor >= 75 {
		schema = s.strict
	}
	if m := schema.First(pyjson.NewObject(given...)); m != nil {
		return mistaken(m, "query parameters", m.Path[:min(len(m.Path), 1)])
	}
	maps.DeleteFunc(all, func(name string, _ []string) bool { return !s.has(name) })
	q.query = all
	return nil
}

// parseQuery reads a query string and the order of its names. It reports false for what
// is no text.
func parseQuery(raw string) (all url.Values, order []string, ok bool) {
	all = url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key, value = unescape(key), unescape(value)
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, nil, false
		}
		if all[key] == nil {
			order = append(order, key)
		}
		all[key] = append(all[key], value)
	}
	return all, order, true
}

// unescape decodes escapes and, as Python does, keeps invalid ones.
func unescape(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return text
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '+' {
			b = append(b, ' ')
			continue
		}
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// last is the last value of a parameter, and whether it is there.
func (q *request) last(name string) (string, bool) {
	values := q.query[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// A page is the requested part of a list.
type page struct {
	limit  int
	marker string
	marked bool // there is a marker
}

// page returns the page of the query.
func (q *request) page() page {
	p := page{limit: q.api.maxLimit()}
	if text, ok := q.last("limit"); ok {
		p.limit = min(p.limit, atoi(text))
	}
	p.marker, p.marked = q.last("marker")
	return p
}

// atoi reads a number of which a schema knows that it is one. One that is too big for
// any list is the biggest.
func atoi(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 1<<31 - 1
	}
	return n
}

// part returns a page of a list in its order, false when there is no marker in it.
func part[T any](all []T, p page, id func(T) string) ([]T, bool) {
	if p.marked {
		at := slices.IndexFunc(all, func(one T) bool { return id(one) == p.marker })
		if at < 0 {
			return nil, false
		}
		all = all[at+1:]
	}
	return all[:min(len(all), p.limit)], true
}

// nextLink is the link to the next page of a collection: of a list that is full, whose last object has an
// id. Other lists have none.
func (q *request) nextLink(name, collection string, n int, lastID string) []view.Member {
	if limit := q.page().limit; n == 0 || n != limit {
		return nil
	}
	href := q.url(collection) + "?" + q.nextQuery(lastID)
	return []view.Member{linkList(name, link("next", href))}
}

// link is a link to something that is related to an object in some way.
func link(rel, href string) view.Object {
	return view.Object{view.Text("rel", rel), view.Text("href", href)}
}

func linkList(name string, links ...view.Object) view.Member {
	return view.List(name, links, func(o view.Object) view.Object { return o })
}

// nextQuery is the query with another marker.
func (q *request) nextQuery(marker string) string {
	keys := slices.Sorted(maps.Keys(q.query))
	if q.query["marker"] == nil {
		keys = append(keys, "marker")
	}
	pairs := make([]string, len(keys))
	for i, key := range keys {
		value := marker
		if key != "marker" {
			value = slices.Max(q.query[key])
		}
		pairs[i] = url.QueryEscape(key) + "=" + url.QueryEscape(value)
	}
	return strings.Join(pairs, "&")
}

// url is where a client finds a path of this version, with the project in it if the
// request has it.
func (q *request) url(path string) string { return q.urlBelow(top, path) }

func (q *request) urlBelow(top, path string) string {
	if project := projectOf(q.Context()); project != "" {
		top += "/" + project
	}
	return httpapi.AbsoluteURL(q.Request, top+"/"+path)
}

// links are those of an object: as this version has it, and without a version.
func (q *request) links(collection string, id string) view.Member {
	path := collection + "/" + id
	return linkList("links", link("self", q.url(path)), link("bookmark", q.urlBelow("", path)))
}

// bookmark is a list with the link to an object without a version.
func (q *request) bookmark(collection, id string) view.Member {
	return linkList("links", link("bookmark", q.urlBelow("", collection+"/"+id)))
}
