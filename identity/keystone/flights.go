package keystone

import (
	"context"
	"errors"
	"sync"
)

// maxFlights bounds the questions that wait for Keystone; further ones are refused.
const maxFlights = 1024

// flights merges concurrent equal questions into one request, whose answer is a V.
type flights[V any] struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards under way
	pending map[key]*flight[V]
}

// A flight is one question under way.
type flight[V any] struct {
	done   chan struct{} // closed when answer and err are set
	answer V
	err    error
}

func newFlights[V any]() *flights[V] { return &flights[V]{pending: make(map[key]*flight[V])} }

// do returns the result of query, called once for all concurrent callers with the same key. The
// call continues when a caller gives up, since others may wait for its result.
func (f *flights[V]) do(ctx context.Context, k key, fetch func(context.Context) (V, error)) (v V, err error) {
	fl, err := f.join(ctx, k, fetch)
	if err != nil {
		return v, err
	}
	select {
	case <-fl.done:
		return fl.answer, fl.err
	case <-ctx.Done():
		return v, asUnavailable(context.Cause(ctx))
	}
}

// join returns the flight for k, and starts it when there is none.
func (f *flights[V]) join(ctx context.Context, k key, fetch func(context.Context) (V, error)) (*flight[V], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.pending[k]; ok {
		return fl, nil
	}
	if len(f.pending) >= maxFlights {
		return nil, asUnavailable(errors.New("too many tokens are being checked"))
	}
	fl := &flight[V]{done: make(chan struct{})}
	f.pending[k] = fl
	f.running.Go(func() {
		fl.answer, fl.err = fetch(context.WithoutCancel(ctx))
		f.mu.Lock()
		delete(f.pending, k)
		f.mu.Unlock()
		close(fl.done)
	})
	return fl, nil
}

// wait returns when no question is under way.
func (f *flights[V]) wait() { f.running.Wait() }
