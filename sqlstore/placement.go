package sqlstore

import (
	"context"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Store keeps placement's rows in a database. It implements
// placement.Store and is made by Open.
type Store struct {
	*engine.Engine[placement.Changes]
	// owners belongs to the writing goroutine of the engine, as do all writers.
	owners ownerCache
}

var _ placement.Store = (*Store)(nil)

// Open opens a database, making its tables when it is empty. A file that cannot
// be used - not SQLite, broken, of an unknown revision, read-only, in use by
// another berth - is an error that says so, and the file is left as it is.
func Open(ctx context.Context, opts engine.Options) (*Store, error) {
	s := &Store{Engine: engine.New(opts, engine.Service[placement.Changes]{
		Schema:    NewSchema(opts).Hooks(),
		WriteLock: "UPDATE alembic_version SET version_num = version_num WHERE 0",
		TakeLocks: lockFirst,
		Encode:    encodeChanges, Decode: decodeChanges, Watched: true,
	})}
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// View runs fn against one consistent state of the store. A panic in fn goes
// through to the caller.
func (s *Store) View(ctx context.Context, fn func(placement.Reader) error) error {
	return s.Engine.View(ctx, func(t *sqlconn.Tx) error { return fn(&reader{Tx: t, progress: s.Options().Progress}) })
}

// Read runs fn, which calls one method of the Reader that is one statement, outside of a
// transaction on a server.
func (s *Store) Read(ctx context.Context, fn func(placement.Reader) error) error {
	return s.Engine.Read(ctx, func(t *sqlconn.Tx) error { return fn(&reader{Tx: t}) })
}

// Update runs fn in one serializable transaction, possibly more than once. A
// panic in fn is returned as an error. When ctx ends while it waits, it leaves
// without having run; once it runs, its outcome is waited for. On a server it also
// leaves when it does not run within Options.RetryTime.
func (s *Store) Update(ctx context.Context, now time.Time, fn func(placement.Writer) error) error {
	return s.Engine.Update(ctx, now, func(t *engine.Tx[placement.Changes]) error {
		w := s.newWriter(t)
		defer w.end()
		return fn(w)
	})
}

// Group returns what is Update for requests that are written together by write.
func (s *Store) Group(write func(placement.Writer) []error) func(context.Context, time.Time, func()) error {
	return s.Engine.Group(func(t *engine.Tx[placement.Changes]) []error {
		w := s.newWriter(t)
		defer w.end()
		return write(w)
	})
}

// newWriter returns the writer of a transaction, which uses the ids of owners that are
// known, and adds to them when it is committed.
func (s *Store) newWriter(t *engine.Tx[placement.Changes]) *writer {
	w := &writer{reader: reader{Tx: t.Tx}, update: t, cache: &s.owners}
	w.OnCommit(func() { s.owners.add(w.named) })
	return w
}

// end gives the engine what the writer changed and requested. It runs also when the function
// panics, and before the engine decides on the outcome.
func (w *writer) end() {
	w.update.Note(w.changed)
	w.update.NeedLocks(w.locks)
}

// Shared reports whether other programs may write this database.
func (s *Store) Shared() bool { return s.Dialect().Shared }

// Follow returns a follower of the change log.
func (s *Store) Follow() placement.Follower { return follower{s.Engine.Follow()} }

// A follower follows the change log. It implements placement.Follower.
type follower struct {
	log *logtable.Follower[placement.Changes] // nil of a store that is not Shared
}

func (f follower) Next(ctx context.Context) (c placement.Changes, err error) {
	if f.log == nil {
		return c, nil
	}
	notes, all, err := f.log.Next(ctx)
	if err != nil {
		return c, err
	}
	c.All = all
	for _, note := range notes {
		c.Add(note)
	}
	return c, nil
}
