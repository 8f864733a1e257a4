package networkapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/network"
)

// An API answers for one network service. Its fields are set before Routes is
// called and not changed after.
type API struct {
	Network *network.Service
	Policy  Policy
	// OldRequests shows resource_request in the format that was before groups,
	// which is for compute services before Yoga.
	OldRequests bool
}

// Public are the paths that need no token.
var Public = []string{"/", "", "/v2.0", "/v2.0/"}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: getVersions},
		{Method: http.MethodGet, Pattern: "/v2.0", Handle: getVersion},
		{Method: http.MethodGet, Pattern: "/v2.0/", Name: "/v2.0", Handle: getVersion},
	}
	parts := [][]httpapi.Route{
		a.networks().routes(), a.subnets().routes(), a.ports().routes(), a.policies().routes(), a.agents().routes(),
		a.segments().routes(), a.securityGroups().routes(), a.bindingRoutes(), a.trunkRoutes(), a.zoneRoutes(), a.extensionRoutes(), a.ruleTypeRoutes(),
	}
	for _, kind := range ruleKinds {
		parts = append(parts, a.rules(kind).routes())
	}
	for _, part := range parts {
		routes = append(routes, part...)
	}
	return routes
}
