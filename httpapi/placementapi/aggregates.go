package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// aggregateRoutes returns the routes of a provider's aggregates. They check media types first
// because upstream's decorators for them stand before version_handler here, and behind it at the
// other nouns.
func (a *API) aggregateRoutes() []httpapi.Route {
	const path = "/resource_providers/{uuid}/aggregates"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: path, Since: 1, Produces: true, MediaFirst: true,
			Handle: a.guarded(policyAggregatesList, a.getAggregates),
		},
		{
			Method: http.MethodPut, Pattern: path, Since: 1, NeedsJSON: true, MediaFirst: true,
			Handle: a.guarded(policyAggregatesUpdate, a.setAggregates),
		},
	}
}

// getAggregates lists the aggregates of a provider. Exists since 1.1; 1.19 adds the provider's
// generation.
func (a *API) getAggregates(w http.ResponseWriter, r *http.Request) error {
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return err
	}
	uuids := make([]placement.UUID, len(p.Aggregates))
	for i, id := range p.Aggregates {
		uuids[i] = snapshot.AggregateUUID(id)
	}
	return a.respondAggregates(w, r, uuids, p.Generation)
}

// setAggregates replaces the aggregates of a provider; aggregates that are new to placement are
// created.
//
// Exists since 1.1 with a list as the body; the provider's generation is neither compared nor
// increased. Since 1.19 the body is an object that names the generation, which must be the current
// one (409 otherwise) and is increased.
func (a *API) setAggregates(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, aggregatesPutSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	var seen *placement.Generation
	if minor(r) >= 19 {
		g := generation(v)
		seen, v = &g, member(v, "aggregates")
	}
	uuids := make([]placement.UUID, 0, v.Len())
	for _, item := range v.Items() {
		uuids = append(uuids, placement.UUID(item.Str()))
	}
	g, err := a.Placement.SetAggregates(r.Context(), p.UUID, seen, uuids)
	if err != nil {
		return err
	}
	return a.respondAggregates(w, r, uuids, g)
}

// respondAggregates answers with a provider's aggregates, in the order given. Upstream has no time
// of an aggregate: Last-Modified is now.
func (a *API) respondAggregates(
	w http.ResponseWriter, r *http.Request, uuids []placement.UUID, g placement.Generation,
) error {
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("aggregates")
		j.Array()
		for _, uuid := range uuids {
			j.String(string(uuid))
		}
		j.EndArray()
		if minor(r) >= 19 {
			j.KeyInt("resource_provider_generation", int64(g))
		}
		j.EndObject()
	})
}
