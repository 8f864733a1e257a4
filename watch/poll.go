package watch

import "github.com/berthcloud/berth/rows"

// A Poll waits for changes. It must be ended.
type Poll struct {
	// Changed receives a value after changes that concern it.
	Changed <-chan struct{}

	changed chan<- struct{}
	store   *Store
	// The rest is guarded by the store's mutex.
	depends dependencies
	looking bool
	missed  rows.Notes // while it looks
}

// Begin begins a poll that depends on keys.
func (s *Store) Begin(keys ...string) *Poll {
	changed := make(chan struct{}, 1)
	p := &Poll{Changed: changed, changed: changed, store: s}
	p.depends.add(keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls[p] = struct{}{}
	return p
}

// End ends the poll.
func (p *Poll) End() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	delete(p.store.polls, p)
}

// look begins to read. What has changed until now is read.
func (p *Poll) look() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.looking, p.missed = true, rows.Notes{}
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
	p.looking, p.depends = false, d
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
