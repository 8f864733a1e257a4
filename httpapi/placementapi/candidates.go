package placementapi

import (
	"log/slog"
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
		{Method: http.MethodGet, Pattern: "/allocation_candidates", Since: 10, Produces: true, Handle: a.guarded(policyCandidatesList, a.listCandidates)},
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
	q, err := parseCandidatesQuery(r)
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
	answer := newCandidatesAnswer(snapshot, result, &a.texts, minor(r), ctx.Done())
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

// maxNotedQuery is how many bytes of a query string the access line has; an escape at
// the end may exceed it.
const maxNotedQuery = 1 << 10

// noteQuery puts the query string into the access line: it says what was asked for in
// vain. What is not printable ASCII is escaped, which leaves its meaning. Answers with
// candidates do without, since quoting the text costs as much as a small search.
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
