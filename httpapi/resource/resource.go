package resource

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/rows"
)

// byID is the field of the id of every kind that has one.
const byID rows.Field = "id"

// API is what the kinds of objects of an API share.
type API struct {
	Access
	MaxLimit int                                // the most objects in one answer, 0 for any number
	Link     func(*http.Request, string) string // the URL of a path
	NotFound func(kind, id string) error
	SetTags  func(
		ctx context.Context, kind, id string, change func([]string) ([]string, error), only Condition,
	) ([]string, error)
}

// A Resource is one kind of object: its attributes, and what the service does with it. Functions
// that are nil are methods that the kind does not have. T is the object, S its specification: what
// a request may set.
type Resource[T, S any] struct {
	API          API
	Name, Plural string // "network", "networks"
	PolicyName   string // the name in rules, when that is another one
	Path         string // of the list
	Table        []Attribute[T, S]
	ID           func(*T) string

	Core bool // one whose bodies Neutron reads by other code, with other messages

	// Revision is what If-Match compares; nil when the header is ignored.
	Revision func(*S) int64

	OneOnly       bool // POST reads one object only
	NoBulk        bool // POST refuses a list of objects
	PolicyOnly    bool // policy alone hides objects of other projects
	NoPages       bool // limit and marker are ignored
	UnknownMarker MarkerRule

	// Validate refuses references in a body that the caller may not use; nil for none.
	Validate func(context.Context, Body) error
	// TargetOf is the policy target of an object, TargetOfNew that of a new one.
	TargetOf    func(*T) Target
	TargetOfNew func(context.Context, *S) (Target, error)

	List func(context.Context, ...rows.Match) ([]T, error)
	// VisibleTo returns searches that together find at least all objects that concern a project, so
	// that lists do not read those of all others. Without searches, or when it is nil, all objects
	// are read.
	VisibleTo   func(ctx context.Context, project string) ([]rows.Match, error)
	Refine      func([]T, []Filter) []T                // applies filters within objects; nil for none
	StoreFields map[string]rows.Field                  // attributes by which the store can search
	KeyField    rows.Field                             // of the id in the path; byID when empty
	NotFound    func(*http.Request, string) error      // of an id that does not exist; nil for the usual fault
	Parent      func(*http.Request) []rows.Match       // the parent in the path; nil without one
	NewSpec     func(*http.Request, identity.Caller) S // the defaults of a new object
	Create      func(context.Context, []S) ([]T, error)
	Update      func(ctx context.Context, one *T, change func(*S) error) (T, error)
	Delete      func(ctx context.Context, one *T, only Condition) error
}

// Routes returns the routes of the kind.
func (res *Resource[T, S]) Routes() []httpapi.Route {
	one := res.Path + "/{id}"
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: res.Path, Lists: true, Handle: res.getAll},
		{Method: http.MethodGet, Pattern: one, Handle: res.getOne},
	}
	if res.Create != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodPost, Pattern: res.Path, Handle: res.post})
	}
	if res.Update != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodPut, Pattern: one, Handle: res.putOne})
	}
	if res.Delete != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodDelete, Pattern: one, Handle: res.deleteOne})
	}
	routes = append(routes, httpapi.Route{Method: http.MethodPut, Pattern: res.Path, Handle: res.notFound},
		httpapi.Route{Method: http.MethodDelete, Pattern: res.Path, Handle: res.notFound})
	return routes
}

// notFound answers requests to change or remove a list: Neutron searches for an object without an
// id.
func (res *Resource[T, S]) notFound(_ http.ResponseWriter, r *http.Request) error {
	return res.missing(r, "None")
}

