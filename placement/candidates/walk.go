package candidates

// A walk goes over the distinct combinations of all trees, in the order of the
// query's strategy and no more than its Max.
type walk struct {
	c       *combiner
	trees   scan
	opened  bool
	count   int
	breadth bool
	rounds  bool // the first round is over
	turns   []turn
	at      int // the turn that comes next
	kept    int // turns of this round that go on to the next
}

// A turn is a tree that may have more combinations, with the one it was left
// at.
type turn struct {
	slot  int
	taken []int32
}

// newWalk starts a walk. Which tree comes first matters only when not all
// combinations are taken, so that otherwise the cheaper order serves.
func newWalk(c *combiner) *walk {
	q := &c.query
	cut := q.Max > 0 || q.Limit > 0 && q.Sample == nil
	return &walk{c: c, trees: scan{plan: c.plan}, breadth: q.BreadthFirst && cut}
}

// next moves to the next combination and reports whether there is one.
func (w *walk) next() bool {
	if w.c.query.Max > 0 && w.count == w.c.query.Max {
		return false
	}
	if !w.move() {
		return false
	}
	w.count++
	return true
}

func (w *walk) move() bool {
	switch {
	case !w.breadth:
		return w.deep()
	case !w.rounds:
		return w.firstRound() || w.round()
	}
	return w.round()
}

// deep takes all combinations of a tree before the next tree.
func (w *walk) deep() bool {
	for !w.opened || !w.step() {
		slot := w.trees.next()
		if slot < 0 {
			return false
		}
		w.opened = w.c.open(slot)
	}
	return true
}

// step moves on within the tree that is open, past combinations that another
// anchor has too.
func (w *walk) step() bool {
	for w.c.next() {
		if !w.c.repeated() {
			return true
		}
	}
	return false
}

// firstRound takes the first combination of the next tree that has one.
func (w *walk) firstRound() bool {
	for slot := w.trees.next(); slot >= 0; slot = w.trees.next() {
		if w.c.open(slot) && w.step() {
			w.turns = append(w.turns, turn{slot, w.c.save(nil)})
			return true
		}
	}
	w.rounds = true
	return false
}

// round takes the next combination of the tree whose turn it is.
func (w *walk) round() bool {
	for len(w.turns) > 0 {
		if w.at == len(w.turns) {
			w.turns = w.turns[:w.kept]
			w.at, w.kept = 0, 0
			continue
		}
		t := w.turns[w.at]
		w.at++
		w.c.open(t.slot)
		w.c.restore(t.taken)
		if w.step() {
			t.taken = w.c.save(t.taken)
			w.turns[w.kept] = t
			w.kept++
			return true
		}
	}
	return false
}
