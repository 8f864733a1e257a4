package logtable

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Follower reads what this store and others commit, in steps. It is for one goroutine at a time.
type Follower[N any] struct {
	log    *Table[N]
	decode func(body string) N
	at     changelog.Position // after what was read, nil before the first time
	read   time.Time          // when that was
}

// Follow returns a follower of the log. Decode makes a note of the body of another store's entry.
func (l *Table[N]) Follow(decode func(body string) N) *Follower[N] {
	return &Follower[N]{log: l, decode: decode}
}

// Next returns the notes of what was committed since the last call that succeeded. It sees every
// transaction of any store that was committed before it was called. All says that notes may be
// missing: anything may have changed. So it is the first time, and when the log does not go back so
// far. The notes of this store's own transactions are those that it gave to Commit.
func (f *Follower[N]) Next(ctx context.Context) (notes []N, all bool, err error) {
	var at changelog.Position
	var read time.Time
	err = f.log.reading(ctx, func(t *sqlconn.Tx) (err error) {
		read = time.Now()
		// A wall clock: one that stops while the machine sleeps would not do.
		age := read.Round(0).Sub(f.read.Round(0))
		notes, all = nil, f.at == nil || age > maxPositionAge || age < -maxPositionAge
		at, err = f.readOnce(t, &notes, &all)
		return err
	})
	if err == nil {
		f.at, f.read = at, read
	}
	return notes, all, err
}

// readOnce reads the log once and returns the position after it. A writer that is new since the
// position is read from its first entry on; one that was deleted is not in the new position.
func (f *Follower[N]) readOnce(t *sqlconn.Tx, notes *[]N, all *bool) (changelog.Position, error) {
	heads, err := f.log.heads(t)
	at := make(changelog.Position, len(heads))
	for _, h := range heads {
		known := f.at[h.Writer]
		at[h.Writer] = h.Seq
		f.log.recent.followed(h.Writer, known)
		if *all {
			continue
		}
		if own, ok := f.log.recent.between(h.Writer, known, h.Seq); ok {
			*notes = append(*notes, own...)
			continue
		}
		entries, gap, err := f.log.entries(t, h, known, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		*all = *all || gap
		for _, e := range entries {
			if !e.Void {
				*notes = append(*notes, f.decode(e.Body))
			}
		}
	}
	return at, err
}

// keepRecent is how many notes of its own a store keeps in memory.
const keepRecent = 256

// recentNotes are the notes of this store's own entries. They say more than the bodies, and are
// kept from before the commit until they have been read. One that is missing is no error: the
// follower then takes the body from the database. It is safe for concurrent use.
type recentNotes[N any] struct {
	mu     sync.Mutex
	writer int64
	bySeq  map[int64]N
}

// keep adds a note. Notes of an earlier writer are dropped.
func (r *recentNotes[N]) keep(e changelog.Entry, note N) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != e.Writer || r.bySeq == nil {
		r.writer, r.bySeq = e.Writer, make(map[int64]N)
	}
	r.bySeq[e.Seq] = note
	delete(r.bySeq, e.Seq-keepRecent)
}

// drop drops the note of an entry whose transaction may not have taken place.
func (r *recentNotes[N]) drop(e changelog.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == e.Writer {
		delete(r.bySeq, e.Seq)
	}
}

// between returns the notes of a writer after a known entry, up to a last one, and false unless all
// of them are there.
func (r *recentNotes[N]) between(writer, known, last int64) (notes []N, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != writer || last < known || last-known > keepRecent {
		return nil, false
	}
	for seq := known + 1; seq <= last; seq++ {
		note, ok := r.bySeq[seq]
		if !ok {
			return nil, false
		}
		notes = append(notes, note)
	}
	return notes, true
}

// followed drops the notes up to an entry that was read.
func (r *recentNotes[N]) followed(writer, last int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != writer {
		return
	}
	for seq := range r.bySeq {
		if seq <= last {
			delete(r.bySeq, seq)
		}
	}
}
