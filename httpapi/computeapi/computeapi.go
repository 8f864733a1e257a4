package computeapi

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
)

// An API answers for one compute service. Its fields are set before Routes is called
// and not changed after; Compute and Policy are required.
type API struct {
	Compute *compute.Service
	Policy  Policy
	// MaxLimit is the most objects in one answer, 0 for Nova's 1000.
	MaxLimit int
	// HostPoll answers hosts that wait for a change of their lists.
	HostPoll httpapi.LongPoll
}

// maxLimit is what Nova has for max_limit.
const maxLimit = 1000

func (a *API) maxLimit() int { return cmp.Or(a.MaxLimit, maxLimit) }

// top is what paths begin with that have versions.
const top = "/v2.1"

// Public reports whether a path is outside the versions, where no token is needed: the list of
// versions is there.
func Public(path string) bool {
	private := strings.HasPrefix(path, top+"/") && len(path) > len(top)+1 || strings.HasPrefix(path, hosts+"/")
	return !private
}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := versionRoutes()
	for _, part := range [][]httpapi.Route{
		a.flavorRoutes(), a.extraSpecRoutes(), a.flavorAccessRoutes(), a.keypairRoutes(), a.aggregateRoutes(), a.zoneRoutes(),
		a.serviceRoutes(), a.hypervisorRoutes(), a.groupRoutes(), a.quotaRoutes(), a.limitRoutes(), a.usageRoutes(), a.serverRoutes(),
		a.serverActionRoutes(), a.liveMigrationRoutes(), a.serverMetadataRoutes(), a.serverTagRoutes(), a.interfaceRoutes(), a.addressRoutes(), a.instanceActionRoutes(),
		a.migrationRoutes(), a.eventRoutes(), a.hostRoutes(),
	} {
		routes = append(routes, part...)
	}
	return routes
}

// route is one of the routes, below top, from a minor version on.
func (a *API) route(method, path string, since int, h handler) httpapi.Route {
	return httpapi.Route{Method: method, Pattern: top + path, Since: since, Handle: a.serve(h, bodyRules(method, path)...)}
}

// list is the route of a list, or of what many objects are read for.
func (a *API) list(path string, since int, h handler) httpapi.Route {
	r := a.route(http.MethodGet, path, since, h)
	r.Lists = true
	return r
}

// between is route with the last minor version that has it.
func (a *API) between(method, path string, since, until int, h handler) httpapi.Route {
	r := a.route(method, path, since, h)
	r.Until = until
	return r
}

// projectForm is what Nova takes for a project in a path.
var projectForm = regexp.MustCompile(`^[0-9a-f-]+$`)

type projectKey struct{}

// Handler is next behind what paths may have in them: a project, which is not needed.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.Path, top+"/")
		project, rest, more := strings.Cut(rest, "/")
		if below && more && projectForm.MatchString(project) {
			r = r.Clone(context.WithValue(r.Context(), projectKey{}, project))
			r.URL.Path, r.URL.RawPath = top+"/"+rest, ""
		}
		next.ServeHTTP(w, r)
	})
}

// projectOf is the project in the path of a request, "" for none.
func projectOf(ctx context.Context) string {
	project, _ := ctx.Value(projectKey{}).(string)
	return project
}
