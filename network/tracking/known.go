package tracking

import "sync"

// known caches the traits that exist in placement, so that they are not looked up again. Agents
// share most of theirs.
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

// maxKnown bounds the cache: when it is full, it is emptied.
const maxKnown = 10_000

func (k *known) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil || len(k.names) >= maxKnown {
		k.names = make(map[string]struct{})
	}
	k.names[name] = struct{}{}
}

// forget removes traits from the cache, in case they were deleted from placement.
func (k *known) forget(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range names {
		delete(k.names, n)
	}
}
