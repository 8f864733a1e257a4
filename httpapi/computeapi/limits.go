package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) limitRoutes() []httpapi.Route {
	return []httpapi.Route{a.route(http.MethodGet, "/limits", 1, (*request).showLimits)}
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

func (q *request) showLimits() error {
	if err := q.checkQuery(limitsQuery); err != nil {
		return err
	}
	if err := q.can("limits", nobodys); err != nil {
		return err
	}
	project := q.caller.ProjectID
	if asked, ok := q.last("tenant_id"); ok {
		if err := q.can("limits:other_project", own); err != nil {
			return err
		}
		project = asked
	}
	limits, err := q.api.Compute.Quotas(q.Context(), project, "")
	if err != nil {
		return err
	}
	used, err := q.api.Compute.Usage(q.Context(), project, "")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("limits", view.Object{
		view.Texts[string]("rate", nil),
		view.Nested("absolute", append(q.limitMembers(limitNames, limits), q.limitMembers(usedNames, used)...)),
	}))
}

// limitMembers are those of the limits that the version has.
func (q *request) limitMembers(names []limit, amounts map[string]int64) (shown view.Object) {
	for _, l := range names {
		shown = shown.If(l.until == 0 || q.minor < l.until, view.Int(l.name, amounts[l.quota]))
	}
	return shown
}
