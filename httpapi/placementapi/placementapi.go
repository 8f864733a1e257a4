// Package placementapi is the wire of the Placement API: its routes, request
// decoders and answers for every microversion, a file per noun. Versions, JSON
// and query strings end here; the rules are in package placement. It is not for
// what all HTTP surfaces share, which is package httpapi.
package placementapi

import (
	"context"
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Policy decides whether a caller may do what a rule guards. A nil target
// stands for the caller's own project and user. It refuses with a fault of
// kind Denied.
type Policy interface {
	Allow(caller identity.Caller, rule string, target map[string]string) error
}

// An API answers for one placement service. Its fields are set before Routes is
// called and not changed after; Placement, Policy and Now are required.
type API struct {
	Placement *service.Service
	Policy    Policy
	Now       func() time.Time
	// Candidates says how candidates are chosen.
	Candidates CandidateSettings
	// Searched, when not nil, is told of every search for candidates.
	Searched func(took time.Duration, candidates int)
	// Explainer, when not nil, is told of every answer without candidates.
	Explainer *Explainer

	texts treeTexts
}

// Routes returns the routes of the API, in upstream's order: the Allow header
// lists methods in it.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: a.getRoot},
		{Method: http.MethodGet, Pattern: "", Name: "/", Handle: a.getRoot},
	}
	for _, part := range [][]httpapi.Route{
		a.classRoutes(), a.providerRoutes(), a.inventoryRoutes(), a.usageRoutes(), a.aggregateRoutes(),
		a.allocationRoutes(), a.candidateRoutes(), a.traitRoutes(), a.reshaperRoutes(),
	} {
		routes = append(routes, part...)
	}
	return routes
}

// guarded is the handler of an operation for callers whom its rule allows in their own project. The
// rule is asked before path, query and body are looked at, as upstream does.
func (a *API) guarded(rule string, handle httpapi.Handler) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.allow(r.Context(), rule, nil); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// allow asks a rule about a target, nil for the caller's own project.
func (a *API) allow(ctx context.Context, rule string, target map[string]string) error {
	caller, _ := identity.From(ctx)
	return a.Policy.Allow(caller, rule, target)
}

// minor returns the y of the request's microversion 1.y.
func minor(r *http.Request) int { return microversion.From(r.Context()).Minor }

// provider finds the provider that the path names, in a fresh snapshot. The
// fault of one that does not exist is upstream's usual one.
func (a *API) provider(r *http.Request) (*snapshot.Provider, *snapshot.Tree, *snapshot.Snapshot, error) {
	uuid := placement.UUID(httpapi.Param(r, "uuid"))
	w, err := a.Placement.SnapshotWith(r.Context(), uuid)
	if err != nil {
		return nil, nil, nil, err
	}
	p, t := w.Provider(uuid)
	if p == nil {
		return nil, nil, nil, placement.ErrNoProvider(uuid)
	}
	return p, t, w, nil
}

// notFound rewords the fault of a missing provider where upstream's handler
// does: before is put in front of the usual text.
func notFound(err error, before string) error {
	if kind, _ := fault.Of(err); kind != fault.NotFound {
		return err
	}
	f, _ := fault.Find(err)
	return httpapi.Trapped(fault.New(fault.NotFound, "", "%s%s", before, f.Error()))
}

// modified sets the caching headers, which exist since 1.15. A zero time means
// now, as upstream has it for rows whose time is not known.
func (a *API) modified(w http.ResponseWriter, r *http.Request, t time.Time) {
	if minor(r) < 15 {
		return
	}
	if t.IsZero() {
		t = a.Now()
	}
	httpapi.SetLastModified(w.Header(), t)
}

// modifiedIfKnown is modified for the few answers that upstream sends without a
// time when there is none.
func (a *API) modifiedIfKnown(w http.ResponseWriter, r *http.Request, t time.Time) {
	if minor(r) >= 15 && t.IsZero() {
		httpapi.SetNoCache(w.Header())
		return
	}
	a.modified(w, r, t)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
