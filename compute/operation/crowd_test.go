package operation_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/internal/logtest"
)

// A member is one of many operations that are taken together, or an operation of another kind.
type member struct {
	kind   string
	cursor operation.Cursor
	begun  time.Duration // its step that takes a second
	over   atomic.Bool
}

func (m *member) Kind() string             { return m.kind }
func (m *member) Cursor() operation.Cursor { return m.cursor }
func (m *member) Lost() bool               { return false }
func (m *member) LogValue() slog.Value     { return slog.GroupValue(slog.String("member", m.kind)) }

func (m *member) Defer(to operation.Cursor, _ ...change) { m.cursor = to }

func (m *member) Commit(_ context.Context, to operation.Cursor, _ ...change) error {
	m.cursor = to
	return nil
}

func (m *member) End(context.Context, ...change) error {
	m.over.Store(true)
	return nil
}

func (m *member) Release(context.Context, error) error { return nil }

// Operations that are taken together go on concurrently after the step that they have together,
// their leases are renewed together while they are unfinished, and another operation does not wait
// for all of them.
func TestOperationsOfOneRequestAreShared(t *testing.T) {
	const count, places = 100, 8
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards what follows
		var all []*member
		var renewed []int
		building, most := 0, 0
		began := elapsed()
		build := func(m *member, _ context.Context) (operation.Next[change], error) {
			mu.Lock()
			m.begun = elapsed() - began
			building++
			most = max(most, building)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			building--
			mu.Unlock()
			return operation.Next[change]{}, nil
		}
		list := operation.List[*member, change]{
			Steps: []operation.Step[*member, change]{
				{Name: "choose", Batch: func(_ context.Context, jobs []*member) ([]operation.Next[change], error) {
					return make([]operation.Next[change], len(jobs)), nil
				}},
				{Name: "build", Do: build},
			},
			Undone: func(*member) change { return "" },
		}
		late := &member{kind: "late", cursor: operation.Cursor{Step: "build"}}
		due := make(chan struct{}, 1)
		r := &operation.Runner[change, *member]{
			Lists: map[string]operation.List[*member, change]{"boot": list, "late": list},
			Take: func(context.Context) ([]*member, error) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case len(all) == 0:
					for range count {
						all = append(all, &member{kind: "boot", cursor: operation.Cursor{Step: "choose"}})
					}
					return all, nil
				case late != nil && elapsed()-began >= 3500*time.Millisecond:
					jobs := []*member{late}
					all, late = append(all, late), nil
					return jobs, nil
				}
				return nil, nil
			},
			Renew: func(_ context.Context, jobs []*member) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				renewed = append(renewed, len(jobs))
				return len(jobs), nil
			},
			Lease: 21 * time.Second, Places: places, Look: time.Minute, Due: due, Elapsed: elapsed, Log: logtest.Logger(),
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		time.Sleep(3500 * time.Millisecond)
		due <- struct{}{}
		time.Sleep(count/places*time.Second + time.Second)
		mu.Lock()
		for _, m := range all {
			if !m.over.Load() {
				t.Errorf("an operation %s is not over after %v", m.kind, elapsed()-began)
			}
		}
		if most != places {
			t.Errorf("%d builds were under way at once, want %d", most, places)
		}
		if last := all[len(all)-1]; last.kind != "late" || last.begun > 4500*time.Millisecond {
			t.Errorf("the operation %s, which was due after 3.5s, began after %v", last.kind, last.begun)
		}
		// A worker that gives way to another operation may leave its place empty for the second of
		// a step.
		unfinished := func(i, rounds int) bool {
			least := count - rounds*places
			return least <= renewed[i] && renewed[i] <= least+places
		}
		if len(renewed) != 2 || !unfinished(0, 5) || !unfinished(1, 10) {
			t.Errorf("the leases were renewed %v at a time, want twice, of what was unfinished", renewed)
		}
		mu.Unlock()
		stop()
		running.Wait()
	})
}

// Operations of one request that an interrupted worker has carried out to different steps are
// together again before the next step that they have together.
func TestOperationsWaitForTheOthers(t *testing.T) {
	ahead := &member{kind: "boot", cursor: operation.Cursor{Step: "choose"}}
	after := &member{kind: "boot", cursor: operation.Cursor{Step: "create"}}
	var steps []string
	batch := func(name string) func(context.Context, []*member) ([]operation.Next[change], error) {
		return func(_ context.Context, jobs []*member) ([]operation.Next[change], error) {
			steps = append(steps, fmt.Sprint(name, " ", len(jobs)))
			return make([]operation.Next[change], len(jobs)), nil
		}
	}
	taken := false
	r := &operation.Runner[change, *member]{
		Lists: map[string]operation.List[*member, change]{"boot": {
			Steps: []operation.Step[*member, change]{
				{Name: "create", Batch: batch("create")}, {Name: "choose", Batch: batch("choose")},
			},
		}},
		Take: func(context.Context) ([]*member, error) {
			if taken {
				return nil, nil
			}
			taken = true
			return []*member{ahead, after}, nil
		},
		Renew: func(_ context.Context, jobs []*member) (int, error) { return len(jobs), nil },
		Lease: time.Minute, Elapsed: elapsed, Log: logtest.Logger(),
	}
	if err := r.RunDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"create 1", "choose 2"}; !slices.Equal(steps, want) {
		t.Errorf("the steps are carried out as %q, want %q", steps, want)
	}
}
