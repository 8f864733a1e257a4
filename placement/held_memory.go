package placement

import (
	"sync"
	"weak"
)

// A heldMemory has what was held on the providers that were asked about lately, each
// with the provider's tree as it was before that was read: whatever changes what is held
// makes another tree, so that it is good as long as the world has that one. That is so
// where nobody else writes the store. Compute agents ask again and again, and nearly always
// nothing has changed. The zero value is empty; it is safe for concurrent use.
type heldMemory struct {
	mu      sync.Mutex
	by      map[int64]heldOn // by provider
	size    int              // rows and providers
	forgets uint64           // how often all was forgotten
}

// A heldOn is what is held on a provider of that generation.
type heldOn struct {
	tree       weak.Pointer[Tree] // old trees are not kept for its sake
	rows       []AllocationRow
	generation Generation
	forgets    uint64 // of the memory, before the rows were read
}

// mostHeld is how many rows and providers are remembered, some 150 bytes each. When there
// are more the memory begins anew.
const mostHeld = 1 << 15

// on returns what is held on a provider of a tree. When that is not remembered it returns
// false, and what is to be kept once it was read, without the rows.
func (m *heldMemory) on(provider int64, t *Tree) (heldOn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.by[provider]; ok && h.tree.Value() == t {
		return h, true
	}
	return heldOn{tree: weak.Make(t), forgets: m.forgets}, false
}

// keep remembers what is held on a provider, unless all was forgotten since on.
func (m *heldMemory) keep(provider int64, h heldOn) {
	size := 1 + len(h.rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	if size > mostHeld || h.forgets != m.forgets {
		return
	}
	if before, ok := m.by[provider]; ok {
		m.size -= 1 + len(before.rows)
	}
	if m.by == nil || m.size+size > mostHeld {
		m.by, m.size = make(map[int64]heldOn), 0
	}
	m.by[provider] = h
	m.size += size
}

// forget empties the memory.
func (m *heldMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by, m.size = nil, 0
	m.forgets++
}
