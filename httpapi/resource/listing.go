package resource

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/rows"
)

// A listing is the parsed query string of a list.
type listing struct {
	fields  map[string]bool // attributes to show; none means all
	filters []Filter
	sorts   []sortBy
	limit   int // 0 for none
	marker  string
	reverse bool
	query   url.Values
}

// A Filter keeps the objects of which an attribute has one of the values.
type Filter struct {
	Name   string
	Values []string
}

// A sortBy is one attribute to sort by.
type sortBy struct {
	name string
	down bool
}

// Reserved are the names in a query that are no attributes.
var Reserved = []string{"fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse"}

// parseListing reads a query string against a table, as Neutron's api_common.py does.
func parseListing[T, S any](table []Attribute[T, S], r *http.Request) (l listing, err error) {
	l.query = r.URL.Query()
	l.fields = SetOf(l.query["fields"])
	if l.filters, err = ParseFilters(table, r.URL.RawQuery); err != nil {
		return l, err
	}
	if l.sorts, err = parseSorts(table, l.query); err != nil {
		return l, err
	}
	l.marker = l.query.Get("marker")
	l.reverse = strings.EqualFold(l.query.Get("page_reverse"), "true")
	if text := l.query.Get("limit"); text != "" {
		if l.limit, err = strconv.Atoi(text); err != nil || l.limit < 0 {
			return l, badLimit(text)
		}
	}
	return l, nil
}

// bound makes a page of a list that may have so many objects at most, 0 for any number.
func (l *listing) bound(most int) {
	if most > 0 && (l.limit == 0 || l.limit > most) {
		l.limit = most
	}
}

// given removes empty values.
func given(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}

// ParseFilters parses the attributes of a query in their order, as get_filters_from_dict does.
// Project and tenant are one.
func ParseFilters[T, S any](table []Attribute[T, S], raw string) ([]Filter, error) {
	var all []Filter
	var unknown []string
	reported := map[string]bool{}
	for pair := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		text, err2 := url.QueryUnescape(value)
		if cmp.Or(err, err2) != nil || name == "" || slices.Contains(Reserved, name) {
			continue
		}
		switch a := Find(table, name); {
		case a == nil || a.Use&Filterable == 0:
			if !reported[name] {
				reported[name] = true
				unknown = append(unknown, name)
			}
		case a.KeyValue && !strings.Contains(text, "="):
			return nil, InvalidInput("'%s' is not of the form <key>=[value]", text)
		default:
			if all, err = addFilter(all, a.Name, a.Convert, text); err != nil {
				return nil, err
			}
		}
	}
	if len(unknown) > 0 {
		return nil, BadRequest("%s is invalid attribute for filtering", pyjson.Str(pyjson.Of(unknown)))
	}
	return all, nil
}

// addFilter adds one more value that an attribute may have.
func addFilter(all []Filter, name string, to Converter, text string) ([]Filter, error) {
	if to != nil {
		v, err := to(pyjson.NewString(text))
		if err != nil {
			return nil, err
		}
		text = pyjson.Str(v)
	}
	for i := range all {
		if all[i].Name == name {
			all[i].Values = append(all[i].Values, text)
			return all, nil
		}
	}
	return append(all, Filter{name, []string{text}}), nil
}

