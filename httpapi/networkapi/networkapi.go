package networkapi

import (
	"net/http"
	"strings"

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
	// Reported is called with an agent whose devices should be brought into
	// placement, and whether it has just started. It must not wait. Nil: they
	// are not.
	Reported func(agent network.Agent, started bool)
}

// Public are the paths that need no token.
var Public = []string{"/", ""}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: getVersions},
		{Method: http.MethodGet, Pattern: "/v2.0/", Name: "/v2.0", Handle: getVersion},
	}
	parts := [][]httpapi.Route{
		a.networks().routes(), a.subnets().routes(), a.ports().routes(), a.policies().routes(), a.agents().routes(),
		a.segments().routes(), a.securityGroups().routes(), a.bindingRoutes(), a.trunkRoutes(), a.zoneRoutes(), a.heartbeatRoutes(), a.extensionRoutes(), a.ruleTypeRoutes(),
	}
	parts = append(parts, a.networks().tagRoutes(), a.subnets().tagRoutes(), a.ports().tagRoutes(), a.policies().tagRoutes(),
		a.trunks().tagRoutes(), a.securityGroups().tagRoutes(), a.quotaRoutes())
	for _, kind := range ruleKinds {
		parts = append(parts, a.rules(kind).routes(), a.aliasRoutes(kind))
	}
	for _, part := range parts {
		routes = append(routes, part...)
	}
	for i := range routes {
		routes[i].Produces = true
	}
	return routes
}

// Handler is next behind what Neutron lets callers say in other ways: a path may end
// with a slash or with .json, and a body is JSON whatever its type is said to be.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(r.URL.Path, "/")
		if !strings.HasSuffix(path, "/details.json") {
			path = strings.TrimSuffix(path, ".json")
		}
		if path != r.URL.Path && strings.Count(path, "/") > 1 {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = path, ""
		}
		r.Header.Set("Content-Type", "application/json")
		next.ServeHTTP(w, r)
	})
}
