package compute

import "sync"

// hostWatches are the hosts that wait for changes of their lists.
type hostWatches struct {
	mu    sync.Mutex
	all   map[*hostWatch]struct{}
	ended chan struct{}
	end   sync.Once
}

// A hostWatch is for one host, or for none in particular: then all changes wake it.
type hostWatch struct {
	host    string
	changed chan struct{} // receives when the list must be read again
}

func newHostWatches() *hostWatches {
	return &hostWatches{all: map[*hostWatch]struct{}{}, ended: make(chan struct{})}
}

func (w *hostWatches) add(host string) *hostWatch {
	one := &hostWatch{host, make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[one] = struct{}{}
	return one
}

func (w *hostWatches) remove(one *hostWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
}

// notify wakes the watches of some hosts.
func (w *hostWatches) notify(hosts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		for _, h := range hosts {
			if one.host == "" || one.host == h {
				one.look()
				break
			}
		}
	}
}

// tellAll has all look again.
func (w *hostWatches) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		one.look()
	}
}

func (w *hostWatch) look() {
	select {
	case w.changed <- struct{}{}:
	default: // it has yet to look
	}
}
