package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/watch"
)

// TestAwait: an answer is delayed until there is a change, and no longer than requested.
func TestAwait(t *testing.T) {
	failed := errors.New("no")
	for name, tc := range map[string]struct {
		news  int // calls of look until there is a change, 0 for none
		fails bool
		end   time.Duration // of the service, 0 for none
		leave time.Duration // of the caller, 0 for none
		want  int           // calls of look
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
				changed, ended, over := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
				go func() {
					tick := time.NewTicker(time.Second)
					defer tick.Stop()
					for {
						select {
						case <-tick.C:
							changed <- struct{}{}
						case <-over:
							return
						}
					}
				}()
				if tc.end > 0 {
					time.AfterFunc(tc.end, func() { close(ended) })
				}
				if tc.leave > 0 {
					time.AfterFunc(tc.leave, leave)
				}
				begin, looks := time.Now(), 0
				got, err := watch.Await(ctx, 10*time.Second-1, changed, ended, func() (int, bool, error) {
					looks++
					if tc.fails {
						return looks, false, failed
					}
					return looks, looks == tc.news, nil
				})
				took := time.Since(begin).Round(time.Millisecond)
				close(over)
				if got != tc.want || !errors.Is(err, tc.err) || took != tc.after {
					t.Errorf("Await = %d, %v after %v, want %d, %v after %v", got, err, took, tc.want, tc.err, tc.after)
				}
			})
		})
	}
}

// TestFollow: changes by others are reported once, even after a time in which counting failed.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		counts := []int64{0, 0, 2, 2, -1, 3}
		asked, told := 0, []int{}
		watch.Follow(ctx, func(context.Context) (int64, error) {
			n := counts[asked]
			if asked++; asked == len(counts) {
				stop()
			}
			if n < 0 {
				return 0, errors.New("away")
			}
			return n, nil
		}, func() { told = append(told, asked) }, slog.New(slog.DiscardHandler))
		if len(told) != 2 || told[0] != 3 || told[1] != 6 {
			t.Errorf("it was told at %v, want at 3 and 6", told)
		}
	})
}
