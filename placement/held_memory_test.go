package placement

import "testing"

func TestHeldMemoryIsBounded(t *testing.T) {
	var m heldMemory
	tree := new(Tree)
	keep := func(provider int64, rows int) {
		t.Helper()
		h, known := m.on(provider, tree)
		if known {
			t.Fatalf("provider %d is known already", provider)
		}
		h.rows = make([]AllocationRow, rows)
		m.keep(provider, h)
	}
	for provider := range int64(mostHeld) {
		keep(provider, 2)
		if provider%500 > 0 {
			continue
		}
		size := 0
		for _, h := range m.by {
			size += 1 + len(h.rows)
		}
		if size > mostHeld || size != m.size {
			t.Fatalf("after %d providers the memory has %d, and says %d", provider+1, size, m.size)
		}
		if _, known := m.on(provider, tree); !known {
			t.Fatalf("provider %d is not remembered", provider)
		}
	}
	keep(-1, mostHeld)
	if _, known := m.on(-1, tree); known {
		t.Error("more than the memory has room for is remembered")
	}
}

func TestHeldMemoryIsOfATreeAndOfNow(t *testing.T) {
	var m heldMemory
	tree, later := new(Tree), new(Tree)
	h, _ := m.on(1, tree)
	m.keep(1, h)
	if _, known := m.on(1, tree); !known {
		t.Error("what was kept is not known")
	}
	h, known := m.on(1, later)
	if known {
		t.Error("it is known of another tree")
	}
	m.forget() // while it is read
	m.keep(1, h)
	if _, known := m.on(1, later); known {
		t.Error("what was read before all was forgotten is known")
	}
}
