package snapshot

import "github.com/berthcloud/berth/placement"

// Totals are sums over all inventories of a class.
type Totals struct {
	Class placement.ClassID
	// Providers is how many have inventory of the class.
	Providers int64
	// Total, Reserved and Used are in units of the class.
	Total, Reserved, Used int64
	// Capacity is how much can be allocated in all: the sum of what
	// Inventory.Capacity says of each, of which no one counts for more than 2^40.
	Capacity int64
}

// endlessCapacity is what an inventory's capacity counts for at most, so that a ratio
// without bounds does not make the sum of all inventories overflow.
const endlessCapacity = 1 << 40

// add adds an inventory, or takes it away when the sign is -1.
func (t *Totals) add(s *Inventory, sign int64) {
	t.Providers += sign
	t.Total += sign * s.Total
	t.Reserved += sign * s.Reserved
	t.Used += sign * s.Used
	t.Capacity += sign * min(max(s.Capacity(), 0), endlessCapacity)
}

// sum brings the totals from what the old tree adds to them to what the new one does.
// Either may be nil. Providers that both have are passed over.
func (e *edit) sum(was, is *Tree) {
	if was != nil {
		e.sumOf(was, is, -1)
	}
	if is != nil {
		e.sumOf(is, was, 1)
	}
}

// sumOf adds the providers of a tree, but for those that the other has in the same place.
func (e *edit) sumOf(t, other *Tree, sign int64) {
	for i, p := range t.Providers {
		if other != nil && i < len(other.Providers) && other.Providers[i] == p {
			continue
		}
		for j := range p.Inventories {
			s := &p.Inventories[j]
			totals, ok := e.totals[s.Class]
			if !ok {
				totals = e.next.totals[s.Class]
			}
			totals.add(s, sign)
			e.totals[s.Class] = totals
		}
	}
}

// Totals returns the sums of each class of which there is inventory, in the order of the
// classes. They are kept up as providers change: asking costs as much as there are classes.
func (s *Snapshot) Totals() []Totals {
	var all []Totals
	for _, n := range s.classes.List() {
		if t, ok := s.totals[placement.ClassID(n.ID)]; ok {
			t.Class = placement.ClassID(n.ID)
			all = append(all, t)
		}
	}
	return all
}
