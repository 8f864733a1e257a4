package watch

import (
	"github.com/berthcloud/berth/rows"
)

// A Poll waits for changes. It must be ended.
type Poll struct {
	// Changed receives a value after changes that concern it.
	Changed <-chan struct{}
	changed chan<- struct{}
	store   *Store

	// The rest is guarded by the store's mutex.

	depends dependencies
	reading bool
	missed  rows.Notes // while it reads
}

// Begin begins a poll that depends on keys.
func (s *Store) Begin(keys ...string) *Poll {
	changed := make(chan struct{}, 1)
	p := &Poll{Changed: changed, changed: changed, store: s}
	p.depends.add(keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls.add(p)
	return p
}

// End ends the poll.
func (p *Poll) End() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.polls.remove(p)
}

// look begins to read. What has changed until now is read.
func (p *Poll) look() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.polls.remove(p)
	p.reading, p.missed = true, rows.Notes{}
	p.store.polls.add(p)
	select {
	case <-p.Changed:
	default:
	}
}

// looked ends a read: from now on the poll depends on what was read. It is woken again by a change
// during the read, which may not have been part of it.
func (p *Poll) looked(d dependencies) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.polls.remove(p)
	p.reading, p.depends = false, d
	p.store.polls.add(p)
	if d.concernedBy(p.missed) {
		p.wake()
	}
}

func (p *Poll) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// dependencies are what a poll depends on.
type dependencies struct {
	all  bool // it has read all rows of a type
	keys map[string]struct{}
}

func (d *dependencies) add(keys ...string) {
	if d.keys == nil {
		d.keys = make(map[string]struct{}, len(keys))
	}
	for _, k := range keys {
		d.keys[k] = struct{}{}
	}
}

func (d *dependencies) concernedBy(n rows.Notes) bool {
	return d.all && !n.Empty() || n.HasAny(d.keys)
}

// polls are the polls of a store, by what they depend on: with thousands of hosts that wait, a
// change must not look at each of them.
type polls struct {
	reading map[*Poll]struct{}
	waiting map[*Poll]struct{} // all others
	onAll   map[*Poll]struct{} // those of them that depend on all changes
	byKey   map[string]map[*Poll]struct{}
}

func newPolls() polls {
	return polls{map[*Poll]struct{}{}, map[*Poll]struct{}{}, map[*Poll]struct{}{}, map[string]map[*Poll]struct{}{}}
}

func (ps polls) add(p *Poll) {
	if p.reading {
		ps.reading[p] = struct{}{}
		return
	}
	ps.waiting[p] = struct{}{}
	if p.depends.all {
		ps.onAll[p] = struct{}{}
		return
	}
	for k := range p.depends.keys {
		same := ps.byKey[k]
		if same == nil {
			same = make(map[*Poll]struct{}, 1)
			ps.byKey[k] = same
		}
		same[p] = struct{}{}
	}
}

func (ps polls) remove(p *Poll) {
	delete(ps.reading, p)
	delete(ps.waiting, p)
	delete(ps.onAll, p)
	for k := range p.depends.keys {
		delete(ps.byKey[k], p)
		if len(ps.byKey[k]) == 0 {
			delete(ps.byKey, k)
		}
	}
}

// notify wakes the polls that changes concern. What changes while a poll reads is kept for it.
func (ps polls) notify(n rows.Notes) {
	if n.Empty() {
		return
	}
	for p := range ps.reading {
		p.missed.Merge(n)
	}
	if n.All {
		for p := range ps.waiting {
			p.wake()
		}
		return
	}
	for p := range ps.onAll {
		p.wake()
	}
	for _, k := range n.Keys() {
		for p := range ps.byKey[k] {
			p.wake()
		}
	}
}
