package candidates

import "github.com/berthcloud/berth/placement"

// A lookahead goes along a list of trees that the search is about to come to.
type lookahead struct {
	seen int // of the list
	step int // how many were looked at last
}

// aheadMost is how many trees are looked at before they are needed, at most:
// enough for the processor to fetch several from memory at a time, few enough that
// they are still in its cache when their turn comes.
const aheadMost = 64

// lookAhead looks at the next trees of a list: few at first, since a search may
// end early. Each tree is a chain of pointers into memory that was not used lately.
// The search itself waits for one link after the other; here nothing is done with
// what is read, so that the processor follows many chains at once. It has no
// influence on what is found. Trees that are going to be searched are looked into.
func (c *combiner) lookAhead(l *lookahead, slots []int32, searched bool) {
	l.step = min(max(8, 2*l.step), aheadMost)
	from := l.seen
	l.seen = min(from+l.step, len(slots))
	sum, last := 0, int32(-1)
	for _, slot := range slots[from:l.seen] {
		if slot == last {
			continue
		}
		last = slot
		t := c.w.Tree(int(slot))
		if searched && !c.decided.has(int(slot)) {
			sum += c.lookInto(t)
		}
		if c.ahead != nil && c.suspect < 0 {
			c.ahead(t)
		}
	}
	c.looked += sum // or the compiler would leave out the loop
}

// lookInto reads what gather will read of a tree like the last one: of all parts,
// or of that which the last tree lacked. What it returns is of no meaning.
func (c *combiner) lookInto(t *placement.Tree) (sum int) {
	switch {
	case c.sketches.last != t.Shape():
		return t.Root().Index
	case c.suspect >= 0:
		return c.lookAtPart(t, c.suspect)
	}
	for k := range c.parts {
		sum += c.lookAtPart(t, k)
	}
	return sum
}

func (c *combiner) lookAtPart(t *placement.Tree, k int) (sum int) {
	each := 1 + len(c.parts[k].needs)
	for rest := row(c.sketches.numbers[c.sketches.start:], k); len(rest) > 0; rest = rest[each:] {
		p := t.Providers[rest[0]]
		for _, at := range rest[1:each] {
			sum += int(p.Inventories[at].Used)
		}
	}
	return sum
}
