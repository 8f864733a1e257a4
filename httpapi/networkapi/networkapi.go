package networkapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
)

// An API answers for one network service. Its fields are set before Routes is
// called and not changed after.
type API struct {
	Network *network.Service
	Policy  resource.Policy
	// OldRequests shows resource_request in the format that was before groups,
	// which is for compute services before Yoga.
	OldRequests bool
	// LinkPrefix is the prefix of links, a URL; "" for the address of the request.
	LinkPrefix string
	// MaxLimit is the most objects in one answer, 0 for any number.
	MaxLimit int
	// Without are service plugins and extension drivers that are off: their
	// extensions are not listed, and their paths and attributes are not there.
	Without []string
	// Reported is called with an agent whose devices should be brought into
	// placement, and whether it has just started. It must not wait. Nil: they
	// are not.
	Reported func(agent network.Agent, started bool)
	// Removed is called with an agent whose record was deleted. It must not block. Nil: there is no
	// listener.
	Removed func(agent network.Agent)
	// HostPoll answers agents that wait for a change of their ports.
	HostPoll httpapi.LongPoll
}

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
		a.trunkRoutes(), a.zoneRoutes(), a.heartbeatRoutes(), a.hostRoutes(), a.changeRoutes(), a.extensionRoutes(), a.ruleTypeRoutes(),
	}
	parts = append(parts, a.networks().TagRoutes(), a.subnets().TagRoutes(), a.ports().TagRoutes(), a.policies().TagRoutes(),
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

// kinds is what the kinds of objects share.
func (a *API) kinds() resource.API {
	return resource.API{
		Access: a.access(), MaxLimit: a.MaxLimit, Link: a.link,
		NotFound: func(kind, id string) error { return network.NotFound(kind, network.ID(id)) },
		SetTags: func(ctx context.Context, kind, id string, change func([]string) ([]string, error), only resource.Condition) ([]string, error) {
			return a.Network.SetTags(ctx, kind, network.ID(id), change, unchanged(only))
		},
	}
}

// unchanged is a condition of a request for the service.
func unchanged(only resource.Condition) network.Condition {
	return func(row *network.Common) error { return only.Check(row.Revision) }
}
