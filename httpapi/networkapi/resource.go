package networkapi

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
	"github.com/berthcloud/berth/network"
)

// A resource is one kind of object: its attributes, and what the service does
// with it. Functions that are nil are methods that the kind does not have. T is
// the object, S what callers may say of it.
type resource[T, S any] struct {
	api          *API
	name, plural string // "network", "networks"
	rule         string // what rules call it, when that is another name
	path         string // of the list
	table        []attribute[T, S]
	id           func(*T) string

	// common finds what of a spec If-Match is about; nil when it means nothing.
	common func(*S) *network.Common

	single  bool // POST reads one object only
	notBulk bool // POST refuses a list of objects
	open    bool // policy alone hides objects of other projects
	noPages bool // limit and marker mean nothing
	marker  markers

	// vet refuses what a body names that the caller may not use; nil for none.
	vet func(context.Context, body) error
	// target is the policy target of an object; made is that of a new one.
	target func(*T) target
	made   func(context.Context, *S) (target, error)

	list func(context.Context, ...network.Match) ([]T, error)
	// near returns searches that together find all objects that have to do with a project, as isNear of their targets says; nil, as no
	// searches: all are read for that.
	near   func(ctx context.Context, project string) ([]network.Match, error)
	refine func([]T, []filterBy) []T              // what filters do besides excluding objects; nil for nothing
	where  map[string]network.Field               // attributes that the store looks for
	key    network.Field                          // of the id in the path; ByID when empty
	absent func(*http.Request, network.ID) error  // of an id that does not exist; nil for the usual fault
	within func(*http.Request) []network.Match    // what the path says of the parent; nil without one
	start  func(*http.Request, identity.Caller) S // what a request adds to
	create func(context.Context, []S) ([]T, error)
	update func(ctx context.Context, one *T, change func(*S) error) (T, error)
	remove func(ctx context.Context, one *T, only network.Condition) error
}

// routes returns the routes of the kind.
func (res *resource[T, S]) routes() []httpapi.Route {
	one := res.path + "/{id}"
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: res.path, Lists: true, Handle: res.getAll},
		{Method: http.MethodGet, Pattern: one, Handle: res.getOne},
	}
	if res.create != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodPost, Pattern: res.path, Handle: res.post})
	}
	if res.update != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodPut, Pattern: one, Handle: res.putOne})
	}
	if res.remove != nil {
		routes = append(routes, httpapi.Route{Method: http.MethodDelete, Pattern: one, Handle: res.deleteOne})
	}
	routes = append(routes, httpapi.Route{Method: http.MethodPut, Pattern: res.path, Handle: res.notFound},
		httpapi.Route{Method: http.MethodDelete, Pattern: res.path, Handle: res.notFound})
	return routes
}

// notFound answers requests to change or remove a list: Neutron looks for an object without an id.
func (res *resource[T, S]) notFound(_ http.ResponseWriter, r *http.Request) error {
	return res.missing(r, "None")
}

// getAll answers with the requested objects that the caller may see.
func (res *resource[T, S]) getAll(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	l, err := parseListing(res.table, r)
	if err != nil {
		return err
	}
	l.bound(res.api.MaxLimit)
	all, err := res.listNear(ctx, append(res.parent(r), res.matches(l.filters)...))
	if err != nil {
		return err
	}
	all = narrow(res.table, all, l.filters)
	if err := ctx.Err(); err != nil {
		return err
	}
	if res.refine != nil {
		all = res.refine(all, l.filters)
	}
	all = slices.DeleteFunc(all, func(one T) bool { return !res.sees(ctx, &one) })
	order(res.table, all, l.sorts)
	if res.noPages {
		l.limit = 0
	}
	if all, err = res.page(r, all, l); err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.plural)
		j.Array()
		for i := range all {
			res.write(ctx, j, &all[i], l.fields)
		}
		j.EndArray()
		if l.limit > 0 {
			j.Key(res.plural + "_links")
			j.Value(l.links(r, res.api.link(r, r.URL.Path), res.ids(all)))
		}
		j.EndObject()
	})
}

// listNear returns the objects that match, of those that the caller may know of at least all: those of other projects are not read
// where a search can tell.
func (res *resource[T, S]) listNear(ctx context.Context, where []network.Match) ([]T, error) {
	caller, _ := identity.From(ctx)
	if res.near == nil || res.api.is(ctx) || caller.ProjectID == "" {
		return res.list(ctx, where...)
	}
	searches, err := res.near(ctx, caller.ProjectID)
	if err != nil {
		return nil, err
	}
	if len(searches) == 0 {
		return res.list(ctx, where...)
	}
	var all []T
	for _, s := range searches {
		part, err := res.list(ctx, append(where[:len(where):len(where)], s)...)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	if len(searches) == 1 {
		return all, nil
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(res.id(&a), res.id(&b)) })
	return slices.CompactFunc(all, func(a, b T) bool { return res.id(&a) == res.id(&b) }), nil
}

