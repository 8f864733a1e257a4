package placementapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

func (a *API) traitRoutes() []httpapi.Route {
	const list, one, providers = "/traits", "/traits/{name}", "/resource_providers/{uuid}/traits"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: list, Since: 6, Produces: true, Handle: a.guarded(policyTraitsList, a.listTraits)},
		{Method: http.MethodGet, Pattern: one, Since: 6, Handle: a.guarded(policyTraitsShow, a.getTrait)},
		{Method: http.MethodPut, Pattern: one, Since: 6, Handle: a.guarded(policyTraitsUpdate, a.putTrait)},
		{Method: http.MethodDelete, Pattern: one, Since: 6, Handle: a.guarded(policyTraitsDelete, a.deleteTrait)},
		{
			Method: http.MethodGet, Pattern: providers, Since: 6, Produces: true,
			Handle: a.guarded(policyProviderTraitsList, a.getProviderTraits),
		},
		{
			Method: http.MethodPut, Pattern: providers, Since: 6, NeedsJSON: true,
			Handle: a.guarded(policyProviderTraitsUpdate, a.setProviderTraits),
		},
		{
			Method: http.MethodDelete, Pattern: providers, Since: 6,
			Handle: a.guarded(policyProviderTraitsDelete, a.deleteProviderTraits),
		},
	}
}

// listTraits lists traits, filtered by name and by whether any provider has them. Exists since 1.6.
func (a *API) listTraits(w http.ResponseWriter, r *http.Request) error {
	filter, err := readTraitFilter(r)
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(r.Context())
	if err != nil {
		return err
	}
	// The database may take other names for the same.
	filter.names, err = a.Placement.TraitSpellings(r.Context(), snapshot, filter.names)
	if err != nil {
		return err
	}
	listed := make(map[string]bool, len(filter.names))
	for _, name := range filter.names {
		listed[name] = true
	}
	var list []placement.Named
	for _, t := range snapshot.Traits().List() {
		if (!filter.listed || listed[t.Name]) && filter.pass(snapshot, t) {
			list = append(list, t)
		}
	}
	if filter.listed {
		sortByName(list)
	}
	a.modified(w, r, newestOf(list))
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		writeTraits(j, list)
		j.EndObject()
	})
}

func sortByName(list []placement.Named) {
	slices.SortFunc(list, func(a, b placement.Named) int { return cmp.Compare(a.Name, b.Name) })
}

// A traitFilter selects traits for a listing.
type traitFilter struct {
	pass func(*snapshot.Snapshot, placement.Named) bool
	// listed says that only traits with these names pass. Upstream finds
	// them by an index on the name, and answers in its order.
	listed bool
	names  []string
}

// readTraitFilter decodes the filters: name, "in:A,B" or as in traitNameFilter, and associated,
// "true" or "false" in any case.
func readTraitFilter(r *http.Request) (traitFilter, error) {
	var f traitFilter
	q, err := parseQuery(r, traitsListSchema)
	if err != nil {
		return f, err
	}
	byName := func(*snapshot.Snapshot, string) bool { return true }
	if text, ok := q.last("name"); ok {
		var list string
		if list, f.listed = strings.CutPrefix(text, "in:"); f.listed {
			f.names = strings.Split(list, ",")
		} else if byName, err = traitNameFilter(text); err != nil {
			return f, err
		}
	}
	associated, requested := q.last("associated")
	associated = strings.ToLower(associated)
	if requested && associated != "true" && associated != "false" {
		return f, fault.New(fault.Invalid, "", `The query parameter "associated" only accepts "true" or "false"`)
	}
	f.pass = func(w *snapshot.Snapshot, t placement.Named) bool {
		return byName(w, t.Name) && (!requested || w.TraitAssociated(placement.TraitID(t.ID)) == (associated == "true"))
	}
	return f, nil
}

// traitNameFilter decodes "startswith:PREFIX". Upstream ignores other operators, and passes the
// prefix to LIKE as it is, so that its % and _ are wildcards.
func traitNameFilter(text string) (func(*snapshot.Snapshot, string) bool, error) {
	op, value, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fault.New(fault.Invalid, "",
			"Badly formatted name parameter. Expected name query string parameter in form: "+
				"?name=[in|startswith]:[name1,name2|prefix]. Got: \"%s\"", text)
	}
	if op == "startswith" {
		return func(w *snapshot.Snapshot, name string) bool { return like(name, value+"%", w.FoldsLike()) }, nil
	}
	return func(*snapshot.Snapshot, string) bool { return true }, nil
}

