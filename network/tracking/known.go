package tracking

import (
	"context"
	"sync"

	"github.com/berthcloud/berth/placement/providertree"
)

// A knownTraits is a placement service of which it is known which traits exist, so that they are
// not created again. Agents share most of theirs.
type knownTraits struct {
	providertree.Placement
	mu    sync.RWMutex // guards names
	names map[string]struct{}
}

// EnsureTrait creates a custom trait unless it is known to exist.
func (k *knownTraits) EnsureTrait(ctx context.Context, name string) error {
	k.mu.RLock()
	_, known := k.names[name]
	k.mu.RUnlock()
	if known {
		return nil
	}
	err := k.Placement.EnsureTrait(ctx, name)
	if err == nil {
		k.add(name)
	}
	return err
}

// maxKnown bounds the cache: when it is full, it is emptied.
const maxKnown = 10_000

func (k *knownTraits) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil || len(k.names) >= maxKnown {
		k.names = make(map[string]struct{})
	}
	k.names[name] = struct{}{}
}

// forget removes traits from the cache, in case they were deleted from placement.
func (k *knownTraits) forget(names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range names {
		delete(k.names, n)
	}
}