// ofProject finds objects that have to do with their own project alone.
func ofProject(_ context.Context, project string) ([]network.Match, error) {
	return []network.Match{network.Where(network.ByProject, project)}, nil
}

// ofProjectOrAll finds objects that have to do with their own project, or with all.
func ofProjectOrAll(_ context.Context, project string) ([]network.Match, error) {
	return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByOpenTo, network.AllProjects)}, nil
}

// ifShown finds all objects of a kind that only policy hides, and none for a caller to whom no target would be shown.
func (a *API) ifShown(rule string) func(context.Context, string) ([]network.Match, error) {
	return func(ctx context.Context, _ string) ([]network.Match, error) {
		caller, _ := identity.From(ctx)
		if a.Policy.Possible(caller, rule) {
			return nil, nil
		}
		return []network.Match{network.Where[network.ID](network.ByID)}, nil
	}
}

// parent is what the path says of where the objects are.
func (res *resource[T, S]) parent(r *http.Request) []network.Match {
	if res.within == nil {
		return nil
	}
	return res.within(r)
}

func (res *resource[T, S]) ids(all []T) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = res.id(&all[i])
	}
	return ids
}

// matches returns the filters that the store can use.
func (res *resource[T, S]) matches(filters []filterBy) []network.Match {
	var where []network.Match
	for _, f := range filters {
		if field, ok := res.where[f.name]; ok {
			where = append(where, network.Where(field, find(res.table, f.name).stored(f.values)...))
		}
	}
	return where
}

// getOne answers with one object.
func (res *resource[T, S]) getOne(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseCondition(r); err != nil {
		return err
	}
	one, err := res.visible(r)
	if err != nil {
		return err
	}
	return res.respond(w, r, http.StatusOK, &one, setOf(r.URL.Query()["fields"]))
}

// visible returns the object that the path names, unless the caller may not see
// it, which looks as if it did not exist.
func (res *resource[T, S]) visible(r *http.Request) (one T, err error) {
	if one, err = res.found(r); err == nil && res.api.allow(r.Context(), "get_"+res.ruled(), res.about(&one)) != nil {
		err = notFound()
	}
	return one, err
}

// found returns the object that the path names, unless the caller's project has nothing
// to do with it, which looks as if it did not exist.
func (res *resource[T, S]) found(r *http.Request) (one T, err error) {
	ctx, id := r.Context(), httpapi.Param(r, "id")
	all, err := res.list(ctx, append(res.parent(r), network.Where(cmp.Or(res.key, network.ByID), id))...)
	if err != nil {
		return one, err
	}
	if len(all) == 0 || !res.isNear(ctx, res.target(&all[0])) {
		return one, res.missing(r, network.ID(id))
	}
	return all[0], nil
}

// sees reports whether the caller may know of an object: it is the project's, or
// shared, or on a network of the project's, and policy does not hide it.
func (res *resource[T, S]) sees(ctx context.Context, one *T) bool {
	t := res.about(one)
	return res.isNear(ctx, t) && res.api.allow(ctx, "get_"+res.ruled(), t) == nil
}

// isNear reports whether an object has to do with the caller's project, or the
// caller with all.
func (res *resource[T, S]) isNear(ctx context.Context, t target) bool {
	return res.open || res.api.is(ctx) || t.isNear(ctx)
}

// about is the target of an object, with all of its attributes.
func (res *resource[T, S]) about(one *T) target {
	t := res.target(one)
	t.attribute = func(name string) (string, bool) {
		a := find(res.table, name)
		if a == nil || a.show == nil || a.shownIf != nil && !a.shownIf(one) {
			return "", false
		}
		return pyjson.Str(a.show(one)), true
	}
	return t
}

// hidden is the error of a denial: to a caller who may not even see the object it does not exist.
func (res *resource[T, S]) hidden(ctx context.Context, t target, err error) error {
	if denied(err) && res.api.allow(ctx, "get_"+res.ruled(), t) != nil {
		return notFound()
	}
	return err
}

// ruled is what rules call the kind.
func (res *resource[T, S]) ruled() string { return cmp.Or(res.rule, res.name) }

// missing is the fault of an object that does not exist.
func (res *resource[T, S]) missing(r *http.Request, id network.ID) error {
	if res.absent != nil {
		return res.absent(r, id)
	}
	return network.NotFound(res.name, id)
}

// post makes one object or several.
func (res *resource[T, S]) post(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := res.api.possible(ctx, "create_"+res.ruled()); err != nil {
		return err
	}
	items, bulk, err := res.bodies(r, true)
	if err != nil {
		return err
	}
	specs := make([]S, len(items))
	for i, item := range items {
		if specs[i], err = res.draft(r, item); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // the client has disconnected
			return err
		}
	}
	all, err := res.create(ctx, specs)
	if err != nil {
		return err
	}
	if !bulk {
		return res.respond(w, r, http.StatusCreated, &all[0], nil)
	}
	return httpapi.Respond(w, http.StatusCreated, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.plural)
		j.Array()
		for i := range all {
			res.write(ctx, j, &all[i], nil)
		}
		j.EndArray()
		j.EndObject()
	})
}

