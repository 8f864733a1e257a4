package logtable

import (
	"context"
	"strings"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

var _ changelog.Log = (*Table[int])(nil)

// Shared is true.
func (l *Table[N]) Shared() bool { return true }

// Appended implements changelog.Log.
func (l *Table[N]) Appended() <-chan struct{} { return l.notifier.Next() }

// Read implements changelog.Log. A writer of the position that is not in the log any more was
// deleted with entries that may be newer than those that are known, so that something is lost.
func (l *Table[N]) Read(ctx context.Context, since changelog.Position, limit int) (p changelog.Page, err error) {
	err = l.reading(ctx, func(t *sqlconn.Tx) error {
		heads, err := l.heads(t)
		p = changelog.Page{At: make(changelog.Position, len(heads))}
		if err != nil || since == nil {
			for _, h := range heads {
				p.At[h.Writer] = h.Seq
			}
			return err
		}
		for _, h := range heads {
			p.At[h.Writer] = min(since[h.Writer], h.Seq)
		}
		for writer := range since {
			_, known := p.At[writer]
			p.Lost = p.Lost || !known
		}
		var lists [][]changelog.Entry
		var more []bool
		for _, h := range heads {
			entries, gap, err := l.entries(t, h, since[h.Writer], limit)
			if err != nil {
				return err
			}
			p.Lost = p.Lost || gap
			if n := len(entries); n > 0 {
				lists, more = append(lists, entries), append(more, entries[n-1].Seq < h.Seq)
			}
		}
		p.Entries, p.More = changelog.Merge(lists, more)
		for _, e := range p.Entries {
			p.At[e.Writer] = e.Seq
		}
		return nil
	})
	return p, err
}

// PositionAt implements changelog.Log. The times are those of the instances, cut to
// Dialect.Precision.
func (l *Table[N]) PositionAt(
	ctx context.Context, at time.Time,
) (since changelog.Position, whole bool, err error) {
	err = l.reading(ctx, func(t *sqlconn.Tx) error {
		since = make(changelog.Position)
		// The entries of a writer that ended are deleted when its beat_at is an hour old, which may be
		// ten minutes behind its newest entry.
		whole = time.Since(at) < 50*time.Minute
		return t.Each(func(row *sqlconn.Row) {
			since[row.Int(0)] = row.Int(1)
			whole = whole && row.Int(1) >= row.Int(2)-1
		}, `
SELECT
    w.id,
    COALESCE(
        (
            SELECT MAX(c.seq)
            FROM berth_changes c
            WHERE c.writer = w.id AND c.created_at < ?
        ),
        0
    ),
    COALESCE(
        (
            SELECT MIN(c.seq)
            FROM berth_changes c
            WHERE c.writer = w.id
        ),
        0
    )
FROM berth_writers w`, sqlconn.Stamp(at.Truncate(l.dialect.Precision)))
	})
	return since, whole, err
}

// heads returns the newest entry of each writer without its body, of number 0 for one without any.
// A server that is not the primary any more has what was true when it was, so that nothing of it
// counts.
func (l *Table[N]) heads(t *sqlconn.Tx) ([]changelog.Entry, error) {
	demoted := false
	heads, err := sqlconn.List(t, func(row *sqlconn.Row) changelog.Entry {
		demoted = demoted || row.Int(2) != 0
		return changelog.Entry{Writer: row.Int(0), Seq: row.Int(1)}
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
    `+l.dialect.Demoted+`
FROM berth_writers w`)
	if err == nil && demoted {
		err = t.Fail(sqlconn.ErrDemoted)
	}
	return heads, err
}

// entries returns the entries of a writer after a known one, up to limit, and whether there is a
// gap: numbers of one writer follow each other, so that a missing one was deleted by Clean, or by a
// person, and a head before what is known is of an older database. What was appended after the head
// was read is left for the next time: heads are read in one statement, so that what all writers
// have up to them is one state of the database.
func (l *Table[N]) entries(
	t *sqlconn.Tx, head changelog.Entry, known int64, limit int,
) (found []changelog.Entry, gap bool, err error) {
	if head.Seq <= known {
		return nil, head.Seq < known, nil
	}
	found, err = sqlconn.List(t, func(row *sqlconn.Row) changelog.Entry {
		return newEntry(head.Writer, row.Int(0), row.Text(1))
	}, `
SELECT
    seq,
    body
FROM berth_changes
WHERE writer = ? AND seq > ? AND seq <= ?
ORDER BY seq
LIMIT ?`, head.Writer, known, head.Seq, limit)
	for i, e := range found {
		gap = gap || e.Seq != known+int64(i)+1
	}
	return found, gap || len(found) == 0, err
}

// newEntry is an entry as the database has it: the last line of a body is the time when the writer
// of the entry notes times, as only some programs do.
func newEntry(writer, seq int64, body string) changelog.Entry {
	e := changelog.Entry{Writer: writer, Seq: seq, Body: body, Void: body == bodyVoid}
	if end := strings.LastIndexByte(body, '\n'); end >= 0 {
		if at, ok := sqlconn.Unstamp(body[end+1:]); ok {
			e.Time, e.Body = at, body[:end]
		}
	}
	return e
}
