package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// The change log tells the stores on one server of each other's commits. Each
// store is a writer with an id of its own, and numbers its transactions; since
// it has one at a time, its entries become visible in their order and without
// gaps, whatever happens between the writers. A reader remembers one number per
// writer and misses nothing.
//
//	berth_writers   id │ beat_at          who writes
//	berth_changes   writer, seq │ body    what the transaction touched
//
// An entry is also the proof that its transaction took place: when a commit is
// not answered, the store tries to write the entry itself. Either it is there, or
// the transaction can never have its place any more (settle).

const (
	// keepEntries is how many entries a writer keeps. A store that has missed
	// more of them reads everything again.
	keepEntries = 20_000
	// tendEvery is how often a writer shows that it is alive and drops what
	// is too old.
	tendEvery = time.Minute
	// deadAfter is how long a writer that does not show up keeps its place.
	deadAfter = time.Hour
	// forgetAfter is when a position is too old to go on from: by then
	// writers that were not known may have come and gone.
	forgetAfter = deadAfter / 2
	// maxRoots is how many trees an entry names; one that touched more says
	// that everything changed.
	maxRoots = 2000
)

// The bodies that are not lists.
const (
	bodyAll  = "*"
	bodyVoid = "-" // written by settle
)

// A changeLog is the writing end. All but id belongs to the writing goroutine.
type changeLog struct {
	id      atomic.Int64 // of this writer; 0 before its first entry
	seq     int64        // of its newest entry
	present bool         // it is in berth_writers
}

// An entry is the place of a transaction in the log.
type entry struct{ writer, seq int64 }

// append writes the entry of the transaction that the session is in.
func (l *changeLog) append(ses *session, stamp string, c placement.Changes) (entry, error) {
	if l.id.Load() == 0 {
		l.renew()
	}
	e := entry{l.id.Load(), l.seq + 1}
	if !l.present {
		if _, err := ses.exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, ?)`, e.writer, stamp, stamp); err != nil {
			return e, err
		}
	}
	_, err := ses.exec(`
INSERT INTO berth_changes (writer, seq, created_at, body)
VALUES (?, ?, ?, ?)`, e.writer, e.seq, stamp, encode(c))
	if err != nil && ses.d.orphan(err) {
		l.renew() // another store believed this one dead
	}
	return e, err
}

// renew gives the writer another id. What was written under the old one is
// followed like anybody's.
func (l *changeLog) renew() {
	l.id.Store(1 + rand.Int64N(1<<53))
	l.seq, l.present = 0, false
}

// committed notes that an entry is durable.
func (l *changeLog) committed(e entry) { l.seq, l.present = e.seq, true }

// errUnsettled says that it could not be found out whether a transaction was
// committed.
var errUnsettled = errors.New("the outcome of a commit is not known")

// errUnknown is what the members of such a transaction are told.
func errUnknown(err error) error {
	return fmt.Errorf("committing: %v: %w", err, fault.New(fault.Unavailable, CodeAway,
		"The database went away while the change was made. Please see whether it was, and try again."))
}

// settle finds out whether a transaction whose commit was not answered took
// place. When it did not, it cannot any more.
func (s *Store) settle(e entry, members []*job) (committed bool, err error) {
	s.opts.Logger.Warn("a commit was not answered: looking it up", "updates", len(members))
	until := time.Now().Add(s.opts.RetryTime)
	// The old connection may be stuck, and what it holds with it.
	ses := s.newSession(writing)
	defer ses.close()
	// Whatever comes out, the number is taken.
	defer s.log.renew()
	for n := 1; ; n++ {
		committed, err = s.proven(ses, e)
		if err == nil {
			s.opts.Logger.Info("a commit that was not answered is settled", "committed", committed)
			if s.opts.Metrics.Settled != nil {
				s.opts.Metrics.Settled(committed)
			}
			return committed, nil
		}
		if time.Now().After(until) || s.isClosing() {
			break
		}
		_ = sleep(context.Background(), backoff(n))
	}
	s.opts.Logger.Error("the outcome of a commit is not known", "updates", len(members), "error", err.Error())
	if s.opts.Metrics.Unsettled != nil {
		s.opts.Metrics.Unsettled()
	}
	return false, fmt.Errorf("%w: %v", errUnsettled, err)
}

// proven looks for an entry and takes its place when it is not there.
func (s *Store) proven(ses *session, e entry) (bool, error) {
	if err := s.begin(context.Background(), ses, s.d.begin); err != nil {
		return false, err
	}
	body, found, err := s.takePlace(ses, e)
	if err != nil || found {
		_ = ses.do("ROLLBACK")
		return found && body != bodyVoid, err
	}
	return false, ses.do("COMMIT")
}

// takePlace writes an empty entry, or returns the body of the one that is there.
func (s *Store) takePlace(ses *session, e entry) (body string, found bool, err error) {
	w := &writer{reader: reader{ses: ses, ctx: context.Background()}, stamp: stamp(time.Now())}
	// The writer's row may have been part of the transaction.
	if _, err := ses.exec(`
INSERT INTO berth_writers (id, created_at, beat_at)
VALUES (?, ?, ?)`+s.d.onConflict, e.writer, w.stamp, w.stamp); err != nil && !s.d.duplicate(err) {
		return "", false, err
	}
	result, err := ses.exec(`
INSERT INTO berth_changes (writer, seq, created_at, body)
VALUES (?, ?, ?, ?)`+s.d.onConflict, e.writer, e.seq, w.stamp, bodyVoid)
	if err != nil && !s.d.duplicate(err) {
		return "", false, err
	}
	if err == nil {
		n, err := result.RowsAffected()
		if err != nil || n > 0 {
			return "", false, err
		}
	}
	body, err = first(&w.reader, func(one *row) string { return one.text(0) }, `
SELECT body
FROM berth_changes
WHERE writer = ? AND seq = ?`, e.writer, e.seq)
	return body, err == nil, err
}

// tendLog shows that this writer is alive, and drops its old entries and the
// writers that are not. That it fails is no matter: there is a next time.
func (s *Store) tendLog() {
	id, now := s.log.id.Load(), time.Now()
	ses := s.writer.own()
	defer s.writer.giveBack(ses)
	err := s.begin(context.Background(), ses, s.d.begin)
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE berth_writers SET beat_at = ? WHERE id = ?`, []any{stamp(now), id}},
		{`DELETE FROM berth_changes WHERE writer = ? AND seq <= ?`, []any{id, s.log.seq - keepEntries}},
		{`DELETE FROM berth_writers WHERE beat_at < ? AND id <> ?`, []any{stamp(now.Add(-deadAfter)), id}},
	} {
		if err == nil {
			_, err = ses.exec(step.query, step.args...)
		}
	}
	if err == nil {
		err = ses.do("COMMIT")
	}
	if err != nil {
		_ = ses.do("ROLLBACK")
		s.opts.Logger.Warn("the change log could not be tended", "error", err.Error())
	}
}

