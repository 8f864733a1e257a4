package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// A Route is one method of one path in a range of microversions. Several routes may have the same
// path and method when their versions do not overlap.
type Route struct {
	Method  string
	Pattern string // "/traits/{name}": each {…} matches one non-empty segment
	Name    string // what metrics and logs call the path; empty means Pattern

	Since, Until int // first and last minor version; Until 0 means no end

	// Hidden is the status at other versions, 404 or 405; 0 means 404.
	Hidden int

	// Unversioned is true for paths that are outside the microversions: Nova's list of versions.
	Unversioned bool

	NeedsJSON bool // the request is refused with 415 unless its body is JSON
	Produces  bool // the request is refused with 406 unless it accepts JSON

	// Lists is true for routes that read many objects: Config.Lists bounds the requests of one
	// project.
	Lists bool

	// MediaFirst checks media types before versions, as upstream does for
	// aggregates alone.
	MediaFirst bool

	Handle Handler
}

// speaks reports whether the route exists at 1.minor.
func (r *Route) speaks(minor int) bool {
	return minor >= r.Since && (r.Until == 0 || minor <= r.Until)
}

// hidden is the answer to a version the route does not exist at.
func (r *Route) hidden(method string) error {
	if r.Hidden == http.StatusMethodNotAllowed {
		return &Error{Status: r.Hidden, method: method}
	}
	return &Error{Status: http.StatusNotFound}
}

// Param returns the segment of the path that matches {name} in the route's pattern, "" when there
// is none. Escapes are decoded; bytes beyond ASCII are the characters U+0080 to U+00FF, one each,
// as the texts of upstream's errors show them.
func Param(r *http.Request, name string) string {
	x := exchangeOf(r.Context())
	if x == nil {
		return ""
	}
	for _, p := range x.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// A param is a segment of a path under the name that the pattern gives it, in the form that Param
// returns.
type param struct{ name, value string }

// A pattern is one path and all that may be done with it.
type pattern struct {
	name     string
	segments []segment
	routes   []Route
	allow    string // the methods, in the order of declaration
}

// A table finds patterns by the number of their segments. Of several patterns that match a path,
// the one declared first is found.
type table map[int][]*pattern

// newTable panics when two routes overlap, as New says. Every route shows in the metrics from the
// start, with zero requests.
func newTable(cfg Config) table {
	t := table{}
	for _, r := range cfg.Routes {
		p := t.pattern(r)
		p.add(r)
		cfg.Metrics.seconds.WithLabelValues(cfg.Service, p.name, r.Method)
	}
	return t
}

// pattern returns the pattern of a route, making it when it is new.
func (t table) pattern(r Route) *pattern {
	segs := parsePattern(r.Pattern)
	for _, p := range t[len(segs)] {
		if slices.Equal(p.segments, segs) {
			return p
		}
	}
	p := &pattern{name: r.Name, segments: segs}
	if p.name == "" {
		p.name = r.Pattern
	}
	t[len(segs)] = append(t[len(segs)], p)
	return p
}

// add appends a route and its method.
func (p *pattern) add(r Route) {
	known := false
	for i := range p.routes {
		q := &p.routes[i]
		if q.Method != r.Method {
			continue
		}
		known = true
		if q.speaks(r.Since) || r.speaks(q.Since) {
			panic(fmt.Sprintf("httpapi: two routes for %s %s at 1.%d", r.Method, r.Pattern, max(r.Since, q.Since)))
		}
	}
	if !known && p.allow != "" {
		p.allow += ", "
	}
	if !known {
		p.allow += r.Method
	}
	p.routes = append(p.routes, r)
}

// A segment is a part of a pattern between slashes: a literal text, or the name
// of a parameter.
type segment struct {
	text    string
	isParam bool
}

func parsePattern(text string) []segment {
	var segs []segment
	for _, s := range split(nil, text) {
		name, isParam := strings.CutPrefix(s, "{")
		if isParam {
			name = strings.TrimSuffix(name, "}")
		}
		segs = append(segs, segment{name, isParam})
	}
	return segs
}

// split appends the segments of a path to room; "" has none and "/" a single
// empty one.
func split(room []string, path string) []string {
	if path == "" {
		return room
	}
	for s := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		room = append(room, s)
	}
	return room
}

// find returns the pattern of a decoded path and stores its parameters in x, nil when there is
// none. A superfluous slash matches nothing, and neither does an escaped one: upstream sees paths
// decoded.
func (t table) find(path string, x *exchange) *pattern {
	if path != "" && path[0] != '/' {
		return nil
	}
	var room [8]string
	segs := split(room[:0], path)
	// Upstream's expressions end in $, which a final newline satisfies.
	if n := len(segs) - 1; n >= 0 && len(segs[n]) > 1 {
		segs[n] = strings.TrimSuffix(segs[n], "\n")
	}
	for _, p := range t[len(segs)] {
		if p.match(segs, x) {
			return p
		}
	}
	return nil
}

// match reports whether a path has the pattern's form, and stores its parameters in x in place of
// earlier ones. A parameter does not match an empty segment.
func (p *pattern) match(segs []string, x *exchange) bool {
	x.params = x.room[:0]
	for i, want := range p.segments {
		switch {
		case !want.isParam && segs[i] != want.text, want.isParam && segs[i] == "":
			return false
		case want.isParam:
			x.params = append(x.params, param{want.text, pyjson.Latin1(segs[i])})
		}
	}
	return true
}

// route returns the route for a method at 1.minor. Without one the error is
// 405 with the methods there are, or what the route says for versions that do
// not know it.
func (p *pattern) route(method string, minor int) (*Route, error) {
	var hidden *Route
	for i := range p.routes {
		r := &p.routes[i]
		if r.Method != method {
			continue
		}
		if r.speaks(minor) || r.MediaFirst {
			return r, nil
		}
		hidden = r
	}
	if hidden != nil {
		return nil, hidden.hidden(method)
	}
	return nil, &Error{
		Status: http.StatusMethodNotAllowed,
		Detail: "The method specified is not allowed for this resource.",
		allow:  p.allow,
		method: method,
	}
}

// checkMedia refuses a request whose media types the route cannot serve. Only a route that is
// MediaFirst gets here at a version that it does not exist at.
func checkMedia(route *Route, x *exchange, r *http.Request) error {
	if route.NeedsJSON {
		if err := needsJSON(r); err != nil {
			return err
		}
	}
	if route.Produces && !accepts(x.accept, mediaJSON) {
		return &Error{Status: http.StatusNotAcceptable, Detail: "Only application/json is provided"}
	}
	if !route.speaks(x.version.Minor) {
		return route.hidden(r.Method)
	}
	return nil
}

// needsJSON wants the media type exactly as upstream compares it: with its case and up to the first
// semicolon. The answer to a request without a media type is that None is not supported
// (util.require_content).
func needsJSON(r *http.Request) error {
	sent := pyjson.Latin1(strings.Join(r.Header.Values("Content-Type"), ", "))
	media, params, _ := strings.Cut(sent, ";")
	if media == mediaJSON {
		return nil
	}
	if media == "" {
		media = "None"
		sent = media
		if params != "" {
			sent += ";" + params
		}
	}
	return &Error{
		Status:  http.StatusUnsupportedMediaType,
		Detail:  "The media type " + media + " is not supported, use " + mediaJSON,
		content: sent,
	}
}
