package placement

// A claimantMemory has what the newest batches left consumers with that they made, so
// that what was claimed here a while ago is released without reading it. What it has may
// be out of date: ClaimRows that are made of it miss then, and it is read. For that it
// has consumers only of which the store told the id, which it never gives again: one
// that was removed and made again may be of the same generation. The zero value is empty.
type claimantMemory struct {
	young, old map[UUID]Claimant // old has those that were learnt before all of young
}

// mostYoung is how many consumers make the young ones the old. A memory has twice as
// many at most, some 400 bytes each.
const mostYoung = 4096

// of returns a consumer, and false for one that is not remembered.
func (m *claimantMemory) of(consumer UUID) (Claimant, bool) {
	if c, ok := m.young[consumer]; ok {
		return c, true
	}
	c, ok := m.old[consumer]
	return c, ok
}

// forget drops a consumer.
func (m *claimantMemory) forget(consumer UUID) {
	delete(m.young, consumer)
	delete(m.old, consumer)
}

// learn takes in what was written and is committed.
func (m *claimantMemory) learn(rows *ClaimRows) {
	roots := make(map[int64]int64, len(rows.Providers))
	for _, p := range rows.Providers {
		roots[p.ID] = p.Root
	}
	holds := make(map[UUID][]Hold, len(rows.Made)+len(rows.Kept))
	for _, a := range rows.Allocations {
		holds[a.Consumer] = append(holds[a.Consumer], Hold{
			Provider: a.Provider, ProviderUUID: a.ProviderUUID, Root: roots[a.Provider], Class: a.Class, Used: a.Used,
		})
	}
	for _, c := range rows.Gone {
		m.forget(c.UUID)
	}
	for _, c := range rows.Made {
		if c.ID != 0 {
			m.keep(Claimant{ID: c.ID, UUID: c.UUID, Generation: 1, Holds: holds[c.UUID]})
		}
	}
	for _, c := range rows.Kept {
		if before, ok := m.of(c.UUID); ok && before.ID == c.ID {
			m.keep(Claimant{ID: c.ID, UUID: c.UUID, Generation: c.Generation + 1, Holds: holds[c.UUID]})
		}
	}
}

func (m *claimantMemory) keep(c Claimant) {
	m.forget(c.UUID)
	if m.young == nil || len(m.young) >= mostYoung {
		m.young, m.old = make(map[UUID]Claimant), m.young
	}
	m.young[c.UUID] = c
}
