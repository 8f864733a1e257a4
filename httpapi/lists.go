package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/identity"
)

const (
	// listWait is how long a request waits for its turn: less than clients wait for an answer.
	listWait = 10 * time.Second
	// waitingPerTurn bounds the requests that wait, for each that may be answered at a time.
	waitingPerTurn = 16
)

// Lists bounds how many requests for lists (Route.Lists) of one project are answered at a time, so
// that those of others get through. Further ones wait, in the order of their arrival, and are
// answered with 429 when that takes too long, or when too many wait. It is made by NewLists and may
// be used from many goroutines.
type Lists struct {
	perProject int

	mu   sync.Mutex
	open map[string]*projectLists // of those that have some
}

// projectLists are the requests of a project.
type projectLists struct {
	answered int
	waiting  []chan struct{} // closed when it is the request's turn
}

// NewLists returns a bound of so many requests for each project, nil when that is 0.
func NewLists(perProject int) *Lists {
	if perProject == 0 {
		return nil
	}
	return &Lists{perProject: perProject, open: map[string]*projectLists{}}
}

// listsOf is whose requests count together: those of the callers with one project, or of a user
// without one.
func listsOf(c identity.Caller) string {
	if c.ProjectID != "" {
		return "project " + c.ProjectID
	}
	return "user " + c.UserID
}

// enter waits until the request of a caller may be answered. The caller calls leave when it is.
func (l *Lists) enter(r *http.Request, c identity.Caller) (leave func(), err error) {
	whose := listsOf(c)
	leave = func() { l.leave(whose) }
	turn, err := l.queue(whose)
	if err != nil || turn == nil {
		return leave, err // which is not called after an error
	}
	timer := time.NewTimer(listWait)
	defer timer.Stop()
	err = tooManyLists()
	select {
	case <-turn:
		return leave, nil
	case <-timer.C:
	case <-r.Context().Done():
		err = r.Context().Err()
	}
	if l.giveUp(whose, turn) {
		return nil, err
	}
	return leave, nil // it was its turn at the same moment
}

// queue returns nil when a request may be answered at once, or what is closed when it may.
func (l *Lists) queue(whose string) (turn chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.open[whose]
	switch {
	case p == nil:
		l.open[whose] = &projectLists{answered: 1}
		return nil, nil
	case p.answered < l.perProject:
		p.answered++
		return nil, nil
	case len(p.waiting) >= waitingPerTurn*l.perProject:
		return nil, tooManyLists()
	}
	turn = make(chan struct{})
	p.waiting = append(p.waiting, turn)
	return turn, nil
}

// leave gives the turn of a request that was answered to the next one.
func (l *Lists) leave(whose string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.open[whose]
	if len(p.waiting) > 0 {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		return
	}
	if p.answered--; p.answered == 0 {
		delete(l.open, whose)
	}
}

// giveUp takes a request that waits out of the queue, and reports whether it was still in it.
func (l *Lists) giveUp(whose string, turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.open[whose]
	for i, w := range p.waiting {
		if w == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func tooManyLists() error {
	return &Error{
		Status: http.StatusTooManyRequests,
		Detail: "Too many requests for lists are under way for this project. Try again later.",
	}
}

// handle calls the handler of a route, when it is the request's turn.
func (a *API) handle(route *Route, x *exchange, r *http.Request) error {
	if route.Lists && a.cfg.Lists != nil {
		leave, err := a.cfg.Lists.enter(r, x.caller)
		if err != nil {
			return err
		}
		defer leave()
	}
	return call(route.Handle, x, r)
}
