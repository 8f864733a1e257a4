package placementapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/snapshot"
)

const (
	// explanationLimit is the most time for an explanation, with the wait for others.
	explanationLimit = 30 * time.Second
	// maxExplanations is how many are made at a time, of which one for each project: each looks at
	// every provider, and searches once for each constraint of the query. The callers of one project
	// wait for each other only, until as many projects want explanations.
	maxExplanations = 4
	// maxOwnExplanations is how many are made at a time for users who may not see the cloud. They
	// do not delay those for administrators.
	maxOwnExplanations = 2
)

// explanations gives turns to those who want explanations.
type explanations struct {
	all chan struct{} // has room for as many as are made at a time

	mu       sync.Mutex
	projects map[string]*projectTurn
}

// A projectTurn is that of the callers of a project. It exists while any of them has it or waits
// for it.
type projectTurn struct {
	taken   chan struct{} // has room for one
	callers int
}

func newExplanations(most int) *explanations {
	return &explanations{all: make(chan struct{}, most), projects: make(map[string]*projectTurn)}
}

// enter waits for a turn, which leave ends. The error is that of ctx.
func (e *explanations) enter(ctx context.Context, project string) (leave func(), err error) {
	e.mu.Lock()
	turn := e.projects[project]
	if turn == nil {
		turn = &projectTurn{taken: make(chan struct{}, 1)}
		e.projects[project] = turn
	}
	turn.callers++
	e.mu.Unlock()
	forget := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if turn.callers--; turn.callers == 0 {
			delete(e.projects, project)
		}
	}
	select {
	case turn.taken <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
	select {
	case e.all <- struct{}{}:
	case <-ctx.Done():
		<-turn.taken
		forget()
		return nil, ctx.Err()
	}
	return func() {
		<-e.all
		<-turn.taken
		forget()
	}, nil
}

// explainRoutes are Berth's own: the query string is that of /allocation_candidates at the newest
// version, whatever version the request has. Upstream answers 404 to all paths.
func (a *API) explainRoutes() []httpapi.Route {
	handle := a.guarded(policyCandidatesList, a.explain)
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/berth/v1/explain", Produces: true, Handle: handle},
		{Method: http.MethodGet, Pattern: "/berth/v1/explain/{host}", Produces: true, Handle: handle},
		{
			Method: http.MethodGet, Pattern: "/berth/v1/own/explain", Produces: true,
			Handle: a.guarded(policyExplainOwn, a.explainOwn),
		},
	}
}

// explain says why a query has few hosts or none, and what would help: 200 with an
// explain.Explanation and its summary. With a host in the path, the name or UUID of a provider, it
// says what that host lacks, and answers 404 when there is no such provider. A query that
// /allocation_candidates refuses for a name that does not exist is explained as well; other errors
// of the query are answered with 400, and so are more than explain.MaxGroups groups. 503 says that
// the explanation, with the wait for others, takes longer than explanationLimit. The work ends
// then, and when the client has disconnected.
func (a *API) explain(w http.ResponseWriter, r *http.Request) error {
	answer := func(ctx context.Context, s *snapshot.Snapshot, q placement.Query) (any, error) {
		e, err := explain.Explain(ctx, s, q, explain.Options{Near: nearHosts, Host: httpapi.Param(r, "host")})
		if err != nil {
			return nil, err
		}
		return struct {
			Summary string `json:"summary"`
			*explain.Explanation
		}{e.Summary(), e}, nil
	}
	return a.answerExplanation(w, r, a.explanations, answer)
}

// explainOwn says whether some host could serve a query of a user who may not see the cloud, and
// which part of the query to change: 200 with an explain.Own and its summary, 400 for a query that
// names hosts or aggregates (in_tree, member_of) or is wrong, and 503 as explain.
func (a *API) explainOwn(w http.ResponseWriter, r *http.Request) error {
	answer := func(ctx context.Context, s *snapshot.Snapshot, q placement.Query) (any, error) {
		own, err := explain.ExplainOwn(ctx, s, q)
		if err != nil {
			return nil, err
		}
		return struct {
			Summary string `json:"summary"`
			*explain.Own
		}{own.Summary(), own}, nil
	}
	return a.answerExplanation(w, r, a.ownExplanations, answer)
}

// A composer returns the body of an answer.
type composer func(context.Context, *snapshot.Snapshot, placement.Query) (any, error)

// answerExplanation answers with what a composer returns for the request's query, when the caller
// has a turn.
func (a *API) answerExplanation(
	w http.ResponseWriter, r *http.Request, turns *explanations, answer composer,
) error {
	q, err := CandidatesQuery(r.URL.RawQuery, microversion.Placement.Max().Minor)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explanationLimit)
	defer cancel()
	caller, _ := identity.From(r.Context())
	// Tokens of a system or a domain have no project.
	leave, err := turns.enter(ctx, cmp.Or(caller.ProjectID, caller.UserID))
	if err != nil {
		return tooLong(ctx)
	}
	defer leave()
	var content any
	s, err := a.Placement.Snapshot(ctx)
	if err == nil {
		content, err = answer(ctx, s, q)
	}
	if ctx.Err() != nil {
		return tooLong(ctx)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(content)
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
