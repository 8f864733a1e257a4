package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// CandidateSettings say how candidates are chosen among those that there are.
type CandidateSettings struct {
	// Max is the most candidates to generate for a request, 0 for no bound.
	Max int
	// BreadthFirst takes candidates from all trees in turn.
	BreadthFirst bool
	// Seed, when not nil, makes each answer a random sample; it is called
	// once a request.
	Seed func() uint64
}

func (a *API) candidateRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/allocation_candidates", Since: 10, Produces: true, Handle: a.listCandidates},
	}
}

// listCandidates lists ways to satisfy a request for resources, and describes
// the providers that have part in them. Exists since 1.10.
//
// 1.12 writes allocations as an object by provider, 1.17 adds traits, 1.27 all
// resource classes, 1.29 trees, 1.34 mappings. The answer is streamed: the
// search stops when the limit is reached, and there may be more candidates than
// memory holds.
func (a *API) listCandidates(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.allow(ctx, PolicyCandidatesList); err != nil {
		return err
	}
	q, err := parseCandidatesQuery(r)
	if err != nil {
		return err
	}
	q.Max, q.BreadthFirst = a.Candidates.Max, a.Candidates.BreadthFirst
	if a.Candidates.Seed != nil {
		q.Sample = &placement.Sample{Seed: a.Candidates.Seed()}
	}
	world, err := a.Placement.World(ctx)
	if err != nil {
		return err
	}
	start := a.Now()
	result, err := candidates.Search(world, q)
	if err != nil {
		return err
	}
	a.modified(w, r, time.Time{})
	answer := newCandidatesAnswer(world, result, minor(r), ctx.Done())
	err = httpapi.Respond(w, http.StatusOK, answer.write)
	if a.Searched != nil {
		a.Searched(a.Now().Sub(start), answer.count)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