// draft converts the body of a POST to a spec, if policy allows it.
func (res *resource[T, S]) draft(r *http.Request, b body) (S, error) {
	ctx := r.Context()
	caller, _ := identity.From(ctx)
	s := res.start(r, caller)
	apply(res.table, b, &s)
	t, err := res.made(ctx, &s)
	if err != nil {
		return s, err
	}
	t.attribute = func(name string) (string, bool) {
		v, given := b.values[name]
		if a := find(res.table, name); !given && a != nil && a.use&post != 0 {
			v, given = a.usual, a.usual.Kind() != pyjson.Null
		}
		return pyjson.Str(v), given
	}
	if err := res.permit(ctx, "create_"+res.ruled(), t, b, true); err != nil {
		return s, err
	}
	return s, res.vetted(ctx, b)
}

// permit checks the rule of an action and those of the attributes that the body sets, all of which
// must allow it. The text of the refusal is upstream's, which is the combination of the rules.
func (res *resource[T, S]) permit(ctx context.Context, action string, t target, b body, creating bool) error {
	text, err := "rule:"+action, res.api.allow(ctx, action, t)
	for i := range res.table {
		a := &res.table[i]
		v, ok := b.values[a.name]
		if a.use&guarded == 0 || !ok || creating && equal(v, a.usual) {
			continue
		}
		part, refused := res.api.allowAttribute(ctx, action+":"+a.name, v, a.parts, t)
		text, err = "("+text+" and "+part+")", cmp.Or(err, refused)
	}
	if err != nil && denied(err) {
		return fault.New(fault.Denied, codeForbidden, "%s is disallowed by policy", text)
	}
	return err
}

// vetted refuses what a body names that the caller may not use.
func (res *resource[T, S]) vetted(ctx context.Context, b body) error {
	if res.vet == nil {
		return nil
	}
	return res.vet(ctx, b)
}

// putOne changes an object.
func (res *resource[T, S]) putOne(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	only, err := parseCondition(r)
	if err != nil {
		return err
	}
	if err := res.api.possible(ctx, "update_"+res.ruled()); err != nil {
		one, missing := res.found(r)
		if missing != nil {
			return missing
		}
		return res.hidden(ctx, res.about(&one), err)
	}
	items, _, err := res.bodies(r, false)
	if err != nil {
		return err
	}
	one, err := res.found(r)
	if err != nil {
		return err
	}
	t := res.about(&one).changed(items[0])
	if err := res.permit(ctx, "update_"+res.ruled(), t, items[0], false); err != nil {
		return res.hidden(ctx, t, err)
	}
	if err := res.vetted(ctx, items[0]); err != nil {
		return err
	}
	if len(items[0].names) == 0 { // the request changes nothing
		return res.respond(w, r, http.StatusOK, &one, nil)
	}
	one, err = res.update(ctx, &one, func(s *S) error {
		if res.common != nil {
			if err := only.check(res.common(s)); err != nil {
				return err
			}
		}
		apply(res.table, items[0], s)
		return nil
	})
	if err != nil {
		return err
	}
	return res.respond(w, r, http.StatusOK, &one, nil)
}

// deleteOne removes an object.
func (res *resource[T, S]) deleteOne(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	only, err := parseCondition(r)
	if err != nil {
		return err
	}
	if hasBody(r) {
		return badRequest("Request body is not supported in DELETE.")
	}
	one, err := res.found(r)
	if err != nil {
		return err
	}
	t := res.about(&one)
	if err := res.api.allow(ctx, "delete_"+res.ruled(), t); err != nil {
		return res.hidden(ctx, t, err)
	}
	if err := res.remove(ctx, &one, only.check); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// hasBody reports whether a request has a body, and reads at most a byte of one whose length is unknown.
func hasBody(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength > 0
	}
	n, _ := io.ReadFull(r.Body, make([]byte, 1))
	return n > 0
}

// respond answers with one object.
func (res *resource[T, S]) respond(w http.ResponseWriter, r *http.Request, status int, one *T, fields map[string]bool) error {
	return httpapi.Respond(w, status, func(j *httpapi.JSON) {
		j.Object()
		j.Key(res.name)
		res.write(r.Context(), j, one, fields)
		j.EndObject()
	})
}

// write writes the requested attributes of an object that the caller may see. The others are not
// computed.
func (res *resource[T, S]) write(ctx context.Context, j *httpapi.JSON, one *T, fields map[string]bool) {
	t := res.about(one)
	j.Object()
	for i := range res.table {
		a := &res.table[i]
		if a.show == nil || a.shownIf != nil && !a.shownIf(one) || len(fields) > 0 && !fields[a.name] || !res.api.mayRead(ctx, res.ruled(), a.name, t) {
			continue
		}
		j.Key(a.name)
		j.Value(a.show(one))
	}
	j.EndObject()
}

// denied reports whether an error is policy's.
func denied(err error) bool {
	kind, _ := fault.Of(err)
	return kind == fault.Denied
}