// Find returns the attribute of a name, nil when there is none.
func Find[T, S any](table []Attribute[T, S], name string) *Attribute[T, S] {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

func parseSorts[T, S any](table []Attribute[T, S], q url.Values) ([]sortBy, error) {
	keys, dirs := given(q["sort_key"]), given(q["sort_dir"])
	if len(keys) != len(dirs) {
		return nil, BadRequest("The number of sort_keys and sort_dirs must be same")
	}
	var unknown, odd []string
	var sorts []sortBy
	seen := map[string]bool{}
	for i, key := range keys {
		if a := Find(table, key); a == nil || a.Use&Sortable == 0 {
			unknown = append(unknown, key)
		}
		if dirs[i] != "asc" && dirs[i] != "desc" {
			odd = append(odd, dirs[i])
		}
		if !seen[key] { // a repeated key counts where it is first
			seen[key] = true
			sorts = append(sorts, sortBy{key, dirs[i] == "desc"})
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, BadRequest("%s is invalid attribute for sort_keys", pyjson.Str(pyjson.Of(unknown)))
	case len(odd) > 0:
		return nil, BadRequest("%s is invalid value for sort_dirs, valid value is 'asc' and 'desc'",
			pyjson.Str(pyjson.Of(odd)))
	}
	return sorts, nil
}

// badLimit is upstream's answer to a limit that is none.
func badLimit(text string) error {
	return NewFault("BadRequest", "Bad limit request: Limit must be an integer 0 or greater and not '%s'.", text)
}

// Select returns the objects of a list that pass all filters.
func Select[T, S any](table []Attribute[T, S], all []T, filters []Filter) []T {
	for _, f := range filters {
		passes := Find(table, f.Name).passes(f.Values)
		all = slices.DeleteFunc(all, func(one T) bool { return !passes(&one) })
	}
	return all
}

// passes returns the predicate of objects that have one of the values.
func (a *Attribute[T, S]) passes(values []string) func(*T) bool {
	if a.Filter != nil {
		return a.Filter(values)
	}
	valid := SetOf(values)
	return func(one *T) bool { return valid[pyjson.Str(a.Show(one))] }
}

// AcceptAll is a filter that is accepted, and does not filter.
func AcceptAll[T any]([]string) func(*T) bool { return func(*T) bool { return true } }

// SetOf returns a list as a set, which is empty and nil for an empty one.
func SetOf(list []string) map[string]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// stored returns the forms of values in the store.
func (a *Attribute[T, S]) stored(values []string) []string {
	if a.StoredForms == nil {
		return values
	}
	var all []string
	for _, v := range values {
		all = append(all, a.StoredForms(v)...)
	}
	return all
}

// order sorts a list by the requested keys and then by id, which is the order of pages.
func order[T, S any](table []Attribute[T, S], all []T, sorts []sortBy) {
	sorts = slices.DeleteFunc(append(slices.Clone(sorts), sortBy{name: "id"}), func(s sortBy) bool {
		return Find(table, s.name) == nil
	})
	by := make([]*Attribute[T, S], len(sorts))
	for i, s := range sorts {
		by[i] = Find(table, s.name)
	}
	slices.SortStableFunc(all, func(x, y T) int {
		for i, s := range sorts {
			a := by[i]
			c := compare(a.Show(&x), a.Show(&y))
			if s.down {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
}

// compare orders values of one kind; null comes first.
func compare(v, w pyjson.Value) int {
	switch {
	case v.Kind() == pyjson.Null || w.Kind() == pyjson.Null:
		return cmp.Compare(v.Kind(), w.Kind())
	case v.IsNumber() && w.IsNumber():
		return cmp.Compare(v.Float64(), w.Float64())
	}
	return strings.Compare(pyjson.Str(v), pyjson.Str(w))
}

// MarkerRule says what a page is that begins at an object which does not exist, or that the
// caller does not see.
type MarkerRule int

const (
	IgnoreMarker MarkerRule = iota // the page begins where the list does
	RefuseMarker                   // the request is refused
	EndAtMarker                    // the page is empty
)

// page returns the requested part of a sorted list. Its marker may be an object that the filters
// exclude.
func (res *Resource[T, S]) page(r *http.Request, all []T, l listing) ([]T, error) {
	isMarker := func(one T) bool { return res.ID(&one) == l.marker }
	if l.limit > 0 && l.marker != "" && !slices.ContainsFunc(all, isMarker) {
		marked, err := res.List(r.Context(), append(res.parent(r), rows.Where(cmp.Or(res.KeyField, byID), l.marker))...)
		switch {
		case err != nil:
			return nil, err
		case len(marked) > 0 && res.IsVisible(r.Context(), &marked[0]):
			all = append(all, marked[0])
			order(res.Table, all, l.sorts)
		case res.UnknownMarker == RefuseMarker:
			return nil, res.missing(r, l.marker)
		case res.UnknownMarker == EndAtMarker:
			return nil, nil
		default:
			l.marker = ""
		}
	}
	return page(all, l, res.ID), nil
}

// page returns the requested part of a sorted list. Its marker is in the list, and is not part of
// the page.
func page[T any](all []T, l listing, id func(*T) string) []T {
	if l.limit == 0 {
		return all
	}
	at := 0
	if l.reverse {
		at = len(all)
	}
	if l.marker != "" {
		at = slices.IndexFunc(all, func(one T) bool { return id(&one) == l.marker })
		if !l.reverse {
			at++
		}
	}
	if l.reverse {
		return all[max(at-l.limit, 0):at]
	}
	return all[at:min(at+l.limit, len(all))]
}

// links are those to the pages before and after: the request, whose URL is page, with another
// marker. As in get_pagination_links, a page that is not full has no next one, unless the list is
// read in reverse.
func (l listing) links(r *http.Request, page string, ids []string) pyjson.Value {
	var kept []string
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != "marker" && name != "page_reverse" {
			kept = append(kept, pair)
		}
	}
	link := func(rel string, more ...string) pyjson.Value {
		query := strings.Join(append(slices.Clone(kept), more...), "&")
		return pyjson.NewObject(pyjson.M("rel", rel), pyjson.M("href", page+"?"+query))
	}
	var next, previous []string
	if len(ids) > 0 {
		next = []string{"marker=" + url.QueryEscape(ids[len(ids)-1])}
		previous = []string{"marker=" + url.QueryEscape(ids[0])}
	}
	var all []pyjson.Value
	full := len(ids) >= l.limit
	if full || l.reverse {
		all = append(all, link("next", next...))
	}
	if full || !l.reverse {
		all = append(all, link("previous", append(previous, "page_reverse=True")...))
	}
	return pyjson.NewArray(all...)
}
