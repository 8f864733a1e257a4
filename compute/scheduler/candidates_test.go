package scheduler

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// TestAskedTogether: queries that come while an equal one is under way, or soon after, share the
// next, which begins after all of them have come; others do not wait.
func TestAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared queryGroup
		var mu sync.Mutex
		sent := 0
		came, got := map[int]time.Time{}, map[int]*selection.Offer{}
		begun := map[*selection.Offer]time.Time{}
		var all sync.WaitGroup
		query := func(n int, q placement.Query) {
			mu.Lock()
			came[n] = time.Now()
			mu.Unlock()
			var begin time.Time
			o, err := shared.query(t.Context(), q, func() (selection.Answer, error) {
				begin = time.Now()
				mu.Lock()
				sent++
				mu.Unlock()
				time.Sleep(time.Second)
				return selection.Answer{}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if got[n] = o; !begin.IsZero() {
				begun[o] = begin
			}
		}
		for n := range 10 {
			all.Go(func() { query(n, placement.Query{Limit: 1}) })
			time.Sleep(150 * time.Millisecond)
		}
		all.Go(func() { query(10, placement.Query{Limit: 2}) })
		all.Wait()
		for n, o := range got {
			if begun[o].Before(came[n]) {
				t.Errorf("query %d, of %v, got the answer of a query at %v", n, came[n], begun[o])
			}
		}
		// The first is alone, 1 to 8 share the second, after a pause, 9 has the third, and the last is
		// another.
		if sent != 4 || got[0] == got[1] || got[1] != got[8] || got[8] == got[9] || got[9] == got[10] {
			t.Errorf("%d queries were sent; %v", sent, got)
		}
		if took := begun[got[1]].Sub(begun[got[0]]); took != time.Second+maxQueryPause {
			t.Errorf("the second began %v after the first", took)
		}
		time.Sleep(time.Second)
		begin := time.Now()
		query(11, placement.Query{Limit: 1})
		if begun[got[11]] != begin || len(shared.all) != 1 {
			t.Errorf("a query that was alone began after %v; %d are known", begun[got[11]].Sub(begin), len(shared.all))
		}
	})
}

// A query that ends with the operation that sent it is sent again for the others; a failure is
// everybody's.
func TestAskedTogetherForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared queryGroup
		failed := errors.New("no")
		first, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		query := func(ctx context.Context, want, answer error) {
			_, err := shared.query(ctx, placement.Query{}, func() (selection.Answer, error) {
				select {
				case <-ctx.Done():
					return selection.Answer{}, ctx.Err()
				case <-time.After(time.Second):
				}
				return selection.Answer{}, answer
			})
			if !errors.Is(err, want) {
				t.Errorf("it failed with %v, want %v", err, want)
			}
		}
		all.Go(func() { query(t.Context(), nil, nil) })
		synctest.Wait()
		all.Go(func() { query(first, context.Canceled, nil) }) // it would send the next
		synctest.Wait()
		for range 3 {
			all.Go(func() { query(t.Context(), failed, failed) })
		}
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		stop()
		all.Wait()
	})
}

// An unanswering is a placement service that does not answer.
type unanswering struct{ compute.Placement }

func (unanswering) Explain(ctx context.Context, _ placement.Query, _ placement.UUID) (*explain.Explanation, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A failure does not wait long for an explanation, and is complete without one. They are made one
// at a time.
func TestExplanationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin := &Scheduler{placement: unanswering{}, explains: make(chan struct{}, 1)}, time.Now()
		var all sync.WaitGroup
		defer all.Wait()
		explain := func(want time.Duration) {
			got, took := s.explanation(t.Context(), &choice{}, placement.Query{}), time.Since(begin)
			if got != nil || took != want {
				t.Errorf("the explanation is %v after %v, want %v", got, took, want)
			}
		}
		all.Go(func() { explain(explainTime) })
		synctest.Wait()
		all.Go(func() { explain(explainQueueTimeout) })
	})
}
