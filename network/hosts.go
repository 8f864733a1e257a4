package network

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/watch"
)

// HostPorts returns the ports that are bound to a host: those whose active binding is
// there and did not fail.
func (s *Service) HostPorts(ctx context.Context, host string) (all []Port, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = hostPorts(r, host)
		return err
	})
	return all, err
}

func hostPorts(r Reader, host string) ([]Port, error) {
	rows, err := Rows[BindingRow](r, Where(ByHost, host))
	if err != nil {
		return nil, err
	}
	bound := make([]ID, 0, len(rows))
	for _, b := range rows {
		if b.Active && b.bound() {
			bound = append(bound, b.Port)
		}
	}
	if len(bound) == 0 {
		return nil, nil
	}
	return ports(r, Where(ByID, bound...))
}

// bound reports whether the port is plugged in somewhere.
func (b *BindingRow) bound() bool { return b.VIF != VIFUnbound && b.VIF != VIFFailed && b.VIF != "" }

// AwaitHostPorts returns what HostPorts does as soon as that differs from what the caller has, and
// in any case after wait, when the service stops, or when changes cannot be watched. Changes by
// other instances are seen within watch.Interval.
func (s *Service) AwaitHostPorts(ctx context.Context, host string, wait time.Duration, changed func([]Port) bool) ([]Port, error) {
	one := s.watches.add(host)
	defer s.watches.remove(one)
	return watch.Await(ctx, wait, one.changed, s.watches.ended, func() ([]Port, bool, error) {
		s.watches.setPorts(one, nil)
		all, err := s.HostPorts(ctx, host)
		if err != nil || changed(all) {
			return all, true, err
		}
		s.watches.setPorts(one, idSet(all))
		return all, false, nil
	})
}

// RunWatches wakes callers that wait for a host's ports when other instances change them, until ctx
// ends.
func (s *Service) RunWatches(ctx context.Context) {
	watch.Follow(ctx, s.store.Others, func() { s.watches.notify(touched{all: true}) }, s.log)
}

// EndWatches answers all callers that wait for a host's ports, now and later, so that a service
// that stops does not wait for them. It may be called more than once.
func (s *Service) EndWatches() { s.watches.end.Do(func() { close(s.watches.ended) }) }

// touched is what a change has written that matters for the ports of hosts.
type touched struct {
	all   bool // it is not known which
	ports map[ID]bool
	hosts map[string]bool
}

func (t *touched) port(id ID) {
	if t.ports == nil {
		t.ports = map[ID]bool{}
	}
	t.ports[id] = true
}

func (t *touched) host(name string) {
	if t.hosts == nil {
		t.hosts = map[string]bool{}
	}
	t.hosts[name] = true
}

// row notes a row that is written.
func (t *touched) row(row any) {
	switch r := row.(type) {
	case *PortRow:
		t.port(r.ID)
	case *BindingRow:
		t.port(r.Port)
		t.host(r.Host)
	case *RuleRow, *NetworkRow, *SegmentRow:
		t.all = true // the ports that follow it are not read
	}
}

// removed notes rows that are removed.
func (t *touched) removed(row any, where []Match) {
	switch row.(type) {
	case *BindingRow, *PortRow:
		for _, m := range where {
			if m.Field != ByPort && m.Field != ByID {
				continue
			}
			for _, v := range m.Values {
				if id, ok := v.(ID); ok {
					t.port(id)
				}
			}
			return
		}
		t.all = true
	case *RuleRow:
		t.all = true
	}
}

// watches are the callers that wait for changes of a host's ports.
type watches struct {
	mu    sync.Mutex
	all   map[*hostWatch]struct{}
	ended chan struct{}
	end   sync.Once

	written func([]ID) // see OnPorts; nil without a subscriber; guarded by mu
}

// A hostWatch is for one host.
type hostWatch struct {
	host    string
	ports   map[ID]bool   // those of the last read; nil during a read
	changed chan struct{} // receives when the ports must be read again
}

func newWatches() *watches {
	return &watches{all: map[*hostWatch]struct{}{}, ended: make(chan struct{})}
}

// subscribe subscribes fn to ports that are changed.
func (w *watches) subscribe(fn func([]ID)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = fn
}

func (w *watches) listener() func([]ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}

func (w *watches) add(host string) *hostWatch {
	one := &hostWatch{host: host, changed: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[one] = struct{}{}
	return one
}

func (w *watches) remove(one *hostWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
}

// setPorts stores which ports were read; nil says that a read begins.
func (w *watches) setPorts(one *hostWatch, known map[ID]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.ports = known
}

func idSet(all []Port) map[ID]bool {
	set := make(map[ID]bool, len(all))
	for i := range all {
		set[all[i].ID] = true
	}
	return set
}

// notify wakes the watches that a change concerns.
func (w *watches) notify(t touched) {
	if !t.all && len(t.ports) == 0 && len(t.hosts) == 0 {
		return
	}
	if listener := w.listener(); listener != nil && len(t.ports) > 0 {
		listener(slices.Collect(maps.Keys(t.ports)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if one.concerns(t) {
			select {
			case one.changed <- struct{}{}:
			default: // it has yet to look
			}
		}
	}
}

func (w *hostWatch) concerns(t touched) bool {
	if t.all || t.hosts[w.host] || w.ports == nil && len(t.ports) > 0 {
		return true
	}
	for id := range t.ports {
		if w.ports[id] {
			return true
		}
	}
	return false
}
