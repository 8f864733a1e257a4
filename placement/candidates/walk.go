package candidates

// A walk goes over the distinct assignments of all trees, in the order of the query's strategy and
// no more than its Max.
type walk struct {
	a       *assignment
	trees   treeOrder
	begun   bool // a tree is open
	count   int
	breadth bool

	// Breadth first, the first round takes one assignment of each tree; the further rounds take
	// another one of each tree that may have more, which are queued.
	rounds bool // the first one is over
	queue  []queued
	at     int // the index in queue of the tree that comes next
	kept   int // how many trees of this round go on to the next
}

// A treeOrder is the order of the trees of a walk: next returns the index of the next tree, -1 when
// there is none.
type treeOrder interface{ next() int }

// A queued tree may have more assignments than the one it was left at.
type queued struct {
	treeIndex int
	taken     []int32
}

// newWalk starts a walk. Which tree comes first matters only when not all assignments are taken, so
// that otherwise the cheaper order serves.
func newWalk(a *assignment, trees treeOrder) *walk {
	q := &a.requested
	cut := q.Max > 0 || q.Limit > 0 && q.Sample == nil
	return &walk{a: a, trees: trees, breadth: q.BreadthFirst && cut}
}

// next moves to the next assignment and reports whether there is one.
func (w *walk) next() bool {
	if most := w.a.requested.Max; most > 0 && w.count == most {
		return false
	}
	w.count++
	if w.breadth {
		return w.nextBreadthFirst()
	}
	// All assignments of a tree come before those of the next tree.
	for !w.begun || !w.step() {
		index := w.trees.next()
		if index < 0 {
			return false
		}
		w.begun = w.a.begin(index)
	}
	return true
}

// nextBreadthFirst moves to the next assignment when trees take turns.
func (w *walk) nextBreadthFirst() bool {
	// 1. In the first round, the first assignment of the next tree that has one.
	for !w.rounds {
		index := w.trees.next()
		if index < 0 {
			w.rounds = true
		} else if w.a.begin(index) && w.step() {
			w.queue = append(w.queue, queued{index, w.a.save(nil)})
			return true
		}
	}
	// 2. In each further round, the next assignment of the next tree in the queue. Trees that
	// have no other leave it.
	for len(w.queue) > 0 && !w.a.ended {
		if w.at == len(w.queue) {
			w.queue = w.queue[:w.kept]
			w.at, w.kept = 0, 0
			continue
		}
		t := w.queue[w.at]
		w.at++
		w.a.begin(t.treeIndex)
		w.a.restore(t.taken)
		if w.step() {
			t.taken = w.a.save(t.taken)
			w.queue[w.kept] = t
			w.kept++
			return true
		}
	}
	return false
}

// step moves on within the tree that is open, past assignments that another anchor has too.
func (w *walk) step() bool {
	for w.a.next() {
		if !w.a.repeated() {
			return true
		}
	}
	return false
}
