package networkapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi"
)

// Public reports whether a path is outside the API, where no token is needed: the list of versions,
// and nothing else.
func Public(path string) bool {
	return !below(path, "/v2.0") && !below(path, "/berth")
}

// below reports whether a path is another one or below it.
func below(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/')
}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: a.getVersions},
		{Method: http.MethodGet, Pattern: "/v2.0/", Name: "/v2.0", Handle: a.getVersion},
	}
	parts := [][]httpapi.Route{
		a.networks().Routes(), a.subnets().Routes(), a.ports().Routes(), a.policies().Routes(), a.agentRoutes(),
		a.availabilityRoutes(), a.segments().Routes(), a.securityGroups().Routes(), a.securityRuleRoutes(), a.bindingRoutes(),
		a.trunkRoutes(), a.zoneRoutes(), a.heartbeatRoutes(), a.hostRoutes(), a.changeRoutes(), a.extensionRoutes(),
		a.ruleTypeRoutes(),
	}
	parts = append(parts, a.networks().TagRoutes(), a.subnets().TagRoutes(), a.ports().TagRoutes(),
		a.policies().TagRoutes(),
		a.trunks().TagRoutes(), a.securityGroups().TagRoutes(), a.quotaRoutes())
	for _, kind := range ruleKinds {
		parts = append(parts, a.ruleRoutes(kind), a.aliasRoutes(kind))
	}
	for _, part := range parts {
		routes = append(routes, part...)
	}
	routes = slices.DeleteFunc(routes, a.off)
	for i := range routes {
		routes[i].Produces = true
	}
	return routes
}

// Handler wraps next in what Neutron tolerates: a path may end with a slash or with .json, and a
// body is JSON whatever its type.
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
