package candidates

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A mold is a candidate without its tree: the same combination in another tree of
// the same shape makes the same candidate, with other providers.
type mold struct {
	picks  []int32
	uses   []Use   // without providers and trees
	mapped []int32 // the Index of each provider of builder.mapped
	counts []int   // the lengths of the mappings
}

// molds are the molds of an answer.
type molds struct {
	of    map[*placement.Shape][]mold
	shape *placement.Shape // the one that was asked for last
	list  []mold           // of that shape
	last  *mold            // that the builder's candidate was made of, nil when of none
}

// Bounds on how many molds are kept: to find one is to compare the picks, and a
// world may have as many shapes as trees.
const (
	maxMolds  = 8
	maxShapes = 64
)

// find returns the mold for a combination in a tree of a shape, nil when there is
// none.
func (m *molds) find(shape *placement.Shape, picks []int32) *mold {
	if m.shape != shape {
		m.shape, m.list = shape, m.of[shape]
	}
	for i := range m.list {
		if slices.Equal(m.list[i].picks, picks) {
			return &m.list[i]
		}
	}
	return nil
}

// full reports whether no more molds of the shape that was asked for last are
// kept.
func (m *molds) full() bool {
	return len(m.list) == maxMolds || len(m.list) == 0 && len(m.of) == maxShapes
}

func (m *molds) add(one mold) {
	if m.of == nil {
		m.of = make(map[*placement.Shape][]mold)
	}
	m.list = append(m.list, one)
	m.of[m.shape] = m.list
}

// forget drops all molds.
func (m *molds) forget() { *m = molds{of: cleared(m.of)} }

// mold makes the candidate of a combination from one that was made before, and
// reports whether there was one. Sharers have no place in a shape.
func (c *combiner) mold(picks []int32) bool {
	b := &c.builder
	var m *mold
	if len(c.near) == 0 {
		m = b.molds.find(c.tree.Shape(), picks)
	}
	if m == nil {
		b.molds.last = nil
		return false
	}
	if m != b.molds.last {
		b.uses = append(b.uses[:0], m.uses...)
		b.resizeMappings(m.counts)
		b.molds.last = m
	}
	all := c.tree.Providers
	for i := range b.uses {
		u := &b.uses[i]
		u.Provider, u.Tree = all[u.Index], c.tree
	}
	for i, index := range m.mapped {
		b.mapped[i] = all[index]
	}
	return true
}

// resizeMappings gives the mappings other lengths.
func (b *builder) resizeMappings(counts []int) {
	for i, n := range counts {
		b.mappings[i] = b.mappings[i][:n]
	}
}

// keepMold makes a mold of the candidate that was built last.
func (c *combiner) keepMold(picks []int32) {
	b := &c.builder
	if len(c.near) > 0 || b.molds.full() {
		return
	}
	m := mold{picks: slices.Clone(picks), uses: slices.Clone(b.uses)}
	for i := range m.uses {
		m.uses[i].Provider, m.uses[i].Tree = nil, nil
	}
	for _, p := range b.mapped {
		m.mapped = append(m.mapped, int32(p.Index))
	}
	for _, providers := range b.mappings {
		m.counts = append(m.counts, len(providers))
	}
	b.molds.add(m)
}
