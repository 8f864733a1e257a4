// Package placementapi is the wire of the Placement API: routes, request decoders and answers for
// every microversion. Microversions, JSON and query strings end here; the rules are in package
// placement/service, and what all HTTP surfaces share is in package httpapi.
//
// There is a file for each noun of the API: its routes, then its handlers in the order of the
// routes, then decoders and renderers. The noun's schemas are in the file that ends in _schema.go.
// A handler is read in four steps: it decodes path, query and body, calls the service, sets the
// caching headers, and writes the answer. What differs between versions is a condition on minor(r)
// at the place where it takes effect; a handler's comment lists the versions that change it. Names
// of exceptions and of upstream's modules in comments are those of openstack-placement.
//
// The statuses that every handler may answer, in addition to those in its comment: 400 for a body
// or query that does not match its schema, 401 and 403 by authentication and policy, 404 for a
// provider in the path that does not exist, 409 with the code placement.concurrent_update when the
// generation that the client names is not the current one, 503 while the database is unavailable.
//
// # A new endpoint
//
// A rule comes first, in package placement/service, and depends on no version. The noun's file here
// gets the route with its first version (Since), the decoder and the renderer, the file that ends
// in _schema.go the schema; policy.go the name, the default and the operation of its rule. The
// route is then listed in conformance/differential/coverage.go, with requests for it in the
// generator, and described in conformance/fuzzing/testdata/api.txt.
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

// A Policy decides whether a caller may do what a rule guards. Allow returns nil, or a fault of
// kind Denied, which becomes 403. A nil target stands for the caller's own project and user. It may
// be called from many goroutines.
type Policy interface {
	Allow(caller identity.Caller, rule string, target map[string]string) error
}

// An API answers requests to one placement service. Its fields are set before Routes is called and
// not changed afterwards; Placement, Policy and Now are required. Its handlers may be called from
// many goroutines.
type API struct {
	Placement *service.Service
	Policy    Policy
	Now       func() time.Time
	// Candidates bounds and orders the candidates that are generated.
	Candidates CandidateSettings
	// Searched, when not nil, is called after each search for candidates with its duration, including
	// that of writing the answer, and the number of candidates in the answer. It may be called from
	// many goroutines.
	Searched func(took time.Duration, candidates int)
	// Explainer, when not nil, gets every answer without candidates.
	Explainer *Explainer

	texts treeTexts
	// Streams bounds the streams of events.
	Streams StreamSettings

	explanations    *explanations
	ownExplanations *explanations
	streams         *streams
}

// Routes returns the routes of the API, in upstream's order: the Allow header
// lists methods in it.
func (a *API) Routes() []httpapi.Route {
	a.explanations, a.ownExplanations = newExplanations(maxExplanations), newExplanations(maxOwnExplanations)
	a.streams = &streams{settings: a.Streams, open: make(map[string]int)}
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: a.getRoot},
		{Method: http.MethodGet, Pattern: "", Name: "/", Handle: a.getRoot},
	}
	for _, part := range [][]httpapi.Route{
		a.classRoutes(), a.providerRoutes(), a.inventoryRoutes(), a.usageRoutes(), a.aggregateRoutes(),
		a.allocationRoutes(), a.candidateRoutes(), a.traitRoutes(), a.reshaperRoutes(), a.explainRoutes(), a.eventRoutes(),
	} {
		routes = append(routes, part...)
	}
	return routes
}

// guarded returns a handler that calls handle if the rule allows the caller to act in the own
// project. The rule is checked before path, query and body are decoded, as upstream's handlers do
// with context.can: a caller without permission gets 403 also for a request that is malformed.
func (a *API) guarded(rule string, handle httpapi.Handler) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.allow(r.Context(), rule, nil); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// allow evaluates a rule for a target, nil for the caller's own project.
func (a *API) allow(ctx context.Context, rule string, target map[string]string) error {
	caller, _ := identity.From(ctx)
	return a.Policy.Allow(caller, rule, target)
}

// minor returns the y of the request's microversion 1.y.
func minor(r *http.Request) int { return microversion.From(r.Context()).Minor }

// provider returns the provider that the path names, with its tree and the snapshot that they are
// of, which includes all commits before the request. The error for an unknown provider has
// upstream's most common text; handlers with another one use notFound.
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

// notFound rewords the fault of a missing provider for handlers that catch upstream's exception and
// raise HTTPNotFound themselves: before precedes the usual text. Other errors are returned as they
// are.
func notFound(err error, before string) error {
	if kind, _ := fault.Of(err); kind != fault.NotFound {
		return err
	}
	f, _ := fault.Find(err)
	return httpapi.Trapped(fault.New(fault.NotFound, "", "%s%s", before, f.Error()))
}

// noContent answers 204 when an operation has succeeded, and returns its error otherwise.
func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// modified sets the headers Last-Modified and Cache-Control, which all answers have since 1.15
// (upstream's util.pick_last_modified). A zero time means now, as upstream has it for objects whose
// time is unknown.
func (a *API) modified(w http.ResponseWriter, r *http.Request, t time.Time) {
	if minor(r) < 15 {
		return
	}
	if t.IsZero() {
		t = a.Now()
	}
	httpapi.SetLastModified(w.Header(), t)
}

// modifiedIfKnown is modified for the few answers that upstream sends without Last-Modified when no
// object has a time.
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
