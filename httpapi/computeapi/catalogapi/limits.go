package catalogapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func limitRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{a.Route(http.MethodGet, "/limits", 1, showLimits)}
}

// A limit is how a quota is called among limits, and for how long: until is the first
// minor version without it, 0 for none.
type limit struct {
	name, quota string
	until       int
}

var limitNames = []limit{
	{"maxTotalInstances", compute.Instances, 0},
	{"maxTotalCores", compute.Cores, 0},
	{"maxTotalRAMSize", compute.RAM, 0},
	{"maxTotalKeypairs", compute.KeyPairs, 0},
	{"maxServerMeta", compute.MetadataItems, 0},
	{"maxImageMeta", compute.MetadataItems, 39},
	{"maxServerGroups", compute.ServerGroups, 0},
	{"maxServerGroupMembers", compute.ServerGroupMembers, 0},
	{"maxPersonality", compute.InjectedFiles, 57},
	{"maxPersonalitySize", compute.InjectedBytes, 57},
	{"maxTotalFloatingIps", compute.FloatingIPs, 36},
	{"maxSecurityGroups", compute.SecurityGroups, 36},
	{"maxSecurityGroupRules", compute.SecurityGroupRules, 36},
}

var usedNames = []limit{
	{"totalInstancesUsed", compute.Instances, 0},
	{"totalCoresUsed", compute.Cores, 0},
	{"totalRAMUsed", compute.RAM, 0},
	{"totalServerGroupsUsed", compute.ServerGroups, 0},
	{"totalFloatingIpsUsed", compute.FloatingIPs, 36},
	{"totalSecurityGroupsUsed", compute.SecurityGroups, 36},
}

func showLimits(q *wire.Request) error {
	if err := q.CheckQuery(limitsQuery); err != nil {
		return err
	}
	if err := q.Can("limits", wire.CloudTarget); err != nil {
		return err
	}
	project := q.Caller.ProjectID
	if id, ok := q.Last("tenant_id"); ok {
		if err := q.Can("limits:other_project", wire.OwnTarget); err != nil {
			return err
		}
		project = id
	}
	limits, err := q.API.Catalog.Quotas(q.Context(), project, "")
	if err != nil {
		return err
	}
	used, err := q.API.Catalog.Usage(q.Context(), project, "")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("limits", view.Object{
		view.Texts[string]("rate", nil),
		view.Nested("absolute", append(limitMembers(q, limitNames, limits), limitMembers(q, usedNames, used)...)),
	}))
}

// limitMembers are those of the limits that the version has.
func limitMembers(q *wire.Request, names []limit, amounts map[string]int64) (shown view.Object) {
	for _, l := range names {
		shown = shown.If(l.until == 0 || q.Minor < l.until, view.Int(l.name, amounts[l.quota]))
	}
	return shown
}
