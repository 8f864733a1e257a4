package wire

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
	"github.com/berthcloud/berth/httpserver"
)

// A QuerySchema is the schema of a query string. Parameters that it does not name are ignored
// before 2.75, and refused since; a strict schema refuses them at every version.
type QuerySchema struct {
	names       []string // one that begins with ^ stands for all that begin with the rest
	lax, strict *pyschema.Schema
}

// Repeated is the schema of a parameter that may be repeated, Once of one that may not.
func Repeated(part string) string { return `{"type": "array", "items": ` + part + `}` }

func Once(part string) string { return `{"type": "array", "items": ` + part + `, "maxItems": 1}` }

// NewQuery returns a schema of alternating names and parts.
func NewQuery(strict bool, params ...string) QuerySchema {
	var s QuerySchema
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
	s.strict = Draft4.MustCompile(text + `, "additionalProperties": false}`)
	s.lax = s.strict
	if !strict {
		s.lax = Draft4.MustCompile(text + `}`)
	}
	return s
}

// has reports whether the schema names a parameter.
func (s QuerySchema) has(param string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		prefix, all := strings.CutPrefix(name, "^")
		return name == param || all && strings.HasPrefix(param, prefix)
	})
}

// CheckQuery validates the query string against a schema, and keeps what the schema names.
func (q *Request) CheckQuery(s QuerySchema) error {
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
	if q.Minor >= 75 {
		schema = s.strict
	}
	if m := schema.First(pyjson.NewObject(given...)); m != nil {
		return invalid(m, "query parameters", m.Path[:min(len(m.Path), 1)])
	}
	maps.DeleteFunc(all, func(name string, _ []string) bool { return !s.has(name) })
	q.Query = all
	return nil
}

// NoQuery returns a handler of a GET request without parameters. Since 2.102 any parameter is
// refused, before that they are ignored.
func NoQuery(h Handler) Handler {
	return func(q *Request) error {
		if q.Minor >= 102 {
			if err := q.CheckQuery(noParameters); err != nil {
				return err
			}
		}
		return h(q)
	}
}

var noParameters = NewQuery(true)

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

// Last is the last value of a parameter, and whether it is there.
func (q *Request) Last(name string) (string, bool) {
	values := q.Query[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// A Page is the requested part of a list.
type Page struct {
	Limit     int
	Marker    string
	HasMarker bool // there is a marker
}

// Page returns the page of the query.
func (q *Request) Page() Page {
	p := Page{Limit: q.API.Limit()}
	if text, ok := q.Last("limit"); ok {
		p.Limit = min(p.Limit, ParseCount(text))
	}
	p.Marker, p.HasMarker = q.Last("marker")
	return p
}

// ParseCount reads a number of which a schema knows that it is one. One that is too big for
// any list is the biggest.
func ParseCount(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 1<<31 - 1
	}
	return n
}

// PageOf returns a page of a list in its order, false when there is no marker in it.
func PageOf[T any](all []T, p Page, id func(T) string) ([]T, bool) {
	if p.HasMarker {
		at := slices.IndexFunc(all, func(one T) bool { return id(one) == p.Marker })
		if at < 0 {
			return nil, false
		}
		all = all[at+1:]
	}
	return all[:min(len(all), p.Limit)], true
}

// NextLink is the link to the next page of a collection: of a list that is full, whose last object
// has an id. Other lists have none.
func (q *Request) NextLink(name, collection string, n int, lastID string) []view.Member {
	if limit := q.Page().Limit; n == 0 || n != limit {
		return nil
	}
	href := q.PathURL(collection) + "?" + q.nextQuery(lastID)
	return []view.Member{LinkList(name, Link("next", href))}
}

// Link is a link to something that is related to an object in some way.
func Link(rel, href string) view.Object {
	return view.Object{view.Text("rel", rel), view.Text("href", href)}
}

// LinkList is a list of links.
func LinkList(name string, links ...view.Object) view.Member {
	return view.List(name, links, func(o view.Object) view.Object { return o })
}

// nextQuery is the query with another marker.
func (q *Request) nextQuery(marker string) string {
	keys := slices.Sorted(maps.Keys(q.Query))
	if q.Query["marker"] == nil {
		keys = append(keys, "marker")
	}
	pairs := make([]string, len(keys))
	for i, key := range keys {
		value := marker
		if key != "marker" {
			value = slices.Max(q.Query[key])
		}
		pairs[i] = url.QueryEscape(key) + "=" + url.QueryEscape(value)
	}
	return strings.Join(pairs, "&")
}

// PathURL is where a client finds a path of this version, with the project in it if the
// request has it.
func (q *Request) PathURL(path string) string { return q.urlBelow(Prefix, path) }

func (q *Request) urlBelow(base, path string) string {
	if project := projectOf(q.Context()); project != "" {
		base += "/" + project
	}
	return httpserver.AbsoluteURL(q.Request, base+"/"+path)
}

// Links are those of an object: as this version has it, and without a version.
func (q *Request) Links(collection string, id string) view.Member {
	path := collection + "/" + id
	return LinkList("links", Link("self", q.PathURL(path)), Link("bookmark", q.urlBelow("", path)))
}

// Bookmark is a list with the link to an object without a version.
func (q *Request) Bookmark(collection, id string) view.Member {
	return LinkList("links", Link("bookmark", q.urlBelow("", collection+"/"+id)))
}
