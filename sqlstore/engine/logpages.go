package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Watchers read the bodies of entries by pages, from any position (Service.Watched). Unlike
// ChangesSince that leaves alone what the store keeps in memory for its own follower.

// A LogEntry is an entry of the change log with its body. A Void one took the place of a
// transaction that did not take place.
type LogEntry struct {
	Writer, Seq int64
	Body        string
	Void        bool
}

// A LogPage is a part of the change log: for each writer the entries behind a position, in their
// order.
type LogPage struct {
	Writers [][]LogEntry
	// More has, for each of Writers, whether it has more entries than are in the page.
	More []bool
	// Heads are the numbers of the newest entries of all writers.
	Heads map[int64]int64
	// Lost says that entries behind the position are not in the log any more, or may not be.
	Lost bool
}

// LogPages returns up to most entries of each writer behind a position. For a nil position the page
// has Heads only.
func (s *Engine) LogPages(ctx context.Context, since map[int64]int64, most int) (p LogPage, err error) {
	if !s.d.Shared {
		return s.kept.page(since, most), nil
	}
	err = s.View(ctx, func(t *sqlconn.Tx) error {
		p = LogPage{Heads: make(map[int64]int64)}
		heads, err := s.heads(t)
		if err != nil {
			return err
		}
		for _, h := range heads {
			p.Heads[h.writer] = h.seq
		}
		if since == nil {
			return nil
		}
		for writer := range since {
			if _, ok := p.Heads[writer]; !ok {
				p.Lost = true // it was deleted, with entries that may be newer than those that are known
			}
		}
		for _, h := range heads {
			known := since[h.writer]
			if h.seq < known {
				p.Lost = true // the database is an older one
				continue
			}
			if h.seq == known {
				continue
			}
			found, err := sqlconn.List(t, func(one *sqlconn.Row) LogEntry {
				body := one.Text(1)
				return LogEntry{Writer: h.writer, Seq: one.Int(0), Body: body, Void: body == bodyVoid}
			}, `
SELECT
    seq,
    body
FROM berth_changes
WHERE writer = ? AND seq > ?
ORDER BY seq
LIMIT ?`, h.writer, known, most)
			if err != nil {
				return err
			}
			for i, e := range found {
				p.Lost = p.Lost || e.Seq != known+int64(i)+1
			}
			if len(found) == 0 {
				p.Lost = true
				continue
			}
			p.Writers = append(p.Writers, found)
			p.More = append(p.More, found[len(found)-1].Seq < h.seq)
		}
		return nil
	})
	return p, err
}

// LogSince returns the numbers of the newest entries that were written before a time, by writer,
// and whether the log has all since. The times are those of the instances, cut to
// Dialect.Precision.
func (s *Engine) LogSince(ctx context.Context, at time.Time) (seen map[int64]int64, whole bool, err error) {
	if !s.d.Shared {
		seen, whole = s.kept.since(at)
		return seen, whole, nil
	}
	err = s.View(ctx, func(t *sqlconn.Tx) error {
		seen = make(map[int64]int64)
		// The entries of a writer that ended are deleted when its beat_at is an hour old, which may be
		// ten minutes behind its newest entry.
		whole = time.Since(at) < 50*time.Minute
		return t.Each(func(one *sqlconn.Row) {
			seen[one.Int(0)] = one.Int(1)
			whole = whole && one.Int(1) >= one.Int(2)-1
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
FROM berth_writers w`, sqlconn.Stamp(at.Truncate(s.d.Precision)))
	})
	return seen, whole, err
}

// Logged returns a channel that is closed when this store has appended to the log since the call.
func (s *Engine) Logged() <-chan struct{} { return s.logged.heard() }

// A bell is a channel that is closed at the next ring, and made when somebody listens.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// A keptLog is the log of a file, in memory: its one process is the only writer. It is safe for
// concurrent use.
type keptLog struct {
	writer int64     // drawn at random when the store is opened
	begun  time.Time // and when that was

	mu      *sync.Mutex
	seq     int64 // of the newest entry
	entries []keptEntry
	bytes   int
}

type keptEntry struct {
	body string
	at   time.Time
}

// Bounds of a keptLog.
const (
	keptEntries = 4096
	keptBytes   = 16 << 20
)

func newKeptLog() keptLog {
	return keptLog{writer: 1 + rand.Int64N(1<<53), begun: time.Now(), mu: new(sync.Mutex)}
}

// add appends an entry unless it has one line only, and drops what is too old.
func (k *keptLog) add(body string, at time.Time) {
	if !strings.Contains(body, "\n") {
		return
	}
	body += "\n" + sqlconn.Stamp(at)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq++
	k.entries = append(k.entries, keptEntry{body, at})
	k.bytes += len(body)
	drop := 0
	for ; len(k.entries)-drop > keptEntries || k.bytes > keptBytes; drop++ {
		k.bytes -= len(k.entries[drop].body)
		k.entries[drop] = keptEntry{}
	}
	k.entries = k.entries[drop:]
}

func (k *keptLog) page(since map[int64]int64, most int) LogPage {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := LogPage{Heads: map[int64]int64{k.writer: k.seq}}
	if since == nil {
		return p
	}
	known, same := since[k.writer]
	first := k.seq - int64(len(k.entries)) // the number before the first that is there
	p.Lost = !same && len(since) > 0 || known > k.seq || known < first
	known = max(known, first)
	if known >= k.seq {
		return p
	}
	var found []LogEntry
	for i, e := range k.entries[known-first:] {
		if i == most {
			break
		}
		found = append(found, LogEntry{Writer: k.writer, Seq: known + int64(i) + 1, Body: e.body})
	}
	p.Writers, p.More = [][]LogEntry{found}, []bool{found[len(found)-1].Seq < k.seq}
	return p
}

func (k *keptLog) since(at time.Time) (map[int64]int64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.seq - int64(len(k.entries))
	i := slices.IndexFunc(k.entries, func(e keptEntry) bool { return !e.at.Before(at) })
	if i < 0 {
		i = len(k.entries)
	}
	return map[int64]int64{k.writer: first + int64(i)}, i > 0 || first == 0 && !at.Before(k.begun)
}
