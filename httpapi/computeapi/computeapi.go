package computeapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/catalogapi"
	"github.com/berthcloud/berth/httpapi/computeapi/fleetapi"
	"github.com/berthcloud/berth/httpapi/computeapi/serversapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/identity/policy"
)

// An API answers for one compute service. Its fields are set before Routes is called
// and not changed after; Servers, Catalog, Fleet and Policy are required.
type API struct {
	Servers *servers.Service
	Catalog *catalog.Service
	Fleet   *fleet.Service
	Policy  wire.Policy
	// MaxLimit is the most objects in one answer, 0 for Nova's 1000.
	MaxLimit int
	// HostPoll answers hosts that wait for a change of their lists.
	HostPoll httpapi.LongPoll
}

// Public reports whether a path is outside the versions, where no token is needed: the list of
// versions is there.
func Public(path string) bool {
	private := strings.HasPrefix(path, wire.Prefix+"/") && len(path) > len(wire.Prefix)+1 ||
		strings.HasPrefix(path, wire.HostsPrefix+"/")
	return !private
}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	parts := &wire.API{
		Servers: a.Servers, Catalog: a.Catalog, Fleet: a.Fleet, Policy: a.Policy, MaxLimit: a.MaxLimit, HostPoll: &a.HostPoll,
	}
	return slices.Concat(versionRoutes(), catalogapi.Routes(parts), fleetapi.Routes(parts), serversapi.Routes(parts))
}

// projectForm is what Nova takes for a project in a path.
var projectForm = regexp.MustCompile(`^[0-9a-f-]+$`)

// Handler returns next for paths with and without a project, which Nova takes and does not need.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.Path, wire.Prefix+"/")
		project, rest, more := strings.Cut(rest, "/")
		if below && more && projectForm.MatchString(project) {
			r = r.Clone(wire.WithProject(r.Context(), project))
			r.URL.Path, r.URL.RawPath = wire.Prefix+"/"+rest, ""
		}
		next.ServeHTTP(w, r)
	})
}

// PolicyDefaults are the rules of the API, for the policy engine.
func PolicyDefaults() []policy.Rule { return wire.PolicyDefaults() }
