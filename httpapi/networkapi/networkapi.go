package networkapi

import (
	"net/http"
	"slices"
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
	// Without are service plugins that are off: their extensions are not listed,
	// and their paths are not there.
	Without []string
	// Reported is called with an agent whose devices should be brought into
	// placement, and whether it has just started. It must not wait. Nil: they
	// are not.
	Reported func(agent network.Agent, started bool)
}

// The service plugins that can be off, as service_plugins calls them.
const (
	PluginQoS      = "qos"
	PluginTrunk    = "trunk"
	PluginSegments = "segments"
)

// pluginPaths are what the paths of a plugin begin with.
var pluginPaths = map[string][]string{
	PluginQoS:      {"/v2.0/qos/", "/v2.0/policies"},
	PluginTrunk:    {"/v2.0/trunks"},
	PluginSegments: {"/v2.0/segments"},
}

// off reports whether a route belongs to a plugin that is off.
func (a *API) off(r httpapi.Route) bool {
	for _, plugin := range a.Without {
		for _, path := range pluginPaths[plugin] {
			if strings.HasPrefix(r.Pattern, path) {
				return true
			}
		}
	}
	return false
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
	routes = slices.DeleteFunc(routes, a.off)
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