// like matches as SQL's LIKE does: % for any text, _ for any character, letters in
// either case if that is the database's way. Its time is bounded by the
// product of the lengths, whatever the pattern.
func like(text, pattern string, fold bool) bool {
	t, p := 0, 0
	star, resume := -1, 0 // the last % and where its text ended
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '%':
			star, resume = p, t
			p++
		case p < len(pattern) &&
			(pattern[p] == '_' || pattern[p] == text[t] || fold && strings.EqualFold(pattern[p:p+1], text[t:t+1])):
			t++
			p++
		case star >= 0:
			resume++
			t, p = resume, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "%") == ""
}

// newestOf returns the time for Last-Modified, zero for an empty list.
func newestOf(list []placement.Named) time.Time {
	var newest time.Time
	for _, n := range list {
		newest = later(newest, n.Modified)
	}
	return newest
}

// writeTraits writes the member of an answer that lists traits.
func writeTraits(j *httpapi.JSON, list []placement.Named) {
	j.Key("traits")
	j.Array()
	for _, t := range list {
		j.String(t.Name)
	}
	j.EndArray()
}

// getTrait answers 204 if a trait exists, 404 if not. Exists since 1.6.
func (a *API) getTrait(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := a.Placement.Snapshot(r.Context())
	if err != nil {
		return err
	}
	name := httpapi.Param(r, "name")
	t, ok := snapshot.Traits().Named(name)
	if !ok {
		return httpapi.Trapped(placement.ErrNoTrait(name))
	}
	a.modified(w, r, t.Modified)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// putTrait ensures that a custom trait exists: 201 when it was created, 204 when it existed, 400
// for a name without the prefix CUSTOM_ or with other characters. Exists since 1.6.
func (a *API) putTrait(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	name := httpapi.Param(r, "name")
	if err := traitNameSchema.Validate(pyjson.NewString(name)); err != nil {
		return fault.New(fault.Invalid, "", "The trait is invalid. A valid trait must be no longer than 255 characters, "+
			"start with the prefix \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"")
	}
	created, err := a.Placement.EnsureTrait(ctx, name)
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	t, _ := snapshot.Traits().Named(name)
	a.modified(w, r, t.Modified)
	w.Header().Set("Location", httpserver.AbsoluteURL(r, "/traits/"+name))
	w.WriteHeader(createdOrNoContent(created))
	return nil
}

// createdOrNoContent returns the status of a PUT that may be repeated.
func createdOrNoContent(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusNoContent
}

// deleteTrait deletes a custom trait and answers 204: 400 for a standard trait, 409 while a
// provider has it. Exists since 1.6.
func (a *API) deleteTrait(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, httpapi.Trapped(a.Placement.DeleteTrait(r.Context(), httpapi.Param(r, "name"))))
}

// getProviderTraits lists the traits of a provider, with its generation. Exists since 1.6.
func (a *API) getProviderTraits(w http.ResponseWriter, r *http.Request) error {
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return notFound(err, "No resource provider with uuid "+httpapi.Param(r, "uuid")+" found: ")
	}
	list := make([]placement.Named, len(p.Traits))
	for i, id := range p.Traits {
		list[i], _ = snapshot.Traits().Named(snapshot.TraitName(id))
	}
	return a.respondProviderTraits(w, r, list, p.Generation)
}

// setProviderTraits replaces the traits of a provider, which the client's generation guards: 400
// when a trait does not exist. The body is validated before the provider is looked up. Exists since
// 1.6.
func (a *API) setProviderTraits(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := readJSON(r, providerTraitsPutSchema)
	if err != nil {
		return err
	}
	items := member(v, "traits").Items()
	names, seen := make([]string, 0, len(items)), make(map[string]bool, len(items))
	for _, item := range items {
		if name := item.Str(); !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	g, err := a.Placement.SetTraits(ctx, p.UUID, generation(v), names)
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	list := make([]placement.Named, len(names))
	for i, name := range names {
		list[i], _ = snapshot.Traits().Named(name)
	}
	sortByName(list) // the order in which upstream finds them
	return a.respondProviderTraits(w, r, list, g)
}

// deleteProviderTraits removes all traits of a provider and answers 204. Exists since 1.6.
func (a *API) deleteProviderTraits(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, a.Placement.DeleteTraits(r.Context(), placement.UUID(httpapi.Param(r, "uuid"))))
}

// respondProviderTraits answers 200 with the traits of a provider and its generation.
func (a *API) respondProviderTraits(
	w http.ResponseWriter, r *http.Request, list []placement.Named, g placement.Generation,
) error {
	a.modified(w, r, newestOf(list))
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		writeTraits(j, list)
		j.KeyInt("resource_provider_generation", int64(g))
		j.EndObject()
	})
}