// getAll answers with the requested objects that the caller may see.
func (res *Resource[T, S]) getAll(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	l, err := parseListing(res.Table, r)
	if err != nil {
		return err
	}
	l.bound(res.API.MaxLimit)
	all, err := res.listVisible(ctx, append(res.parent(r), res.matches(l.filters)...))
	if err != nil {
		return err
	}
	all = Select(res.Table, all, l.filters)
	if err := ctx.Err(); err != nil {
		return err
	}
	if res.Refine != nil {
		all = res.Refine(all, l.filters)
	}
	all = slices.DeleteFunc(all, func(one T) bool { return !res.IsVisible(ctx, &one) })
	order(res.Table, all, l.sorts)
	if res.NoPages {
		l.limit = 0
	}
	if all, err = res.page(r, all, l); err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.Plural)
		j.Array()
		for i := range all {
			res.Write(ctx, j, &all[i], l.fields)
		}
		j.EndArray()
		if l.limit > 0 {
			j.Key(res.Plural + "_links")
			j.Value(l.links(r, res.API.Link(r, r.URL.Path), res.ids(all)))
		}
		j.EndObject()
	})
}

// listVisible returns the objects that match, at least all of those that the caller may see.
// Objects of other projects are not read where VisibleTo has searches.
func (res *Resource[T, S]) listVisible(ctx context.Context, where []rows.Match) ([]T, error) {
	caller, _ := identity.From(ctx)
	if res.VisibleTo == nil || res.API.IsPrivileged(ctx) || caller.ProjectID == "" {
		return res.List(ctx, where...)
	}
	searches, err := res.VisibleTo(ctx, caller.ProjectID)
	if err != nil {
		return nil, err
	}
	if len(searches) == 0 {
		return res.List(ctx, where...)
	}
	var all []T
	for _, s := range searches {
		part, err := res.List(ctx, append(where[:len(where):len(where)], s)...)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	if len(searches) == 1 {
		return all, nil
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(res.ID(&a), res.ID(&b)) })
	return slices.CompactFunc(all, func(a, b T) bool { return res.ID(&a) == res.ID(&b) }), nil
}

// parent is the search for the objects below the parent in the path.
func (res *Resource[T, S]) parent(r *http.Request) []rows.Match {
	if res.Parent == nil {
		return nil
	}
	return res.Parent(r)
}

func (res *Resource[T, S]) ids(all []T) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = res.ID(&all[i])
	}
	return ids
}

// matches returns the filters that the store can use.
func (res *Resource[T, S]) matches(filters []Filter) []rows.Match {
	var where []rows.Match
	for _, f := range filters {
		if field, ok := res.StoreFields[f.Name]; ok {
			where = append(where, rows.Where(field, Find(res.Table, f.Name).stored(f.Values)...))
		}
	}
	return where
}

// getOne answers with one object.
func (res *Resource[T, S]) getOne(w http.ResponseWriter, r *http.Request) error {
	if _, err := ParseCondition(r); err != nil {
		return err
	}
	one, err := res.Visible(r)
	if err != nil {
		return err
	}
	return res.Respond(w, r, http.StatusOK, &one, SetOf(r.URL.Query()["fields"]))
}

// Visible returns the object that the path names. One that the caller may not see does not exist
// for the caller.
func (res *Resource[T, S]) Visible(r *http.Request) (one T, err error) {
	if one, err = res.find(r); err == nil && res.API.Allow(r.Context(), "get_"+res.policyName(), res.Target(&one)) != nil {
		err = notFound()
	}
	return one, err
}

// find returns the object that the path names. One that does not concern the caller's project does
// not exist for the caller.
func (res *Resource[T, S]) find(r *http.Request) (one T, err error) {
	ctx, id := r.Context(), httpapi.Param(r, "id")
	all, err := res.List(ctx, append(res.parent(r), rows.Where(cmp.Or(res.KeyField, byID), id))...)
	if err != nil {
		return one, err
	}
	if len(all) == 0 || !res.concerns(ctx, res.TargetOf(&all[0])) {
		return one, res.missing(r, id)
	}
	return all[0], nil
}

// IsVisible reports whether the caller may know of an object: it is the project's, or
// shared, or on a network of the project's, and policy does not hide it.
func (res *Resource[T, S]) IsVisible(ctx context.Context, one *T) bool {
	t := res.Target(one)
	return res.concerns(ctx, t) && res.API.Allow(ctx, "get_"+res.policyName(), t) == nil
}

