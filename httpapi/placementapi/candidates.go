package placementapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// CandidateSettings are the settings of the search that upstream has in the group [placement].
type CandidateSettings struct {
	// Max is the greatest number of candidates that a request generates, before its limit applies; 0
	// is no bound (option max_allocation_candidates).
	Max int
	// BreadthFirst takes candidates from all trees in turn (option
	// allocation_candidates_generation_strategy).
	BreadthFirst bool
	// Seed, when not nil, makes each answer a random sample (option
	// randomize_allocation_candidates); it is called once for each request, from many goroutines.
	Seed func() uint64
}

func (a *API) candidateRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/allocation_candidates", Since: 10, Produces: true,
			Handle: a.guarded(policyCandidatesList, a.listCandidates),
		},
	}
}

// listCandidates lists the ways to satisfy a request for resources, and describes the providers
// that take part. An empty list is answered with 200. Exists since 1.10.
//
// 1.12 writes allocations as an object by provider, 1.17 adds traits, 1.27 all resource classes of
// a provider, 1.29 whole trees, 1.34 mappings. What versions change in the query is at
// CandidatesQuery. The answer is written while the search runs: it stops when the limit is reached
// or the client has disconnected, and there may be more candidates than fit into memory.
func (a *API) listCandidates(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q, err := CandidatesQuery(r.URL.RawQuery, minor(r))
	if err != nil {
		return err
	}
	q.Max, q.BreadthFirst = a.Candidates.Max, a.Candidates.BreadthFirst
	if a.Candidates.Seed != nil {
		q.Sample = &placement.Sample{Seed: a.Candidates.Seed()}
	}
	snapshot, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return err
	}
	start := a.Now()
	result, err := candidates.Search(snapshot, q)
	if err != nil {
		return err
	}
	a.modified(w, r, time.Time{})
	answer := newCandidatesAnswer(snapshot, result.Until(ctx.Done()), &a.texts, minor(r), ctx.Done())
	err = httpapi.Respond(w, http.StatusOK, answer.write)
	if a.Searched != nil {
		a.Searched(a.Now().Sub(start), answer.count)
	}
	httpapi.Note(r, slog.Int("candidates", answer.count))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answer.count == 0 {
		noteQuery(r)
		a.Explainer.add(ctx, snapshot, q)
	}
	return err
}

// maxNotedQuery bounds the query string in an access log line, in bytes; an escape at the end may
// exceed it.
const maxNotedQuery = 1 << 10

// noteQuery adds the query string to the access log line of an answer without candidates.
// Everything but printable ASCII is escaped, which does not change its meaning. Lines of other
// answers do not have it, since quoting the text costs as much as a small search.
func noteQuery(r *http.Request) {
	text := r.URL.RawQuery
	noted := make([]byte, 0, min(len(text), maxNotedQuery))
	for i := 0; i < len(text) && len(noted) < maxNotedQuery; i++ {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			noted = append(noted, '%', upperHex[c>>4], upperHex[c&0xf])
		} else {
			noted = append(noted, c)
		}
	}
	httpapi.Note(r, slog.String("query", string(noted)))
	if len(text) > maxNotedQuery {
		httpapi.Note(r, slog.Int("query_bytes", len(text)))
	}
}

const upperHex = "0123456789ABCDEF"
