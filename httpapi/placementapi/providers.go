package placementapi

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
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

// listProviders lists the providers that pass the filters.
//
// 1.3 filters by member_of, 1.4 by resources, 1.14 by in_tree, 1.18 by
// required; 1.22 forbids traits, 1.24 repeats member_of, 1.32 forbids
// aggregates, 1.39 takes any of several traits and repeats required.
func (a *API) listProviders(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	f, err := providerFilter(r)
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
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

// providerFilter reads the filters of a listing.
func providerFilter(r *http.Request) (snapshot.ProviderFilter, error) {
	var f snapshot.ProviderFilter
	q, err := parseQuery(r, providersListSchema(minor(r)))
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

// createProvider adds a provider.
//
// 1.14 takes a parent, 1.20 answers with the provider.
func (a *API) createProvider(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := readJSON(r, providersPostSchema(minor(r)))
	if err != nil {
		return err
	}
	info, err := a.Placement.CreateProvider(ctx, placement.NewProvider{
		UUID:   dashed(member(v, "uuid").Str()),
		Name:   member(v, "name").Str(),
		Parent: placement.UUID(member(v, "parent_provider_uuid").Str()),
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.AbsoluteURL(r, providerPath(info.UUID)))
	if minor(r) < 20 {
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	a.modified(w, r, info.Modified)
	return respondProvider(w, r, info)
}

// dashed returns a UUID in its usual form, and a new one for none. A text that
// is no UUID stays as it is.
func dashed(text string) placement.UUID {
	if text == "" {
		return newUUID()
	}
	d, ok := uuidDigits(text)
	if !ok {
		return placement.UUID(text)
	}
	return placement.UUID(d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:])
}

// newUUID returns a random UUID.
func newUUID() placement.UUID {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return dashed(hex.EncodeToString(u[:]))
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

// updateProvider renames a provider and, since 1.14, gives it a parent. Since
// 1.37 it may change or lose the parent it has.
func (a *API) updateProvider(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, providersPutSchema(minor(r)))
	if err != nil {
		return err
	}
	change := placement.ProviderChange{Name: member(v, "name").Str(), Reparent: minor(r) >= 37}
	var parent pyjson.Value
	parent, change.SetParent = v.Get("parent_provider_uuid")
	change.Parent = placement.UUID(parent.Str())
	info, err := a.Placement.UpdateProvider(ctx, p.UUID, change)
	if err != nil {
		return err
	}
	a.modifiedIfKnown(w, r, info.Modified)
	return respondProvider(w, r, info)
}

// deleteProvider removes a provider.
func (a *API) deleteProvider(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.Placement.DeleteProvider(ctx, placement.UUID(httpapi.Param(r, "uuid"))); err != nil {
		return httpapi.Trapped(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func respondProvider(w http.ResponseWriter, r *http.Request, info placement.ProviderInfo) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { writeProvider(j, info, minor(r)) })
}

// writeProvider writes a provider. Parent and root are there since 1.14.
func writeProvider(j *httpapi.JSON, p placement.ProviderInfo, minor int) {
	j.Object()
	j.Key("uuid")
	j.String(string(p.UUID))
	j.Key("name")
	j.String(p.Name)
	j.Key("generation")
	j.Int(int64(p.Generation))
	j.Key("links")
	writeProviderLinks(j, p.UUID, minor)
	if minor >= 14 {
		j.Key("parent_provider_uuid")
		writeUUIDOrNull(j, p.Parent)
		j.Key("root_provider_uuid")
		j.String(string(p.Root))
	}
	j.EndObject()
}

// providerLinks are the links of a provider and the versions they came with.
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