// Shared reports whether other programs may write this database.
func (s *Store) Shared() bool { return s.d.server }

// Changed returns what other stores committed since a position. It sees every
// Update of any store that returned before it was called.
func (s *Store) Changed(ctx context.Context, since placement.Position) (placement.Changes, placement.Position, error) {
	if !s.d.server {
		return placement.Changes{}, since, nil
	}
	until := time.Now().Add(s.opts.RetryTime)
	for n := 1; ; n++ {
		c, at, again, err := s.changedOnce(ctx, since)
		if !again || time.Now().After(until) || sleep(ctx, backoff(n)) != nil {
			return c, at, err
		}
	}
}

func (s *Store) changedOnce(ctx context.Context, since placement.Position) (c placement.Changes, at placement.Position, again bool, err error) {
	ses, err := s.readers.borrow(ctx)
	if err != nil {
		return c, since, false, err
	}
	defer s.readers.giveBack(ses)
	for start := time.Now(); ; {
		if err = ses.connect(ctx); err != nil {
			return c, since, s.again(err), s.d.translate("connecting", err)
		}
		r := &reader{ses: ses, ctx: ctx, trace: s.opts.Trace}
		c, at, err = s.follows(r, since)
		if err == nil || !ses.dead {
			return c, at, err != nil && r.cause != nil && s.again(r.cause), err
		}
		if ses.fresh(start) {
			return c, since, true, err
		}
	}
}

// follows reads the log from a position. It needs no transaction: whatever is
// appended meanwhile is read now or the next time.
func (s *Store) follows(r *reader, since placement.Position) (c placement.Changes, at placement.Position, err error) {
	at = placement.Position{Seen: make(map[int64]int64), At: time.Now()}
	heads, err := list(r, func(one *row) entry { return entry{one.int(0), one.int(1)} }, `
SELECT
    w.id,
    COALESCE(
        (
            SELECT c.seq
            FROM berth_changes c
            WHERE c.writer = w.id
            ORDER BY c.seq DESC
            LIMIT 1
        ),
        0
    )
FROM berth_writers w`)
	if err != nil {
		return c, since, err
	}
	// A wall clock: one that stops while the machine sleeps would not do.
	c.All = since.Seen == nil || at.At.Round(0).Sub(since.At.Round(0)) > forgetAfter
	own := s.log.id.Load()
	for _, h := range heads {
		known := since.Seen[h.writer]
		at.Seen[h.writer] = h.seq
		switch {
		case h.writer == own || c.All || h.seq == known:
		case h.seq < known:
			c.All = true // the database is another one
		default:
			if at.Seen[h.writer], err = readEntries(r, entry{h.writer, known}, &c); err != nil {
				return c, since, err
			}
		}
	}
	return c, at, nil
}

// readEntries adds what a writer's entries after a known one say and returns
// the number of the last.
func readEntries(r *reader, after entry, c *placement.Changes) (int64, error) {
	last := after.seq
	err := r.each(func(one *row) {
		if one.int(0) != last+1 {
			c.All = true // what came between is gone
		}
		last = one.int(0)
		if !decode(one.text(1), c) {
			c.All = true
		}
	}, `
SELECT
    seq,
    body
FROM berth_changes
WHERE writer = ? AND seq > ?
ORDER BY seq`, after.writer, after.seq)
	return last, err
}

// encode writes changes as the body of an entry: root ids, and a c for the
// catalogs.
func encode(c placement.Changes) string {
	if c.All || len(c.Roots) > maxRoots {
		return bodyAll
	}
	ids := make([]int64, 0, len(c.Roots))
	for id := range c.Roots {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	if c.Catalogs {
		b.WriteString("c ")
	}
	for _, id := range ids {
		b.WriteString(strconv.FormatInt(id, 10))
		b.WriteByte(' ')
	}
	return strings.TrimSuffix(b.String(), " ")
}

// decode adds what a body says. False means that it was written by something
// that knows more than this program.
func decode(body string, c *placement.Changes) bool {
	if body == bodyVoid {
		return true
	}
	for word := range strings.FieldsSeq(body) {
		if word == "c" {
			c.Catalogs = true
			continue
		}
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return false
		}
		c.Tree(id)
	}
	return true
}
