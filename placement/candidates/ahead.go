package candidates

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
// influence on what is found.
func (c *combiner) lookAhead(l *lookahead, slots []int32) {
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
		if !c.decided.has(int(slot)) {
			for _, p := range t.Providers {
				sum += p.Index
			}
		}
		if c.ahead != nil {
			c.ahead(t)
		}
	}
	c.looked += sum // or the compiler would leave out the loop
}
