package keystone

import (
	"context"
	"errors"
	"sync"
)

// maxFlights bounds the questions that wait for Keystone; more are turned away.
const maxFlights = 1024

// flights let those who ask the same thing at the same time share one question.
type flights struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards under way
	pending map[key]*flight
}

// A flight is one question under way.
type flight struct {
	done  chan struct{} // closed when token and err are set
	token *token
	err   error
}

func newFlights() *flights { return &flights{pending: make(map[key]*flight)} }

// do returns what ask does, called once for all who wait for the same key. The
// question outlives those who gave up waiting for it; the others still want the
// answer.
func (f *flights) do(ctx context.Context, k key, ask func(context.Context) (*token, error)) (*token, error) {
	one, err := f.join(ctx, k, ask)
	if err != nil {
		return nil, err
	}
	select {
	case <-one.done:
		return one.token, one.err
	case <-ctx.Done():
		return nil, away(context.Cause(ctx))
	}
}

// join returns the flight for k, which it starts if there is none.
func (f *flights) join(ctx context.Context, k key, ask func(context.Context) (*token, error)) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.pending[k]; ok {
		return one, nil
	}
	if len(f.pending) >= maxFlights {
		return nil, away(errors.New("too many tokens are being checked"))
	}
	one := &flight{done: make(chan struct{})}
	f.pending[k] = one
	f.running.Go(func() {
		one.token, one.err = ask(context.WithoutCancel(ctx))
		f.mu.Lock()
		delete(f.pending, k)
		f.mu.Unlock()
		close(one.done)
	})
	return one, nil
}

// wait returns when no question is under way.
func (f *flights) wait() { f.running.Wait() }
