// Package watch is the services' common part of long polling by hosts: an answer is delayed until
// there is a change.
//
// A change concerns an answer when both have a key in common. Keys are values of fields of rows:
// ids, names of hosts. A service says which fields they are (Rules), and nothing else: a Store
// notes the keys of the rows that an Update writes, and Await the keys of the rows that an answer
// is made of and of the conditions by which they were read. So no operation of a service can forget
// to notify. A note wakes the polls of this instance at once, and those of other instances when
// they read notes next (rows.Follower):
//
//	Update ──► rows written ──► notes ──┬────────────────────────────► polls that have read such rows
//	                                    └─► change log ~~► RunFollow ──► polls of other instances
//
// Await depends on every key that it should: a row that begins to match a condition has the
// condition's value as a key, and one that matched has been read.
//
// The keys of the services are in network/database.go and compute/watches.go (decision 32).
package watch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/rows"
)

// Interval is how often changes by other instances are read.
const Interval = 2 * time.Second

// A Store is the store of a service whose changes wake long polls. It is made by NewStore and is
// safe for concurrent use.
type Store struct {
	rows.Store
	rules Rules
	noted atomic.Pointer[func(rows.Notes)] // see OnNotes

	ended chan struct{}
	end   sync.Once

	mu    sync.Mutex // guards polls, and what they depend on
	polls polls
}

// NewStore returns a store that keeps its rows in another one.
func NewStore(store rows.Store, rules Rules) *Store {
	return &Store{Store: store, rules: rules, ended: make(chan struct{}), polls: newPolls()}
}

// Update is rows.Store's. It wakes the polls that depend on rows that were written, also when it
// fails: it may not be known what became of them.
func (s *Store) Update(ctx context.Context, now time.Time, fn func(rows.Writer) error) error {
	var last *writer
	err := s.Store.Update(ctx, now, func(w rows.Writer) error {
		last = &writer{Writer: w, rules: s.rules}
		return fn(last)
	})
	if last == nil || last.noted.Empty() {
		return err
	}
	s.Notify(last.noted)
	if fn := s.noted.Load(); fn != nil {
		(*fn)(last.noted)
	}
	return err
}

// OnNotes subscribes a function to what Updates of this store note from now on. It must not block;
// it replaces the one before.
func (s *Store) OnNotes(fn func(rows.Notes)) { s.noted.Store(&fn) }

// Notify wakes the polls that changes concern.
func (s *Store) Notify(n rows.Notes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls.notify(n)
}

// RunFollow wakes polls that depend on what other instances write, until ctx ends. It reads their
// notes at once and for each value from due, which should come every Interval, and passes them to
// heard, unless that is nil, before it wakes polls.
func (s *Store) RunFollow(ctx context.Context, due <-chan time.Time, notify func(rows.Notes), log *slog.Logger) {
	others := s.Follow()
	for {
		n, err := others.Notes(ctx)
		switch {
		case err == nil && !n.Empty():
			if notify != nil {
				notify(n)
			}
			s.Notify(n)
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "it cannot be seen what other instances change", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		}
	}
}

// End has all polls answered, now and later, so that a service that stops need not wait for them.
// It may be called more than once.
func (s *Store) End() { s.end.Do(func() { close(s.ended) }) }

// Await returns what read reads as soon as isNew says so of it, and after wait, or when the store's
// polls are ended, in any case. It reads at once, in a View, and after each change that concerns
// the rows that were read last. When ctx ends first it returns the reason.
func Await[T any](
	ctx context.Context, s *Store, wait time.Duration, read func(rows.Reader) (T, error), isNew func(T) bool,
) (T, error) {
	poll := s.Begin()
	defer poll.End()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		cur, err := Read(ctx, poll, read)
		if err != nil || isNew(cur) {
			return cur, err
		}
		select {
		case <-poll.Changed:
		case <-timer.C:
			return cur, nil
		case <-s.ended:
			return cur, nil
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// Read returns what read reads in a View. From then on the poll depends on that, and is woken by
// changes since the View began.
func Read[T any](ctx context.Context, poll *Poll, read func(rows.Reader) (T, error)) (cur T, err error) {
	poll.look()
	var last dependencies
	err = poll.store.View(ctx, func(r rows.Reader) (err error) {
		last = dependencies{}
		cur, err = read(reader{r, poll.store.rules, &last})
		return err
	})
	poll.looked(last)
	return cur, err
}
