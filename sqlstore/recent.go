package sqlstore

import (
	"sync"

	"github.com/berthcloud/berth/placement"
)

// keepRecent is how many entries of its own a store remembers.
const keepRecent = 256

// recentEntries are what this store wrote into the change log, as it was meant:
// with the steps that no entry can hold. They are kept from before the commit
// until they were followed, so that nobody who follows misses them. It is safe
// for concurrent use.
type recentEntries struct {
	mu     sync.Mutex
	writer int64
	by     map[int64]placement.Changes // by number
}

// keep remembers what an entry says. Entries of an earlier writer are forgotten.
func (r *recentEntries) keep(e entry, c placement.Changes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != e.writer || r.by == nil {
		r.writer, r.by = e.writer, make(map[int64]placement.Changes)
	}
	r.by[e.seq] = c
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

// between adds what the entries of a writer behind a known one, up to a last one,
// say. It reports false, and adds nothing, unless it has all of them.
func (r *recentEntries) between(after, upTo entry, c *placement.Changes) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != upTo.writer || upTo.seq-after.seq > keepRecent {
		return false
	}
	for seq := after.seq + 1; seq <= upTo.seq; seq++ {
		if _, ok := r.by[seq]; !ok {
			return false
		}
	}
	for seq := after.seq + 1; seq <= upTo.seq; seq++ {
		c.Add(r.by[seq])
	}
	return true
}

// followed forgets the entries up to one that is in the picture.
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
