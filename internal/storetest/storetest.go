// Package storetest tests the guarantees of every store of rows about its transactions, for any
// rows. It is for the suites of the slices, which add the guarantees about their rows.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ErrRefused is the error with which functions abort a transaction.
var ErrRefused = errors.New("refused")

// A Store runs functions in transactions, with the contract of the slices' Stores.
type Store[R, W any] interface {
	View(ctx context.Context, fn func(R) error) error
	Update(ctx context.Context, now time.Time, fn func(W) error) error
}

// A Case is stores on one new database, and rows by which transactions are observed. The methods
// are claims about the stores; each needs a Case of its own.
type Case[R, W any] struct {
	*testing.T
	Stores []Store[R, W] // one or more; the last is read from
	Now    time.Time

	Insert func(w W, name string) error         // a row that is called so
	Taken  error                                // the error of Insert for an existing row
	Has    func(r R, name string) (bool, error) // whether the row exists
	Count  func(r R) (int, error)               // of all such rows
}

// Together runs fn in n goroutines and returns when all are done.
func Together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}

func (c Case[R, W]) together(n int, fn func(i int, s Store[R, W])) {
	Together(n, func(i int) { fn(i, c.Stores[i%len(c.Stores)]) })
}

func (c Case[R, W]) insert(name string) error {
	return c.Stores[0].Update(context.Background(), c.Now, func(w W) error { return c.Insert(w, name) })
}

// counts expects want rows.
func (c Case[R, W]) counts(want int) {
	c.Helper()
	got := 0
	err := c.Stores[len(c.Stores)-1].View(context.Background(), func(r R) (err error) {
		got, err = c.Count(r)
		return err
	})
	if err != nil || got != want {
		c.Errorf("there are %d rows, %v, want %d", got, err, want)
	}
}

// UpdatesWorkAfterAFailedOne writes a row in updates that fail, and then in one that succeeds.
func (c Case[R, W]) UpdatesWorkAfterAFailedOne() {
	for range 3 {
		err := c.Stores[0].Update(context.Background(), c.Now, func(w W) error {
			return errors.Join(c.Insert(w, "a"), ErrRefused)
		})
		if !errors.Is(err, ErrRefused) || errors.Is(err, c.Taken) {
			c.Fatalf("Update() = %v, want %v", err, ErrRefused)
		}
	}
	if err := c.insert("a"); err != nil {
		c.Fatal(err)
	}
	c.counts(1)
}

// PanicsLeaveNothing allows a store to return a panic of a function as an error or to propagate it;
// either way nothing is written and the store continues to work.
func (c Case[R, W]) PanicsLeaveNothing() {
	outcome := func(run func() error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
			}
		}()
		return run()
	}
	for call, err := range map[string]error{
		"Update": outcome(func() error {
			return c.Stores[0].Update(context.Background(), c.Now, func(w W) error {
				if err := c.Insert(w, "a"); err != nil {
					return err
				}
				panic("a planted panic")
			})
		}),
		"View": outcome(func() error {
			return c.Stores[0].View(context.Background(), func(R) error { panic("a planted panic") })
		}),
	} {
		if err == nil || !strings.Contains(err.Error(), "a planted panic") {
			c.Errorf("%s = %v, want the panic", call, err)
		}
	}
	c.counts(0)
	if err := c.insert("a"); err != nil {
		c.Fatal(err)
	}
	c.counts(1)
}

// CountsFollowTheTransaction counts rows within the updates that write them, of which the second is
// aborted.
func (c Case[R, W]) CountsFollowTheTransaction() {
	if err := c.insert("a"); err != nil {
		c.Fatal(err)
	}
	for _, refused := range []error{nil, ErrRefused} {
		err := c.Stores[0].Update(context.Background(), c.Now, func(w W) error {
			before, err := c.Count(any(w).(R))
			if err != nil {
				return err
			}
			if err := c.Insert(w, fmt.Sprint("b", before)); err != nil {
				return err
			}
			after, err := c.Count(any(w).(R))
			if err == nil && after != before+1 {
				err = fmt.Errorf("there are %d rows after an insert, and %d before", after, before)
			}
			return errors.Join(err, refused)
		})
		if !errors.Is(err, refused) || err != nil && refused == nil {
			c.Errorf("Update() = %v, want %v", err, refused)
		}
		c.counts(2)
	}
}

