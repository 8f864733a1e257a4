package engine

import "sync"

// keepRecent is how many entries of its own a store remembers.
const keepRecent = 256

// recentEntries are what this store wrote into the change log, as it was meant, which may be
// more than an entry can hold. They are kept from before the commit
// until they were followed, so that nobody who follows misses them. It is safe
// for concurrent use.
type recentEntries struct {
	mu     sync.Mutex
	writer int64
	by     map[int64]any // by number
}

// keep remembers what an entry says. Entries of an earlier writer are forgotten.
func (r *recentEntries) keep(e entry, kept any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != e.writer || r.by == nil {
		r.writer, r.by = e.writer, make(map[int64]any)
	}
	r.by[e.seq] = kept
	delete(r.by, e.seq-keepRecent)
}

// drop forgets an entry whose transaction may not have taken place.
func (r *recentEntries) drop(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer == e.writer {
		delete(r.by, e.seq)
	}
}

// between returns what the entries of a writer behind a known one, up to a last one,
// say, and false unless it has all of them.
func (r *recentEntries) between(after, upTo entry) (all []any, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != upTo.writer || upTo.seq-after.seq > keepRecent {
		return nil, false
	}
	for seq := after.seq + 1; seq <= upTo.seq; seq++ {
		kept, ok := r.by[seq]
		if !ok {
			return nil, false
		}
		all = append(all, kept)
	}
	return all, true
}

// followed forgets the entries up to one that was read.
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
