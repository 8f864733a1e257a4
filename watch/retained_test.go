package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// TestAwaitChange: a caller that comes back with the state that it was answered waits for a change
// and reads nothing before; one with another state is answered at once.
func TestAwaitChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := watch.NewStore(still{}, nil)
		var polls watch.Retained
		var mu sync.Mutex // for the goroutines of changes and this one
		stored, reads := "a", 0
		failed := errors.New("no")
		var failure error
		request := func(ctx context.Context, name, state string, wait time.Duration) string {
			before, begin := reads, time.Now()
			got, err := watch.AwaitChange(ctx, store, &polls, watch.Caller{Name: name, State: state}, wait,
				func(rows.Reader) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					reads++
					return stored, failure
				}, func(s string) (string, error) { return s, nil })
			if err != nil {
				got = "failed"
			}
			return fmt.Sprintf("%s after %v, %d reads", got, time.Since(begin), reads-before)
		}
		change := func(to string) {
			mu.Lock()
			stored = to
			mu.Unlock()
			store.Notify(rows.Notes{All: true})
		}
		after := func(do func()) { time.AfterFunc(time.Second, do) }
		later := func(to string) { after(func() { change(to) }) }
		ctx, leave := context.WithCancel(t.Context())
		for i, step := range []struct {
			before      func()
			ctx         context.Context
			name, state string
			want        string
		}{
			{name: "h", want: "a after 0s, 1 reads"},
			{name: "h", state: "a", want: "a after 10s, 1 reads"},
			{name: "h", state: "a", before: func() { later("b") }, want: "b after 1s, 1 reads"},
			{name: "other", state: "b", before: func() { later("c") }, want: "c after 1s, 2 reads"},
			{name: "h", state: "b", want: "c after 0s, 1 reads"},                                  // changed in between
			{name: "h", state: "c", before: func() { change("c") }, want: "c after 10s, 1 reads"}, // to what it was
			{name: "h", state: "older", want: "c after 0s, 1 reads"},                              // a host that was restored
			{name: "h", state: "c", before: func() { failure = failed; change("d") }, want: "failed after 0s, 1 reads"},
			{name: "h", state: "c", before: func() { failure = nil }, want: "d after 0s, 1 reads"},
			{name: "h", state: "d", ctx: ctx, before: func() { after(leave) }, want: "failed after 1s, 0 reads"},
			{name: "h", state: "d", before: func() { later("e") }, want: "e after 1s, 2 reads"},
			{name: "h", state: "e", before: store.End, want: "e after 0s, 1 reads"},
		} {
			if step.before != nil {
				step.before()
			}
			if step.ctx == nil {
				step.ctx = t.Context()
			}
			if got := request(step.ctx, step.name, step.state, 10*time.Second); got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
	})
}
