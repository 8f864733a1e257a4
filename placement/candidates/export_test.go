package candidates

// SetDeadEnds makes the search check after so many dead ends whether the rest can
// be matched, until restore is called.
func SetDeadEnds(n int) (restore func()) {
	old := deadEnds
	deadEnds = n
	return func() { deadEnds = old }
}

// Unaided returns the result as it is found without any index, by looking into
// every tree.
func Unaided(r *Result) *Result {
	q := *r.query
	q.largest = nil
	q.candidateTrees = newBitset(q.snapshot.IndexLimit())
	for t := range q.snapshot.Trees() {
		q.candidateTrees.add(t.Index())
	}
	return &Result{&q, r.done}
}
