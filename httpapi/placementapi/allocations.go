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
		{
			Method: http.MethodGet, Pattern: on, Produces: true,
			Handle: a.guarded(policyProviderAllocationsList, a.getProviderAllocations),
		},
		{
			Method: http.MethodPost, Pattern: all, Since: 13, NeedsJSON: true,
			Handle: a.guarded(policyAllocationsManage, a.postAllocations),
		},
		{Method: http.MethodGet, Pattern: one, Produces: true, Handle: a.guarded(policyAllocationsList, a.getAllocations)},
		{Method: http.MethodPut, Pattern: one, NeedsJSON: true, Handle: a.guarded(policyAllocationsUpdate, a.putAllocations)},
		{Method: http.MethodDelete, Pattern: one, Handle: a.guarded(policyAllocationsDelete, a.deleteAllocations)},
	}
}

// putAllocations replaces all allocations of one consumer and answers 204.
//
// 400: the consumer's UUID is malformed, or a provider or resource class does not exist. 409: an
// inventory is missing, its capacity or units do not admit the amount; or, with the code
// placement.concurrent_update, a generation has changed, of a provider during the write or of the
// consumer since the client has read it.
//
// 1.8 requires project and user, 1.12 has an object by provider instead of a list, 1.28 requires
// the consumer's generation (null for a new consumer) and accepts an empty object, which removes
// the allocations, 1.34 accepts mappings and ignores them, 1.38 requires the consumer's type.
func (a *API) putAllocations(w http.ResponseWriter, r *http.Request) error {
	consumer := httpapi.Param(r, "consumer_uuid")
	if !isUUIDLike(consumer) {
		return fault.New(fault.Invalid, "", "Malformed consumer_uuid: %s", consumer)
	}
	v, err := readJSON(r, allocationsPutSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	claim := readClaim(v, dashed(consumer), minor(r))
	return noContent(w, a.Placement.SetAllocations(r.Context(), claim))
}

// postAllocations replaces the allocations of several consumers in one transaction, all or none,
// and answers
// 204. Nova uses it to move allocations between an instance and a migration. Exists since 1.13;
// body and errors are those of PUT at the same version.
func (a *API) postAllocations(w http.ResponseWriter, r *http.Request) error {
	v, err := readJSON(r, allocationsPostSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	return noContent(w, a.Placement.SetManyAllocations(r.Context(), readClaims(v, minor(r))))
}

// readClaims decodes an object of claims by consumer, in the order of its keys, which decides the
// order of the rules and so which of several errors is reported.
func readClaims(v pyjson.Value, minor int) []placement.Claim {
	claims := make([]placement.Claim, 0, v.Len())
	for _, m := range v.Members() {
		claims = append(claims, readClaim(m.Value, placement.UUID(m.Key), minor))
	}
	return claims
}

// readClaim decodes the claim of one consumer. Seen is nil before 1.28, where the consumer's
// generation is not compared. Spelled is the generation as the client wrote it: the text of the
// conflict quotes it.
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

// readAllocations decodes allocations by provider: an object since 1.12, a list before. When a list
// has a provider twice, the last element counts, at the position of the first, as in the dict that
// upstream makes of it.
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

// deleteAllocations removes all allocations of a consumer and answers 204; 404 when it has none.
func (a *API) deleteAllocations(w http.ResponseWriter, r *http.Request) error {
	return noContent(w,
		httpapi.Trapped(a.Placement.DeleteAllocations(r.Context(), placement.UUID(httpapi.Param(r, "consumer_uuid")))))
}

// getAllocations lists the allocations of a consumer by provider. A consumer without allocations is
// answered with 200 and an empty object: upstream does not distinguish it from one that does not
// exist.
//
// 1.12 adds project and user, 1.28 the consumer's generation, 1.38 its type.
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
		for _, group := range groupBy(h.Allocations, func(a placement.AllocationRow) placement.UUID {
			return a.ProviderUUID
		}) {
			j.Key(string(group[0].ProviderUUID))
			j.Object()
			writeAllocated(j, snapshot, group)
			j.KeyInt("generation", int64(group[0].ProviderGeneration))
			j.EndObject()
		}
		j.EndObject()
		if len(h.Allocations) > 0 {
			writeConsumer(j, h.Consumer, minor(r))
		}
		j.EndObject()
	})
}

// writeConsumer writes the members about the consumer itself, which an answer without allocations
// does not have.
func writeConsumer(j *httpapi.JSON, c placement.ConsumerRow, minor int) {
	if minor >= 12 {
		j.KeyString("project_id", c.Project)
		j.KeyString("user_id", c.User)
	}
	if minor >= 28 {
		j.KeyInt("consumer_generation", int64(c.Generation))
	}
	if minor >= 38 {
		j.KeyString("consumer_type", typeName(c.Type))
	}
}

// typeName returns the name of a consumer type; consumers that were written before 1.38 have none,
// and are reported as "unknown".
func typeName(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}

// getProviderAllocations lists the allocations on a provider by consumer, with the provider's
// generation. 1.28 adds the generations of the consumers.
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
			writeAllocated(j, snapshot, group)
			if minor(r) >= 28 {
				j.KeyInt("consumer_generation", int64(group[0].ConsumerGeneration))
			}
			j.EndObject()
		}
		j.EndObject()
		j.KeyInt("resource_provider_generation", int64(g))
		j.EndObject()
	})
}

// writeAllocated writes the amounts of a group of allocations. They are of one provider and one
// consumer, so that each class is there once.
func writeAllocated(j *httpapi.JSON, snapshot *snapshot.Snapshot, rows []placement.AllocationRow) {
	j.Key("resources")
	j.Object()
	for _, row := range rows {
		j.KeyInt(snapshot.ClassName(row.Class), row.Used)
	}
	j.EndObject()
}

// groupBy groups rows by a key. Groups are in the order of their first row.
func groupBy(
	rows []placement.AllocationRow, key func(placement.AllocationRow) placement.UUID,
) [][]placement.AllocationRow {
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

// newestAllocation returns the time for Last-Modified, zero without rows.
func newestAllocation(rows []placement.AllocationRow) time.Time {
	var newest time.Time
	for _, row := range rows {
		newest = later(newest, row.Modified)
	}
	return newest
}