// concerns reports whether an object concerns the caller's project, or the caller is privileged.
func (res *Resource[T, S]) concerns(ctx context.Context, t Target) bool {
	return res.PolicyOnly || res.API.IsPrivileged(ctx) || t.Concerns(ctx)
}

// Target is the policy target of an object, with all of its attributes.
func (res *Resource[T, S]) Target(one *T) Target {
	t := res.TargetOf(one)
	t.attribute = func(name string) (string, bool) {
		a := Find(res.Table, name)
		if a == nil || a.Show == nil || a.ShownIf != nil && !a.ShownIf(one) {
			return "", false
		}
		return pyjson.Str(a.Show(one)), true
	}
	return t
}

// mask is the error of a denial: to a caller who may not even see the object it does not exist.
func (res *Resource[T, S]) mask(ctx context.Context, t Target, err error) error {
	if denied(err) && res.API.Allow(ctx, "get_"+res.policyName(), t) != nil {
		return notFound()
	}
	return err
}

// policyName is the name of the kind in rules.
func (res *Resource[T, S]) policyName() string { return cmp.Or(res.PolicyName, res.Name) }

// missing is the fault of an object that does not exist.
func (res *Resource[T, S]) missing(r *http.Request, id string) error {
	if res.NotFound != nil {
		return res.NotFound(r, id)
	}
	return res.API.NotFound(res.Name, id)
}

// post creates one object or several.
func (res *Resource[T, S]) post(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := res.API.possible(ctx, "create_"+res.policyName()); err != nil {
		return err
	}
	items, bulk, err := res.Bodies(r, true)
	if err != nil {
		return err
	}
	specs := make([]S, len(items))
	for i, item := range items {
		if specs[i], err = res.newSpec(r, item); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // the client has disconnected
			return err
		}
	}
	all, err := res.Create(ctx, specs)
	if err != nil {
		return err
	}
	if !bulk {
		return res.Respond(w, r, http.StatusCreated, &all[0], nil)
	}
	return httpapi.Respond(w, http.StatusCreated, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.Plural)
		j.Array()
		for i := range all {
			res.Write(ctx, j, &all[i], nil)
		}
		j.EndArray()
		j.EndObject()
	})
}

// newSpec converts the body of a POST to a spec, if policy allows it.
func (res *Resource[T, S]) newSpec(r *http.Request, b Body) (S, error) {
	ctx := r.Context()
	caller, _ := identity.From(ctx)
	s := res.NewSpec(r, caller)
	Apply(res.Table, b, &s)
	t, err := res.TargetOfNew(ctx, &s)
	if err != nil {
		return s, err
	}
	t.attribute = func(name string) (string, bool) {
		v, given := b.Values[name]
		if a := Find(res.Table, name); !given && a != nil && a.Use&Post != 0 {
			v, given = a.Default, a.Default.Kind() != pyjson.Null
		}
		return pyjson.Str(v), given
	}
	if err := res.permit(ctx, "create_"+res.policyName(), t, b, true); err != nil {
		return s, err
	}
	return s, res.validate(ctx, b)
}

// permit checks the rule of an action and those of the attributes that the body sets, all of which
// must allow it. The text of the refusal is upstream's, which is the combination of the rules.
func (res *Resource[T, S]) permit(ctx context.Context, action string, t Target, b Body, creating bool) error {
	text, err := "rule:"+action, res.API.Allow(ctx, action, t)
	for i := range res.Table {
		a := &res.Table[i]
		v, ok := b.Values[a.Name]
		if a.Use&Guarded == 0 || !ok || creating && Equal(v, a.Default) {
			continue
		}
		part, refused := res.API.AllowAttribute(ctx, action+":"+a.Name, v, a.NestedPolicy, t)
		text, err = "("+text+" and "+part+")", cmp.Or(err, refused)
	}
	if err != nil && denied(err) {
		return fault.New(fault.Denied, codeForbidden, "%s is disallowed by policy", text)
	}
	return err
}

