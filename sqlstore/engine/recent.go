package engine

import (
	"sync"
)

// keepRecent is how many entries of its own a store keeps in memory.
const keepRecent = 256

// recentEntries are this store's own entries of the change log, with more than their bodies say
// (Service.Encode). They are kept from before the commit until they have been read. It is safe
// for concurrent use.
type recentEntries struct {
	mu     sync.Mutex
	writer int64
	// by has what Service.Encode kept. An entry that is missing is no error: the reader then takes
	// its body from the database.
	by map[int64]any // by number
}

// keep adds an entry. Entries of an earlier writer are dropped.
func (r *recentEntries) keep(e entry, own any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != e.writer || r.by == nil {
		r.writer, r.by = e.writer, make(map[int64]any)
	}
	r.by[e.seq] = own
	delete(r.by, e.seq-keepRecent)
}

// drop drops an entry whose transaction may not have taken place.
func (r *recentEntries) drop(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == e.writer {
		delete(r.by, e.seq)
	}
}

// between returns what was kept of the entries of a writer behind a known one, up to a last one,
// and false unless all of them are there.
func (r *recentEntries) between(after, upTo entry) (all []any, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != upTo.writer || upTo.seq-after.seq > keepRecent {
		return nil, false
	}
	for seq := after.seq + 1; seq <= upTo.seq; seq++ {
		own, ok := r.by[seq]
		if !ok {
			return nil, false
		}
		all = append(all, own)
	}
	return all, true
}

// followed drops the entries up to one that was read.
func (r *recentEntries) followed(upTo entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != upTo.writer {
		return
	}
	for seq := range r.by {
		if seq <= upTo.seq {
			delete(r.by, seq)
		}
	}
}

// An entry is the place of a transaction in the log.
type entry struct{ writer, seq int64 }
