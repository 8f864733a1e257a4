package placementapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

func (a *API) providerRoutes() []httpapi.Route {
	const list, one = "/resource_providers", "/resource_providers/{uuid}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: list, Produces: true, Handle: a.guarded(policyProvidersList, a.listProviders)},
		{Method: http.MethodPost, Pattern: list, NeedsJSON: true, Handle: a.guarded(policyProvidersCreate, a.createProvider)},
		{Method: http.MethodGet, Pattern: one, Produces: true, Handle: a.guarded(policyProvidersShow, a.getProvider)},
		{Method: http.MethodDelete, Pattern: one, Handle: a.guarded(policyProvidersDelete, a.deleteProvider)},
		{Method: http.MethodPut, Pattern: one, NeedsJSON: true, Handle: a.guarded(policyProvidersUpdate, a.updateProvider)},
	}
}

// listProviders lists the providers that match all filters.
//
// 1.3 has the filter member_of, 1.4 resources, 1.14 in_tree, 1.18 required; 1.22 has forbidden
// traits, 1.24 repeated member_of, 1.32 forbidden aggregates, 1.39 any-traits and repeated
// required.
func (a *API) listProviders(w http.ResponseWriter, r *http.Request) error {
	f, err := providerFilter(r)
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(r.Context())
	if err != nil {
		return err
	}
	if f.Name, err = a.Placement.ProviderSpelling(r.Context(), snapshot, f.Name); err != nil {
		return err
	}
	list, err := snapshot.Providers(f)
	if err != nil {
		return err
	}
	var newest time.Time
	for _, p := range list {
		newest = later(newest, p.Modified.Time())
	}
	a.modified(w, r, newest)
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("resource_providers")
		j.Array()
		for _, p := range list {
			writeProvider(j, p.Tree.Info(p.Provider), minor(r))
		}
		j.EndArray()
		j.EndObject()
	})
}

// providerFilter decodes the filters of a listing. Of repeated parameters that may not be repeated
// the last counts.
func providerFilter(r *http.Request) (snapshot.ProviderFilter, error) {
	var f snapshot.ProviderFilter
	q, err := parseQuery(r, providersListSchemas.at(minor(r)))
	if err != nil {
		return f, err
	}
	if f.MemberOf, f.NotMemberOf, err = q.memberOf(""); err != nil {
		return f, err
	}
	if f.Required, f.Forbidden, err = q.traits(""); err != nil {
		return f, err
	}
	if text, ok := q.last("resources"); ok {
		if f.Resources, err = parseResources(text); err != nil {
			return f, err
		}
	}
	f.UUID = placement.UUID(q.lastOrEmpty("uuid"))
	f.Name = q.lastOrEmpty("name")
	f.InTree = placement.UUID(q.lastOrEmpty("in_tree"))
	return f, nil
}

// createProvider creates a provider with the client's UUID or a new one. 409 when the name (with
// the code placement.duplicate_name) or the UUID exists, 400 when the parent does not.
//
// 1.14 has the parent. Before 1.20 the answer is 201 with a Location only, since then 200 with the
// provider.
func (a *API) createProvider(w http.ResponseWriter, r *http.Request) error {
	v, err := readJSON(r, providersPostSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	info, err := a.Placement.CreateProvider(r.Context(), placement.NewProvider{
		UUID:   dashed(member(v, "uuid").Str()),
		Name:   member(v, "name").Str(),
		Parent: placement.UUID(member(v, "parent_provider_uuid").Str()),
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpserver.AbsoluteURL(r, providerPath(info.UUID)))
	if minor(r) < 20 {
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	a.modified(w, r, info.Modified)
	return respondProvider(w, r, info)
}

// dashed returns a UUID in its canonical form, and a new one for "". Other texts are returned
// unchanged.
func dashed(text string) placement.UUID {
	if text == "" {
		return placement.UUID(uuid.NewString())
	}
	d, ok := pyschema.UUIDDigits(text)
	if !ok {
		return placement.UUID(text)
	}
	return placement.UUID(d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:])
}

// getProvider shows one provider.
func (a *API) getProvider(w http.ResponseWriter, r *http.Request) error {
	p, t, _, err := a.provider(r)
	if err != nil {
		return err
	}
	a.modified(w, r, p.Modified.Time())
	return respondProvider(w, r, t.Info(p))
}

// updateProvider renames a provider. Since 1.14 it sets the parent of a provider that has none;
// since 1.37 it also moves a provider with its descendants to another parent, or makes it a root.
// 409 when the name exists, 400 for a parent that does not exist, or would make a loop.
func (a *API) updateProvider(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, providersPutSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	change := placement.ProviderChange{Name: member(v, "name").Str(), Reparent: minor(r) >= 37}
	var parent pyjson.Value
	parent, change.SetParent = v.Get("parent_provider_uuid")
	change.Parent = placement.UUID(parent.Str())
	info, err := a.Placement.UpdateProvider(r.Context(), p.UUID, change)
	if err != nil {
		return err
	}
	a.modifiedIfKnown(w, r, info.Modified)
	return respondProvider(w, r, info)
}

// deleteProvider deletes a provider with its inventories, traits and aggregates, and answers 204.
// 409 with the code placement.resource_provider.inuse when it has allocations, or
// placement.resource_provider.cannot_delete_parent when it has children.
func (a *API) deleteProvider(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, httpapi.Trapped(a.Placement.DeleteProvider(r.Context(), placement.UUID(httpapi.Param(r, "uuid")))))
}

func respondProvider(w http.ResponseWriter, r *http.Request, info placement.ProviderInfo) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { writeProvider(j, info, minor(r)) })
}

// writeProvider writes a provider. Parent and root are included since 1.14.
func writeProvider(j *httpapi.JSON, p placement.ProviderInfo, minor int) {
	j.Object()
	j.KeyString("uuid", string(p.UUID))
	j.KeyString("name", p.Name)
	j.KeyInt("generation", int64(p.Generation))
	j.Key("links")
	writeProviderLinks(j, p.UUID, minor)
	if minor >= 14 {
		j.Key("parent_provider_uuid")
		writeUUIDOrNull(j, p.Parent)
		j.KeyString("root_provider_uuid", string(p.Root))
	}
	j.EndObject()
}

// providerLinks are the links of a provider, each with the first minor version that has it, in
// upstream's order.
var providerLinks = []struct {
	rel   string
	since int
}{{"inventories", 0}, {"usages", 0}, {"aggregates", 1}, {"traits", 6}, {"allocations", 11}}

func writeProviderLinks(j *httpapi.JSON, uuid placement.UUID, minor int) {
	path := providerPath(uuid)
	j.Array()
	link(j, "self", path)
	for _, l := range providerLinks {
		if minor >= l.since {
			link(j, l.rel, path+"/"+l.rel)
		}
	}
	j.EndArray()
}

func providerPath(uuid placement.UUID) string { return "/resource_providers/" + string(uuid) }

func writeUUIDOrNull(j *httpapi.JSON, uuid placement.UUID) {
	if uuid == "" {
		j.Null()
		return
	}
	j.String(string(uuid))
}
