package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

func (a *API) allocationRoutes() []httpapi.Route {
	const all, one, on = "/allocations", "/allocations/{consumer_uuid}", "/resource_providers/{uuid}/allocations"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: on, Produces: true, Handle: a.guarded(policyProviderAllocationsList, a.getProviderAllocations)},
		{Method: http.MethodPost, Pattern: all, Since: 13, NeedsJSON: true, Handle: a.guarded(policyAllocationsManage, a.postAllocations)},
		{Method: http.MethodGet, Pattern: one, Produces: true, Handle: a.guarded(policyAllocationsList, a.getAllocations)},
		{Method: http.MethodPut, Pattern: one, NeedsJSON: true, Handle: a.guarded(policyAllocationsUpdate, a.putAllocations)},
		{Method: http.MethodDelete, Pattern: one, Handle: a.guarded(policyAllocationsDelete, a.deleteAllocations)},
	}
}

// putAllocations replaces what one consumer holds.
//
// 1.8 requires project and user, 1.12 takes an object by provider instead of a
// list, 1.28 requires the consumer generation and allows nothing to be held,
// 1.34 takes mappings and does nothing with them, 1.38 requires the consumer
// type.
func (a *API) putAllocations(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	consumer := httpapi.Param(r, "consumer_uuid")
	if !isUUIDLike(consumer) {
		return fault.New(fault.Invalid, "", "Malformed consumer_uuid: %s", consumer)
	}
	v, err := readJSON(r, allocationsPutSchema(minor(r)))
	if err != nil {
		return err
	}
	claim := readClaim(v, dashed(consumer), minor(r))
	if err := a.Placement.SetAllocations(ctx, claim); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// postAllocations replaces what several consumers hold, all or nothing. Exists
// since 1.13; the versions of PUT apply.
func (a *API) postAllocations(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := readJSON(r, allocationsPostSchema(minor(r)))
	if err != nil {
		return err
	}
	if err := a.Placement.SetManyAllocations(ctx, readClaims(v, minor(r))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readClaims reads an object of claims by consumer, in its order.
func readClaims(v pyjson.Value, minor int) []placement.Claim {
	claims := make([]placement.Claim, 0, v.Len())
	for _, m := range v.Members() {
		claims = append(claims, readClaim(m.Value, placement.UUID(m.Key), minor))
	}
	return claims
}

// readClaim reads what one consumer is to hold.
func readClaim(v pyjson.Value, consumer placement.UUID, minor int) placement.Claim {
	c := placement.Claim{
		Consumer: consumer,
		Project:  member(v, "project_id").Str(),
		User:     member(v, "user_id").Str(),
		Type:     member(v, "consumer_type").Str(),
	}
	if minor >= 28 {
		c.Seen = &placement.ConsumerSeen{}
		if g := member(v, "consumer_generation"); g.Kind() != pyjson.Null {
			c.Seen.Exists = true
			c.Seen.Generation, c.Seen.Spelled = placement.Generation(integer(g)), pyjson.Repr(g)
		}
	}
	c.Allocations = readAllocations(member(v, "allocations"))
	return c
}

// readAllocations reads allocations by provider: an object since 1.12, a list
// before. Of a provider that a list has twice, the last counts at the place of
// the first.
func readAllocations(v pyjson.Value) []placement.ProviderAllocation {
	if v.Kind() == pyjson.Object {
		list := make([]placement.ProviderAllocation, 0, v.Len())
		for _, m := range v.Members() {
			list = append(list, placement.ProviderAllocation{
				Provider: placement.UUID(m.Key), Resources: amounts(member(m.Value, "resources")),
			})
		}
		return list
	}
	var list []placement.ProviderAllocation
	at := make(map[placement.UUID]int)
	for _, item := range v.Items() {
		pa := placement.ProviderAllocation{
			Provider:  placement.UUID(member(member(item, "resource_provider"), "uuid").Str()),
			Resources: amounts(member(item, "resources")),
		}
		if i, ok := at[pa.Provider]; ok {
			list[i] = pa
			continue
		}
		at[pa.Provider] = len(list)
		list = append(list, pa)
	}
	return list
}

// deleteAllocations removes all that a consumer holds.
func (a *API) deleteAllocations(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.Placement.DeleteAllocations(ctx, placement.UUID(httpapi.Param(r, "consumer_uuid"))); err != nil {
		return httpapi.Trapped(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getAllocations shows what a consumer holds. Nothing is no error: there is no
// telling a consumer that holds nothing from one that does not exist.
//
// 1.12 adds project and user, 1.28 the consumer generation, 1.38 the type.
func (a *API) getAllocations(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	h, err := a.Placement.AllocationsOf(ctx, placement.UUID(httpapi.Param(r, "consumer_uuid")))
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	a.modified(w, r, newestAllocation(h.Allocations))
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("allocations")
		j.Object()
		for _, group := range groupBy(h.Allocations, func(a placement.AllocationRow) placement.UUID { return a.ProviderUUID }) {
			j.Key(string(group[0].ProviderUUID))
			j.Object()
			writeHeld(j, snapshot, group)
			j.Key("generation")
			j.Int(int64(group[0].ProviderGeneration))
			j.EndObject()
		}
		j.EndObject()
		if len(h.Allocations) > 0 {
			writeConsumer(j, h.Consumer, minor(r))
		}
		j.EndObject()
	})
}

// writeConsumer writes what is told of the consumer itself.
func writeConsumer(j *httpapi.JSON, c placement.ConsumerRow, minor int) {
	if minor >= 12 {
		j.Key("project_id")
		j.String(c.Project)
		j.Key("user_id")
		j.String(c.User)
	}
	if minor >= 28 {
		j.Key("consumer_generation")
		j.Int(int64(c.Generation))
	}
	if minor >= 38 {
		j.Key("consumer_type")
		j.String(typeName(c.Type))
	}
}

// typeName names the type of consumers that have none.
func typeName(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}

// getProviderAllocations shows what is held on a provider. 1.28 adds the
// generations of the consumers.
func (a *API) getProviderAllocations(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	uuid := httpapi.Param(r, "uuid")
	rows, g, err := a.Placement.AllocationsOn(ctx, placement.UUID(uuid))
	if err != nil {
		return notFound(err, "Resource provider '"+uuid+"' not found: ")
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	a.modified(w, r, newestAllocation(rows))
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("allocations")
		j.Object()
		for _, group := range groupBy(rows, func(a placement.AllocationRow) placement.UUID { return a.Consumer }) {
			j.Key(string(group[0].Consumer))
			j.Object()
			writeHeld(j, snapshot, group)
			if minor(r) >= 28 {
				j.Key("consumer_generation")
				j.Int(int64(group[0].ConsumerGeneration))
			}
			j.EndObject()
		}
		j.EndObject()
		j.Key("resource_provider_generation")
		j.Int(int64(g))
		j.EndObject()
	})
}

// writeHeld writes the amounts of a group of allocations.
func writeHeld(j *httpapi.JSON, snapshot *snapshot.Snapshot, rows []placement.AllocationRow) {
	j.Key("resources")
	j.Object()
	for _, row := range rows {
		j.Key(snapshot.ClassName(row.Class))
		j.Int(row.Used)
	}
	j.EndObject()
}

// groupBy gathers rows of one key, in the order in which the keys first come.
func groupBy(rows []placement.AllocationRow, key func(placement.AllocationRow) placement.UUID) [][]placement.AllocationRow {
	var groups [][]placement.AllocationRow
	at := make(map[placement.UUID]int)
	for _, row := range rows {
		i, ok := at[key(row)]
		if !ok {
			i = len(groups)
			at[key(row)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return groups
}

func newestAllocation(rows []placement.AllocationRow) time.Time {
	var newest time.Time
	for _, row := range rows {
		newest = later(newest, row.Modified)
	}
	return newest
}
