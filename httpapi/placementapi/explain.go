package placementapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/explain"
)

// explanationLimit is the most time for an explanation, with the wait for others: one is made at a time, since it looks at every
// provider, and searches once for each constraint of the query.
const explanationLimit = 30 * time.Second

// explainRoutes are Berth's own: the query string is that of /allocation_candidates at the newest version, whatever version the
// request has. Upstream answers 404 to both paths.
func (a *API) explainRoutes() []httpapi.Route {
	handle := a.guarded(policyCandidatesList, a.explain)
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/berth/v1/explain", Produces: true, Handle: handle},
		{Method: http.MethodGet, Pattern: "/berth/v1/explain/{host}", Produces: true, Handle: handle},
	}
}

// explain says why a query has few hosts or none, and what would help: 200 with an explain.Explanation and its summary. With a host in the path, the
// name or UUID of a provider, it says what that host lacks, and answers 404 when there is no such provider. A query that
// /allocation_candidates refuses for a name that does not exist is explained as well; other errors of the query are answered with 400, and
// 503 says that the explanation, with the wait for others, takes longer than explanationLimit.
func (a *API) explain(w http.ResponseWriter, r *http.Request) error {
	q, err := CandidatesQuery(r.URL.RawQuery, microversion.Placement.Max().Minor)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explanationLimit)
	defer cancel()
	select {
	case a.explaining <- struct{}{}:
		defer func() { <-a.explaining }()
	case <-ctx.Done():
		return tooLong(ctx)
	}
	var e *explain.Explanation
	snapshot, err := a.Placement.Snapshot(ctx)
	if err == nil {
		e, err = explain.Explain(ctx, snapshot, q, explain.Options{Near: nearHosts, Host: httpapi.Param(r, "host")})
	}
	if ctx.Err() != nil {
		return tooLong(ctx)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(struct {
		Summary string `json:"summary"`
		*explain.Explanation
	}{e.Summary(), e})
	if err != nil {
		return err
	}
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { j.Raw(body) })
}

// tooLong is the fault of an explanation whose time is up.
func tooLong(ctx context.Context) error {
	return fault.New(fault.Unavailable, "", "The explanation was given up: %v. Try again later.", ctx.Err())
}

// nearHosts is how many hosts that do not fit are described.
const nearHosts = 5
