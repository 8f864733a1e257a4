package sqlconn

import (
	"context"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
)

// A Pool has the idle sessions. The one given back last is lent first, so that no more connections
// are made than are needed at a time. It is safe for concurrent use.
type Pool struct {
	// permits are taken before a session and given back after it, so that idle is never empty for
	// one who has a permit.
	permits chan struct{} // one for each session that may be out
	wait    time.Duration // how long to wait for one, 0 for ever
	keep    int           // how many idle connections stay open
	closing <-chan struct{}

	mu   sync.Mutex
	idle []*Session
}

// NewPool returns a pool of the given sessions, which keeps so many idle connections open. Borrow
// waits as long as wait, for ever when it is 0, and fails when closing is closed.
func NewPool(sessions []*Session, keep int, wait time.Duration, closing <-chan struct{}) *Pool {
	return &Pool{
		permits: make(chan struct{}, len(sessions)),
		wait:    wait, keep: keep, closing: closing,
		idle: sessions,
	}
}

// Borrow waits for a session. It fails with the error of ctx, and as Unavailable when the store is
// closed or the wait is too long.
func (p *Pool) Borrow(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closing:
		return nil, ClosedError()
	default:
	}
	select {
	case p.permits <- struct{}{}:
		return p.take(), nil
	default:
	}
	expired, stop := p.expired()
	defer stop()
	select {
	case p.permits <- struct{}{}:
		return p.take(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closing:
		return nil, ClosedError()
	case <-expired:
		return nil, fault.New(fault.Unavailable, CodeBusy, "All connections to the database are in use. Please try again.")
	}
}

// BorrowIdle is Borrow without waiting: it returns false when there is no idle session.
func (p *Pool) BorrowIdle() (*Session, bool) {
	select {
	case p.permits <- struct{}{}:
		return p.take(), true
	default:
		return nil, false
	}
}

// expired returns a channel that says when the wait has been too long.
func (p *Pool) expired() (<-chan time.Time, func() bool) {
	if p.wait <= 0 {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(p.wait)
	return t.C, t.Stop
}

// Own waits for a session as long as it takes, also when the store is being closed.
func (p *Pool) Own() *Session {
	p.permits <- struct{}{}
	return p.take()
}

// take lends the session that was given back last. The caller has a permit.
func (p *Pool) take() *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	s := p.idle[last]
	p.idle = p.idle[:last]
	return s
}

// GiveBack takes a session back and closes a connection when enough are idle. Without a connection
// it goes below those that have one.
func (p *Pool) GiveBack(s *Session) {
	p.mu.Lock()
	open := 0
	for _, other := range p.idle {
		if other.conn != nil {
			open++
		}
	}
	if s.conn != nil && open >= p.keep {
		s.Close()
	}
	if s.conn == nil {
		// What is not connected goes to the bottom.
		p.idle = append([]*Session{s}, p.idle...)
	} else {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	<-p.permits
}

// Drain waits for all sessions and keeps them.
func (p *Pool) Drain() {
	for range cap(p.permits) {
		p.Own()
	}
}
