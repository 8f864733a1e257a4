package watch_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// A still store has no rows.
type still struct{ rows.Store }

func (still) View(_ context.Context, fn func(rows.Reader) error) error { return fn(nil) }

// TestAwait: an answer is delayed until there is a change, and no longer than requested.
func TestAwait(t *testing.T) {
	failed := errors.New("no")
	for name, tc := range map[string]struct {
		news  int // calls of read until there is a change, 0 for none
		fails bool
		end   time.Duration // of the service, 0 for none
		leave time.Duration // of the caller, 0 for none
		want  int           // calls of read
		after time.Duration
		err   error
	}{
		"AtOnce":    {news: 1, want: 1},
		"Later":     {news: 3, want: 3, after: 2 * time.Second},
		"Never":     {want: 10, after: 10 * time.Second},
		"Failure":   {fails: true, want: 1, err: failed},
		"Stopping":  {end: 1500 * time.Millisecond, want: 2, after: 1500 * time.Millisecond},
		"NobodyAny": {leave: 1500 * time.Millisecond, after: 1500 * time.Millisecond, err: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				store, over := watch.NewStore(still{}, nil), make(chan struct{})
				go func() {
					tick := time.NewTicker(time.Second)
					defer tick.Stop()
					for {
						select {
						case <-tick.C:
							store.Notify(rows.Notes{All: true})
						case <-over:
							return
						}
					}
				}()
				if tc.end > 0 {
					time.AfterFunc(tc.end, store.End)
				}
				if tc.leave > 0 {
					time.AfterFunc(tc.leave, leave)
				}
				begin, looks := time.Now(), 0
				got, err := watch.Await(ctx, store, 10*time.Second-1, func(rows.Reader) (int, error) {
					looks++
					if tc.fails {
						return looks, failed
					}
					return looks, nil
				}, func(n int) bool { return n == tc.news })
				took := time.Since(begin).Round(time.Millisecond)
				close(over)
				if got != tc.want || !errors.Is(err, tc.err) || took != tc.after {
					t.Errorf("Await = %d, %v after %v, want %d, %v after %v", got, err, took, tc.want, tc.err, tc.after)
				}
			})
		})
	}
}

// A scripted store has other instances that note certain keys, one for each look; "*" is all of
// them, "-" is an error.
type scripted struct {
	still
	say  []string
	stop func()
}

func (s *scripted) Follow() rows.Follower { return s }

func (s *scripted) Notes(context.Context) (n rows.Notes, err error) {
	text := s.say[0]
	if s.say = s.say[1:]; len(s.say) == 0 {
		s.stop()
	}
	switch text {
	case "*":
		n.All = true
	case "-":
		err = errors.New("away")
	default:
		n.Add(text)
	}
	return n, err
}

// TestRunFollow: what other instances note wakes the polls that depend on it, also after a time in
// which the database was away.
func TestRunFollow(t *testing.T) {
	for _, tc := range []struct {
		say  []string
		want bool
	}{
		{[]string{""}, false},
		{[]string{"", "a", ""}, true},
		{[]string{"b", "", "c"}, false},
		{[]string{"-", "-", "a"}, true},
		{[]string{"b", "*"}, true},
		{[]string{"-"}, false},
	} {
		ctx, stop := context.WithCancel(t.Context())
		store := watch.NewStore(&scripted{say: tc.say, stop: stop}, nil)
		poll := store.Begin("a")
		due := make(chan time.Time)
		go func() {
			for {
				select {
				case due <- time.Time{}:
				case <-ctx.Done():
					return
				}
			}
		}()
		store.RunFollow(ctx, due, nil, logtest.Logger())
		if woken := len(poll.Changed) > 0; woken != tc.want {
			t.Errorf("after %q the poll is woken: %t, want %t", tc.say, woken, tc.want)
		}
		poll.End()
	}
}

// TestPollsAreWoken: a poll is woken once for many changes, not after its end, and also by a change
// while it reads.
func TestPollsAreWoken(t *testing.T) {
	store := watch.NewStore(still{}, nil)
	var a, b rows.Notes
	a.Add("a")
	b.Add("b")
	poll, other := store.Begin("a"), store.Begin("b")
	store.Notify(a)
	store.Notify(a)
	if len(poll.Changed) != 1 || len(other.Changed) != 0 {
		t.Errorf("%d and %d are woken, want 1 and 0", len(poll.Changed), len(other.Changed))
	}
	other.End()
	store.Notify(b)
	if len(other.Changed) != 0 {
		t.Error("a poll that has ended is woken")
	}
	during := func(n rows.Notes) {
		t.Helper()
		_, err := watch.Read(t.Context(), poll, func(rows.Reader) (int, error) {
			store.Notify(n)
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	during(a) // it read nothing that this could concern
	if len(poll.Changed) != 0 {
		t.Error("a change of something else than was read wakes the poll")
	}
	during(rows.Notes{All: true})
	if len(poll.Changed) != 1 {
		t.Error("a change while it reads does not wake the poll")
	}
}

// BenchmarkNotify is a change that concerns one of 1,000 hosts that wait.
func BenchmarkNotify(b *testing.B) {
	store := watch.NewStore(still{}, nil)
	for i := range 1000 {
		host := strconv.Itoa(i)
		store.Begin(host, "server of "+host, "port of "+host)
	}
	var n rows.Notes
	n.Add("500", "server of 500", "another server")
	b.ResetTimer()
	for range b.N {
		store.Notify(n)
	}
}