// validate refuses what a body names that the caller may not use.
func (res *Resource[T, S]) validate(ctx context.Context, b Body) error {
	if res.Validate == nil {
		return nil
	}
	return res.Validate(ctx, b)
}

// putOne changes an object.
func (res *Resource[T, S]) putOne(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	only, err := ParseCondition(r)
	if err != nil {
		return err
	}
	if err := res.API.possible(ctx, "update_"+res.policyName()); err != nil {
		one, missing := res.find(r)
		if missing != nil {
			return missing
		}
		return res.mask(ctx, res.Target(&one), err)
	}
	items, _, err := res.Bodies(r, false)
	if err != nil {
		return err
	}
	one, err := res.find(r)
	if err != nil {
		return err
	}
	t := res.Target(&one).changed(items[0])
	if err := res.permit(ctx, "update_"+res.policyName(), t, items[0], false); err != nil {
		return res.mask(ctx, t, err)
	}
	if err := res.validate(ctx, items[0]); err != nil {
		return err
	}
	if len(items[0].names) == 0 { // the request changes nothing
		return res.Respond(w, r, http.StatusOK, &one, nil)
	}
	one, err = res.Update(ctx, &one, func(s *S) error {
		if res.Revision != nil {
			if err := only.Check(res.Revision(s)); err != nil {
				return err
			}
		}
		Apply(res.Table, items[0], s)
		return nil
	})
	if err != nil {
		return err
	}
	return res.Respond(w, r, http.StatusOK, &one, nil)
}

// deleteOne removes an object.
func (res *Resource[T, S]) deleteOne(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	only, err := ParseCondition(r)
	if err != nil {
		return err
	}
	if hasBody(r) {
		return BadRequest("Request body is not supported in DELETE.")
	}
	one, err := res.find(r)
	if err != nil {
		return err
	}
	t := res.Target(&one)
	if err := res.API.Allow(ctx, "delete_"+res.policyName(), t); err != nil {
		return res.mask(ctx, t, err)
	}
	if err := res.Delete(ctx, &one, only); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// hasBody reports whether a request has a body, and reads at most a byte of one whose length is
// unknown.
func hasBody(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength > 0
	}
	n, _ := io.ReadFull(r.Body, make([]byte, 1))
	return n > 0
}

// Respond answers with one object.
func (res *Resource[T, S]) Respond(
	w http.ResponseWriter, r *http.Request, status int, one *T, fields map[string]bool,
) error {
	return httpapi.Respond(w, status, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.Name)
		res.Write(r.Context(), j, one, fields)
		j.EndObject()
	})
}

// Write writes the requested attributes of an object that the caller may see. The others are not
// computed. Neutron computes all and removes some: _exclude_attributes_by_policy.
func (res *Resource[T, S]) Write(ctx context.Context, j *httpapi.JSON, one *T, fields map[string]bool) {
	t := res.Target(one)
	j.Object()
	for i := range res.Table {
		a := &res.Table[i]
		if a.Show == nil || a.ShownIf != nil && !a.ShownIf(one) || len(fields) > 0 && !fields[a.Name] ||
			!res.API.mayRead(ctx, res.policyName(), a.Name, t) {
			continue
		}
		j.Key(a.Name)
		j.Value(a.Show(one))
	}
	j.EndObject()
}

// denied reports whether an error is policy's.
func denied(err error) bool {
	kind, _ := fault.Of(err)
	return kind == fault.Denied
}

// PutNothing answers requests to change an object without changeable attributes.
func (res *Resource[T, S]) PutNothing(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.BoundBody(w, r, MaxIgnoredBody); err != nil {
		return err
	}
	if _, _, err := res.Bodies(r, false); err != nil {
		return err
	}
	one, err := res.Visible(r)
	if err != nil {
		return err
	}
	return res.Respond(w, r, http.StatusOK, &one, nil)
}