// ViewsReturnTheirErrors has a View refuse.
func (c Case[R, W]) ViewsReturnTheirErrors() {
	err := c.Stores[0].View(context.Background(), func(R) error { return ErrRefused })
	if !errors.Is(err, ErrRefused) {
		c.Errorf("View() = %v, want %v", err, ErrRefused)
	}
}

// CancelledContextsRunNothing begins with a cancelled context.
func (c Case[R, W]) CancelledContextsRunNothing() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ran := false
	for call, err := range map[string]error{
		"Update": c.Stores[0].Update(ctx, c.Now, func(W) error { ran = true; return nil }),
		"View":   c.Stores[0].View(ctx, func(R) error { ran = true; return nil }),
	} {
		if !errors.Is(err, context.Canceled) {
			c.Errorf("%s = %v, want %v", call, err, context.Canceled)
		}
	}
	if ran {
		c.Error("a function ran")
	}
}

// RefusedUpdatesInABatchLeaveNothing mixes updates that succeed after a conflict with an existing
// row, and updates that fail after writing.
func (c Case[R, W]) RefusedUpdatesInABatchLeaveNothing() {
	const n = 60
	c.together(n, func(i int, s Store[R, W]) {
		name := fmt.Sprint("n", i)
		err := s.Update(context.Background(), c.Now, func(w W) error {
			err := c.Insert(w, name)
			if i%3 == 1 {
				return errors.Join(err, ErrRefused)
			}
			if taken := c.Insert(w, name); !errors.Is(taken, c.Taken) {
				return fmt.Errorf("inserting again: %w", taken)
			}
			return err
		})
		if refused := errors.Is(err, ErrRefused); refused != (i%3 == 1) || err != nil && !refused {
			c.Errorf("update %d = %v", i, err)
		}
	})
	c.counts(n * 2 / 3)
}

// ViewsSeeWhatReturnedBefore reads each row through every store once it is written.
func (c Case[R, W]) ViewsSeeWhatReturnedBefore() {
	c.together(6, func(i int, s Store[R, W]) {
		for n := range 10 {
			name := fmt.Sprint("n", i, "-", n)
			err := s.Update(context.Background(), c.Now, func(w W) error { return c.Insert(w, name) })
			for _, other := range c.Stores {
				err = errors.Join(err, other.View(context.Background(), func(r R) error {
					existing, err := c.Has(r, name)
					if err == nil && !existing {
						err = errors.New("it is not there")
					}
					return err
				}))
			}
			if err != nil {
				c.Errorf("%s: %v", name, err)
			}
		}
	})
}

// LeavingTheQueueHarmsNobody cancels updates while another one runs. Each must either be committed
// or not, and its error must say which.
func (c Case[R, W]) LeavingTheQueueHarmsNobody() {
	const n = 20
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var kept atomic.Int64
	Together(n+2, func(i int) {
		switch i {
		case 0:
			err := c.Stores[0].Update(context.Background(), c.Now, func(W) error {
				once.Do(func() { close(running) })
				<-release
				return nil
			})
			if err != nil {
				c.Errorf("the first Update = %v", err)
			}
		case 1:
			<-running
			cancel()
			close(release)
		default:
			<-running
			err := c.Stores[0].Update(ctx, c.Now, func(w W) error { return c.Insert(w, fmt.Sprint("n", i)) })
			if err == nil {
				kept.Add(1)
			} else if !errors.Is(err, context.Canceled) {
				c.Errorf("update %d = %v, want %v", i, err, context.Canceled)
			}
		}
	})
	c.counts(int(kept.Load()))
}
