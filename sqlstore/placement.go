package sqlstore

import (
	"context"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Store keeps placement's rows in a database. It implements
// placement.Store and is made by Open.
type Store struct {
	*engine.Engine
	// owners belongs to the writing goroutine of the engine, as do all writers.
	owners ownerCache
}

var _ placement.Store = (*Store)(nil)

// Open opens a database, making its tables when it is empty. A file that cannot
// be used - not SQLite, broken, of an unknown revision, read-only, in use by
// another berth - is an error that says so, and the file is left as it is.
func Open(ctx context.Context, opts engine.Options) (*Store, error) {
	s := &Store{Engine: engine.New(opts, engine.Service{
		Schema: NewSchema(opts).Hooks(),
		Still:  "UPDATE alembic_version SET version_num = version_num WHERE 0",
		First:  lockFirst,
		Encode: encodeChanges, Watched: true,
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

// Update runs fn in one serializable transaction, possibly more than once. A
// panic in fn is returned as an error. When ctx ends while it waits, it leaves
// without having run; once it runs, its outcome is waited for. On a server it also
// leaves when it does not run within Options.RetryTime.
func (s *Store) Update(ctx context.Context, now time.Time, fn func(placement.Writer) error) error {
	return s.Engine.Update(ctx, now, func(t *sqlconn.Tx) error {
		w := s.newWriter(t)
		defer w.end()
		return fn(w)
	})
}

// Group returns what is Update for requests that are written together by write.
func (s *Store) Group(write func(placement.Writer, []any) []error) func(context.Context, time.Time, any) error {
	g := &engine.Group{Write: func(t *sqlconn.Tx, requests []any) []error {
		w := s.newWriter(t)
		defer w.end()
		return write(w, requests)
	}}
	return func(ctx context.Context, now time.Time, request any) error {
		return s.UpdateGroup(ctx, now, g, request)
	}
}

// newWriter returns the writer of a transaction, which uses the ids of owners that are
// known, and adds to them when it is committed.
func (s *Store) newWriter(t *sqlconn.Tx) *writer {
	w := &writer{reader: reader{Tx: t}, cache: &s.owners}
	w.OnCommit(func() { s.owners.add(w.named) })
	return w
}

// end gives the engine what the writer changed and requested. It runs also when the function
// panics, and before the engine decides on the outcome.
func (w *writer) end() {
	w.Tx.Entry = w.changed
	if !w.wants.empty() {
		w.Tx.Wants = w.wants
	}
}

// Shared reports whether other programs may write this database.
func (s *Store) Shared() bool { return s.Dialect().Shared }

// Changed returns what this store and others committed since a position. It sees every
// Update of any store that returned before it was called.
func (s *Store) Changed(
	ctx context.Context, since placement.Position,
) (c placement.Changes, at placement.Position, err error) {
	news, now, err := s.ChangesSince(ctx, engine.LogPosition(since))
	if err != nil {
		return c, since, err
	}
	c.All = news.All
	for _, e := range news.Entries {
		switch e := e.(type) {
		case placement.Changes:
			c.Add(e)
		case string:
			if !decode(e, &c) {
				c.All = true
			}
		}
	}
	return c, placement.Position(now), nil
}

// pageEntries is how many entries of each writer a page of the log has at most.
const pageEntries = 500

// Log returns a page of the change log for watchers.
func (s *Store) Log(ctx context.Context, since placement.Mark) (placement.LogPage, error) {
	raw, err := s.LogPages(ctx, since, pageEntries)
	if err != nil {
		return placement.LogPage{}, err
	}
	if since == nil {
		return placement.LogPage{At: raw.Heads}, nil
	}
	lists := make([][]placement.Entry, len(raw.Writers))
	for i, entries := range raw.Writers {
		for _, e := range entries {
			lists[i] = append(lists[i], readEntry(e))
		}
	}
	p := placement.LogPage{Lost: raw.Lost, At: make(placement.Mark)}
	p.Entries, p.More = mergeEntries(lists, raw.More)
	for writer, head := range raw.Heads {
		p.At[writer] = min(since[writer], head)
	}
	for _, e := range p.Entries {
		p.At[e.Writer] = e.Seq
	}
	return p, nil
}

// LogSince returns the position in the change log at a time.
func (s *Store) LogSince(ctx context.Context, at time.Time) (placement.Mark, bool, error) {
	return s.Engine.LogSince(ctx, at)
}

// mergeEntries puts the entries of several writers in the order of their times, those of each in
// their own order. A writer that has more entries than are in its list ends the result with the
// last of them: what others wrote after that may be later than what is not there.
func mergeEntries(lists [][]placement.Entry, more []bool) (merged []placement.Entry, rest bool) {
	for {
		first := -1
		for i, list := range lists {
			if len(list) > 0 && (first < 0 || list[0].Time.Before(lists[first][0].Time)) {
				first = i
			}
		}
		if first < 0 {
			return merged, false
		}
		merged = append(merged, lists[first][0])
		lists[first] = lists[first][1:]
		if len(lists[first]) == 0 && more[first] {
			return merged, true
		}
	}
}
