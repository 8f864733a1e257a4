package snapshot

import (
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// A Replacement is the TreeChange of a transaction: From as it was when the
// transaction was checked against it, To as it is after the commit. Both have the
// same providers in the same places.
type Replacement struct{ From, To *Tree }

// RootID is the id of the tree's root.
func (s Replacement) RootID() int64 { return s.From.Root().ID }

// WithChanges returns the snapshot after those of the changed trees that lead on from the
// very trees it has, and the roots of the trees that must be read instead: those
// in c.Roots, whatever else is said of them, and those that a change does not fit on.
func (s *Snapshot) WithChanges(c placement.Changes, built time.Time) (next *Snapshot, read []int64) {
	replaced := make(map[int64]*Tree) // nil: to be read
	for root := range c.Roots {
		replaced[root] = nil
	}
	for _, change := range c.TreeChanges {
		root := change.RootID()
		now, met := replaced[root]
		if !met {
			now = s.TreeOf(root)
		}
		if s, ok := change.(Replacement); ok && now == s.From {
			replaced[root] = s.To
		} else {
			replaced[root] = nil
		}
	}
	var trees []*Tree
	for root, t := range replaced {
		if t == nil {
			read = append(read, root)
		} else {
			trees = append(trees, t)
		}
	}
	return s.withReplaced(trees, built), read
}

// withReplaced replaces trees by others of the same providers. Names and places are the same, so
// that the indexes by name and UUID stay as they are.
func (s *Snapshot) withReplaced(trees []*Tree, built time.Time) *Snapshot {
	if len(trees) == 0 {
		return s
	}
	next := *s
	next.built = built
	e := newEdit(&next)
	for _, t := range trees {
		e.put(t)
	}
	e.finish()
	return &next
}

// A Pending is what claims change on providers while it is not in the snapshot.
type Pending struct {
	Used  map[InventoryKey]int64         // how much more is allocated
	Bumps map[int64]placement.Generation // by how much the generation rises, by provider
}

// An InventoryKey names the inventory of one class on one provider, by their ids.
type InventoryKey struct {
	Provider int64
	Class    placement.ClassID
}

// NewPending returns a Pending without changes, to be filled in.
func NewPending() Pending {
	return Pending{Used: make(map[InventoryKey]int64), Bumps: make(map[int64]placement.Generation)}
}

// After returns the tree after the pending changes to its providers, written at the given time. The
// tree itself does not change.
func (t *Tree) After(l Pending, written time.Time) *Tree {
	next := &Tree{Providers: slices.Clone(t.Providers), aggregates: t.aggregates, sharing: t.sharing}
	for i, p := range t.Providers {
		if changed := p.after(l, written); changed != nil {
			next.Providers[i] = changed
		}
	}
	return next
}

// after returns the provider after the pending changes to it, nil when there are none. The time of
// an inventory stays, as usage is not in its row; that of a provider changes with its generation
// only.
func (p *Provider) after(l Pending, written time.Time) *Provider {
	next, own := *p, false
	for i := range p.Inventories {
		more := l.Used[InventoryKey{p.ID, p.Inventories[i].Class}]
		if more == 0 {
			continue
		}
		if !own {
			next.Inventories, own = slices.Clone(p.Inventories), true
		}
		next.Inventories[i].Used += more
	}
	if by := l.Bumps[p.ID]; by > 0 {
		next.Generation += by
		next.Modified, own = placement.StampOf(written), true
	}
	if !own {
		return nil
	}
	return &next
}
