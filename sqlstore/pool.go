package sqlstore

import (
	"context"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
)

// A pool owns the sessions that nobody uses. The one given back last is handed
// out first, so that no more connections are made than are needed at a time.
type pool struct {
	permits chan struct{} // one for each session that may be out
	wait    time.Duration // how long to wait for one, 0 for ever
	keep    int           // how many idle connections stay open
	closing <-chan struct{}

	mu   sync.Mutex
	idle []*session
}

// newPool returns a pool of the given sessions.
func newPool(sessions []*session, keep int, wait time.Duration, closing <-chan struct{}) *pool {
	return &pool{
		permits: make(chan struct{}, len(sessions)),
		wait:    wait, keep: keep, closing: closing,
		idle: sessions,
	}
}

// borrow waits for a session; it fails when ctx or the store end, and when the
// wait is too long.
func (p *pool) borrow(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closing:
		return nil, closedError()
	default:
	}
	select {
	case p.permits <- struct{}{}:
		return p.take(), nil
	default:
	}
	late, stop := p.late()
	defer stop()
	select {
	case p.permits <- struct{}{}:
		return p.take(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closing:
		return nil, closedError()
	case <-late:
		return nil, fault.New(fault.Unavailable, CodeBusy, "All connections to the database are in use. Please try again.")
	}
}

// borrowIdle is borrow for who does not wait.
func (p *pool) borrowIdle() (*session, bool) {
	select {
	case p.permits <- struct{}{}:
		return p.take(), true
	default:
		return nil, false
	}
}

// late returns a channel that says when the wait has been too long.
func (p *pool) late() (<-chan time.Time, func() bool) {
	if p.wait <= 0 {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(p.wait)
	return t.C, t.Stop
}

// own waits for a session, come what may.
func (p *pool) own() *session {
	p.permits <- struct{}{}
	return p.take()
}

func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	s := p.idle[last]
	p.idle = p.idle[:last]
	return s
}

// giveBack takes a session back and closes a connection when enough are idle.
func (p *pool) giveBack(s *session) {
	p.mu.Lock()
	open := 0
	for _, other := range p.idle {
		if other.conn != nil {
			open++
		}
	}
	if s.conn != nil && open >= p.keep {
		s.close()
	}
	if s.conn == nil {
		// What is not connected goes to the bottom.
		p.idle = append([]*session{s}, p.idle...)
	} else {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	<-p.permits
}

// drain waits for all sessions.
func (p *pool) drain() {
	for range cap(p.permits) {
		p.own()
	}
}
