package changelog

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Bounds of the newest entries that a Memory keeps.
const (
	MemoryEntries = 4096
	memoryBytes   = 16 << 20
)

// NewWriter draws the id of a writer at random from 53 bits, so that writers need not agree on
// them.
func NewWriter() int64 { return 1 + rand.Int64N(1<<53) }

// A Memory is a log in the memory of the only process that writes to a database. It begins when it
// is made and keeps its newest entries. It is safe for concurrent use.
type Memory struct {
	writer   int64
	begun    time.Time
	notifier Notifier

	mu      sync.Mutex
	seq     int64   // of the newest entry
	entries []Entry // the newest
	bytes   int     // of their bodies
}

var _ Log = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory() *Memory { return &Memory{writer: NewWriter(), begun: time.Now()} }

// Append appends the entry of a transaction that is durable, and notifies.
func (m *Memory) Append(body string, at time.Time) {
	defer m.notifier.Notify()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	m.entries = append(m.entries, Entry{Writer: m.writer, Seq: m.seq, Time: at, Body: body})
	m.bytes += len(body)
	drop := 0
	for ; len(m.entries)-drop > MemoryEntries || m.bytes > memoryBytes; drop++ {
		m.bytes -= len(m.entries[drop].Body)
		m.entries[drop] = Entry{}
	}
	m.entries = m.entries[drop:]
}

// Shared is false.
func (m *Memory) Shared() bool { return false }

// Read implements Log. It does not fail.
func (m *Memory) Read(_ context.Context, since Position, limit int) (Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Page{At: Position{m.writer: m.seq}}
	if since == nil {
		return p, nil
	}
	known, same := since[m.writer]
	first := m.seq - int64(len(m.entries)) // the number before the first that is there
	p.Lost = !same && len(since) > 0 || known > m.seq || known < first
	known = max(known, first)
	if known >= m.seq {
		return p, nil
	}
	found := m.entries[known-first:]
	if p.More = len(found) > limit; p.More {
		found = found[:limit]
	}
	p.Entries = slices.Clone(found)
	p.At[m.writer] = known + int64(len(found))
	return p, nil
}

// PositionAt implements Log. It does not fail.
func (m *Memory) PositionAt(_ context.Context, at time.Time) (Position, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.seq - int64(len(m.entries))
	i := slices.IndexFunc(m.entries, func(e Entry) bool { return !e.Time.Before(at) })
	if i < 0 {
		i = len(m.entries)
	}
	whole := i > 0 || first == 0 && !at.Before(m.begun)
	return Position{m.writer: first + int64(i)}, whole, nil
}

// Appended implements Log.
func (m *Memory) Appended() <-chan struct{} { return m.notifier.Next() }
