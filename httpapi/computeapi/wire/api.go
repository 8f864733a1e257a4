package wire

import (
	"cmp"
	"context"
	"net/http"

	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
)

// An API is what the routes of the API share.
type API struct {
	Servers  *servers.Service
	Catalog  *catalog.Service
	Fleet    *fleet.Service
	Policy   Policy
	MaxLimit int // the most objects in one answer, 0 for Nova's 1000
	// HostPoll answers hosts that wait for a change of their lists.
	HostPoll *httpapi.LongPoll
}

// maxLimit is what Nova has for max_limit.
const maxLimit = 1000

// Limit is the most objects in one answer.
func (a *API) Limit() int { return cmp.Or(a.MaxLimit, maxLimit) }

// Prefix is what paths begin with that have versions.
const Prefix = "/v2.1"

// HostsPrefix is the prefix of the routes by which compute hosts report, read their lists of
// servers, and report results. They are Berth's own (decision 21), as those of network agents are.
const HostsPrefix = "/berth/v1"

// Route is one of the routes, below Prefix, from a minor version on.
func (a *API) Route(method, path string, since int, h Handler) httpapi.Route {
	return httpapi.Route{
		Method: method, Pattern: Prefix + path, Since: since, Handle: a.Serve(h, bodyRules(method, path)...),
	}
}

// List is the route of a list, or of what many objects are read for.
func (a *API) List(path string, since int, h Handler) httpapi.Route {
	r := a.Route(http.MethodGet, path, since, h)
	r.Lists = true
	return r
}

// Between is route with the last minor version that has it.
func (a *API) Between(method, path string, since, until int, h Handler) httpapi.Route {
	r := a.Route(method, path, since, h)
	r.Until = until
	return r
}

type projectKey struct{}

// WithProject returns the context of a request whose path has a project.
func WithProject(ctx context.Context, project string) context.Context {
	return context.WithValue(ctx, projectKey{}, project)
}

// projectOf is the project in the path of a request, "" for none.
func projectOf(ctx context.Context) string {
	project, _ := ctx.Value(projectKey{}).(string)
	return project
}
