package sqlstore

import (
	"context"
	"time"

	"github.com/berthcloud/berth/placement"
)

// Shared reports whether other programs may write this database.
func (s *Store) Shared() bool { return s.d.server }

// Changed returns what this store and others committed since a position. It sees every
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
	ses.often = true
	defer func() { ses.often = false; s.readers.giveBack(ses) }()
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
	demoted := false
	heads, err := list(r, func(one *row) entry {
		demoted = demoted || one.int(2) != 0
		return entry{one.int(0), one.int(1)}
	}, `
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
    ),
    `+s.d.demoted+`
FROM berth_writers w`)
	if err == nil && demoted {
		// It answers, and with what was true when it was the primary.
		s.epoch.Add(1)
		err = r.fail(errDemoted)
	}
	if err != nil {
		return c, since, err
	}
	// A wall clock: one that stops while the machine sleeps would not do.
	away := at.At.Round(0).Sub(since.At.Round(0))
	c.All = since.Seen == nil || away > forgetAfter || away < -forgetAfter
	for _, h := range heads {
		known := since.Seen[h.writer]
		at.Seen[h.writer] = h.seq
		s.log.recent.followed(entry{h.writer, known})
		switch {
		case c.All || h.seq == known:
		case h.seq < known:
			c.All = true // the database is an older one
		case s.log.recent.between(entry{h.writer, known}, h, &c):
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
