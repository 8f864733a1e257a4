package compute

import "sync"

// hostWatches are those who wait for changes of what hosts are to do.
type hostWatches struct {
	mu    sync.Mutex
	all   map[*hostWatch]struct{}
	ended chan struct{}
	end   sync.Once
}

// A hostWatch is for one host, or for none in particular: then it is told of all.
type hostWatch struct {
	host    string
	changed chan struct{} // has one when it is to be looked again
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

// tell has those look again who wait for one of the hosts.
func (w *hostWatches) tell(hosts ...string) {
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
