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

// add adds an inventory, or subtracts it when the sign is -1.
func (t *Totals) add(s *Inventory, sign int64) {
	t.Providers += sign
	t.Total += sign * s.Total
	t.Reserved += sign * s.Reserved
	t.Used += sign * s.Used
	t.Capacity += sign * min(max(s.Capacity(), 0), endlessCapacity)
}
