package placementapi

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

func (a *API) usageRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/resource_providers/{uuid}/usages", Produces: true,
			Handle: a.guarded(policyProviderUsages, a.getProviderUsages),
		},
		{Method: http.MethodGet, Pattern: "/usages", Since: 9, Produces: true, Handle: a.getUsages},
	}
}

// getProviderUsages shows the sum of the allocations for each inventory of a provider, 0 included,
// with the provider's generation.
func (a *API) getProviderUsages(w http.ResponseWriter, r *http.Request) error {
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return notFound(err, "No resource provider with uuid "+httpapi.Param(r, "uuid")+" found: ")
	}
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.KeyInt("resource_provider_generation", int64(p.Generation))
		j.Key("usages")
		j.Object()
		for i := range p.Inventories {
			j.KeyInt(snapshot.ClassName(p.Inventories[i].Class), p.Inventories[i].Used)
		}
		j.EndObject()
		j.EndObject()
	})
}

// getUsages shows the sums of the allocations of a project, or of one of its users. It is the one
// operation that readers of the project may perform: the rule's target is the project in the query,
// and is checked before the query is validated. Exists since 1.9; 1.38 groups by consumer type,
// with the numbers of consumers, and has the filter consumer_type.
func (a *API) getUsages(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q, parseErr := splitQuery(r.URL.RawQuery, minor(r))
	project, ok := q.last("project_id")
	if !ok {
		project = policy.None
	}
	if err := a.allow(ctx, policyTotalUsages, map[string]string{"project_id": project}); err != nil {
		return err
	}
	if parseErr != nil {
		return parseErr
	}
	if err := q.validate(usagesListSchemas.at(minor(r))); err != nil {
		return err
	}
	usage, err := a.Placement.ProjectUsage(ctx, q.lastOrEmpty("project_id"), q.lastOrEmpty("user_id"))
	if err != nil {
		return err
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("usages")
		j.Object()
		if minor(r) >= 38 {
			writeUsagesByType(j, snapshot, usage, q.lastOrEmpty("consumer_type"))
		} else {
			writeAmounts(j, snapshot, sum(usage, func(string) bool { return true }))
		}
		j.EndObject()
		j.EndObject()
	})
}

// writeUsagesByType writes an object for each consumer type. The filter "all" sums over all types
// under that name, and "unknown" selects the consumers without a type; both are recognized in lower
// case only.
func writeUsagesByType(j *httpapi.JSON, snapshot *snapshot.Snapshot, u placement.ProjectUsage, filter string) {
	if filter == "all" {
		var consumers int64
		for _, n := range u.Consumers {
			consumers += n
		}
		writeTypeUsage(j, snapshot, "all", sum(u, func(string) bool { return true }), consumers)
		return
	}
	for _, t := range slices.Sorted(maps.Keys(u.Consumers)) {
		if filter == "" || filter == typeName(t) {
			writeTypeUsage(j, snapshot, typeName(t), sum(u, func(name string) bool { return name == t }), u.Consumers[t])
		}
	}
}

// writeTypeUsage writes the usage of one type, and nothing when that is empty.
func writeTypeUsage(
	j *httpapi.JSON, snapshot *snapshot.Snapshot, name string, amounts map[placement.ClassID]int64, consumers int64,
) {
	if len(amounts) == 0 {
		return
	}
	j.Key(name)
	j.Object()
	writeAmounts(j, snapshot, amounts)
	j.KeyInt("consumer_count", consumers)
	j.EndObject()
}

// sum returns the usage, by resource class, of the types for which pass is true.
func sum(u placement.ProjectUsage, pass func(string) bool) map[placement.ClassID]int64 {
	amounts := make(map[placement.ClassID]int64)
	for _, row := range u.Rows {
		if pass(row.Type) {
			amounts[row.Class] += row.Used
		}
	}
	return amounts
}

// writeAmounts writes amounts by class in the order of the classes' ids, so that equal usages are
// equal texts.
func writeAmounts(j *httpapi.JSON, snapshot *snapshot.Snapshot, amounts map[placement.ClassID]int64) {
	for _, class := range slices.Sorted(maps.Keys(amounts)) {
		j.KeyInt(snapshot.ClassName(class), amounts[class])
	}
}
