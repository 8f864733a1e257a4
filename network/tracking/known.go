package tracking

import "sync"

// known are the traits that placement is known to have, which are not asked for
// again. Agents share most of theirs.
type known struct {
	mu    sync.RWMutex // guards names
	names map[string]struct{}
}

func (k *known) has(name string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.names[name]
	return ok
}

// maxKnown bounds what is remembered: when it is reached, all is found out again.
const maxKnown = 10_000

func (k *known) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil || len(k.names) >= maxKnown {
		k.names = make(map[string]struct{})
	}
	k.names[name] = struct{}{}
}

// forget makes room for the case that somebody removed them.
func (k *known) forget(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range names {
		delete(k.names, n)
	}
}
