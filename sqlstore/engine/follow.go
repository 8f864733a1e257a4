package engine

import (
	"context"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A LogPosition is a place in the change log. The zero value is before everything. It must not be
// changed.
type LogPosition struct {
	Seen map[int64]int64 // the number of the newest entry that was read, by writer
	At   time.Time       // when it was read
}

// LogChanges are what was appended to the change log since a position.
type LogChanges struct {
	// All says that entries may be missing: anything may have changed.
	All bool
	// Entries are, of this store's own, what Service.Encode kept of them, and of others their
	// bodies, as strings.
	Entries []any
}

// ChangesSince returns what this store and others committed since a position, and the position
// after it; nothing where there is no change log. It sees every Update of any store that returned
// before it was called. It tries again as View does.
func (s *Engine) ChangesSince(ctx context.Context, since LogPosition) (LogChanges, LogPosition, error) {
	if !s.d.Shared {
		return LogChanges{}, since, nil
	}
	until := time.Now().Add(s.opts.RetryTime)
	for n := 1; ; n++ {
		found, at, again, err := s.followOnce(ctx, since)
		if !again || time.Now().After(until) || sleep(ctx, backoff(n)) != nil {
			return found, at, err
		}
	}
}

// followOnce reads the log once and says whether it should be tried again. Its statements are the
// same each time and therefore prepared. A connection that was closed while it was idle is made
// again at once, without a pause.
func (s *Engine) followOnce(
	ctx context.Context, since LogPosition,
) (found LogChanges, at LogPosition, again bool, err error) {
	ses, err := s.readers.Borrow(ctx)
	if err != nil {
		return found, since, false, err
	}
	ses.PrepareAlways = true
	defer func() { ses.PrepareAlways = false; s.readers.GiveBack(ses) }()
	for start := time.Now(); ; {
		if err = ses.Connect(ctx); err != nil {
			return found, since, s.again(err), s.d.Translate("connecting", err)
		}
		t := &sqlconn.Tx{Session: ses, Context: ctx, Trace: s.opts.Trace}
		found, at, err = s.readLog(t, since)
		if err == nil || !ses.Dead {
			return found, at, err != nil && t.Cause != nil && s.again(t.Cause), err
		}
		if ses.Fresh(start) {
			return found, since, true, err
		}
	}
}

// readLog reads the log from a position. It needs no transaction: whatever is
// appended meanwhile is read now or the next time. A writer that is new since the position is read
// from its first entry on. One that was deleted is not in the new position.
func (s *Engine) readLog(t *sqlconn.Tx, since LogPosition) (found LogChanges, at LogPosition, err error) {
	at = LogPosition{Seen: make(map[int64]int64), At: time.Now()}
	heads, err := s.heads(t)
	if err != nil {
		return found, since, err
	}
	// A wall clock: one that stops while the machine sleeps would not do.
	away := at.At.Round(0).Sub(since.At.Round(0))
	found.All = since.Seen == nil || away > maxPositionAge || away < -maxPositionAge
	for _, h := range heads {
		known := since.Seen[h.writer]
		at.Seen[h.writer] = h.seq
		s.log.recent.followed(entry{h.writer, known})
		if found.All || h.seq == known {
			continue
		}
		if h.seq < known {
			found.All = true // the database is an older one
			continue
		}
		if own, ok := s.log.recent.between(entry{h.writer, known}, h); ok {
			found.Entries = append(found.Entries, own...)
			continue
		}
		if at.Seen[h.writer], err = readEntries(t, entry{h.writer, known}, &found); err != nil {
			return found, since, err
		}
	}
	return found, at, nil
}

// heads returns the number of the newest entry of each writer, 0 of one without any.
func (s *Engine) heads(t *sqlconn.Tx) ([]entry, error) {
	demoted := false
	heads, err := sqlconn.List(t, func(one *sqlconn.Row) entry {
		demoted = demoted || one.Int(2) != 0
		return entry{one.Int(0), one.Int(1)}
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
    `+s.d.Demoted+`
FROM berth_writers w`)
	if err == nil && demoted {
		// It answers, and with what was true when it was the primary.
		s.epoch.Add(1)
		err = t.Fail(sqlconn.ErrDemoted)
	}
	return heads, err
}

// readEntries adds what a writer's entries after a known one say and returns
// the number of the last. Numbers of one writer follow each other, so that a gap means that
// CleanLog, or a person, deleted entries: then anything may have changed.
func readEntries(t *sqlconn.Tx, after entry, found *LogChanges) (int64, error) {
	last := after.seq
	err := t.Each(func(one *sqlconn.Row) {
		if one.Int(0) != last+1 {
			found.All = true // entries between them are deleted
		}
		last = one.Int(0)
		if body := one.Text(1); body != bodyVoid {
			found.Entries = append(found.Entries, body)
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
