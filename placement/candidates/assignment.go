package candidates

// deadEnds is how many dead ends in a row the search takes before it checks, for every step,
// whether the rest can be matched at all. It has no influence on what is found. Only a test
// changes it.
var deadEnds = 16

// An assignment gives each request of a query a provider of one tree, depth first: the domains of
// the tree's options in their order, each with its options in theirs. It comes to all complete
// assignments, one after the other.
type assignment struct {
	constraints
	// assigned are the numbers of the providers that the requests have; complete is said of all
	// of them when depth is the number of domains.
	assigned []int32
	depth    int   // how many domains have a provider
	at       []int // by domain: the option that it has, or the last that was tried
	failed   int   // dead ends since the last complete assignment
	matching matching
}

// begin starts with another tree, and reports false when it can see that there is no assignment.
func (a *assignment) begin(index int) bool {
	if a.ended || !a.open(index) || !a.prepare() {
		return false
	}
	a.start()
	return true
}

// start begins with the first option of the tree that was opened and prepared.
func (a *assignment) start() {
	a.depth, a.failed = 0, 0
	a.at = resize(a.at, len(a.domains))
	a.at[0] = a.domains[0].from - 1
}

// next moves on to the next complete assignment and reports whether there is one.
func (a *assignment) next() bool {
	// 1. From a complete assignment the search goes on at its last domain.
	if a.depth == len(a.domains) {
		a.unassign()
	}
	for !a.stopped() {
		// 2. The domain gets its next option, and the one below begins with its first.
		if a.advance() {
			if a.depth == len(a.domains) {
				a.failed = 0
				return true
			}
			a.at[a.depth] = a.domains[a.depth].from - 1
			continue
		}
		// 3. Where there is none, the domain above gets another.
		a.failed++
		if a.depth == 0 {
			return false
		}
		a.unassign()
	}
	return false
}

// advance gives the domain at the current depth the next option that it can have, and reports
// whether there was one.
func (a *assignment) advance() bool {
	d := a.domains[a.depth]
	isolated := a.requested.Isolate && a.requests[d.request].granular
	for at := a.at[a.depth] + 1; at < d.to && !a.stopped(); at++ {
		if isolated && a.taken[a.providers[at]] || !a.assign(at) {
			continue
		}
		if a.failed < deadEnds || a.matching.possible(&a.constraints, a.assigned, a.depth) {
			return true
		}
		a.unassign()
	}
	return false
}

// assign gives the domain at the current depth an option that isolation allows and goes one deeper,
// unless that would break another constraint or leave another request without hope.
func (a *assignment) assign(at int) bool {
	k, number := a.domains[a.depth].request, a.providers[at]
	r := &a.requests[k]
	if !a.affords(r, number) {
		return false
	}
	if a.words > 0 && !a.cover(a.depth, at, r) {
		return false
	}
	if r.granular && len(a.sameSubtrees) > 0 &&
		!a.subtrees.possible(&a.treeOptions, a.assigned, a.depth, a.depth+1, k, number) {
		return false
	}
	a.assigned[k], a.at[a.depth] = number, at
	a.take(r, number)
	a.depth++
	return true
}

// unassign takes the last option back.
func (a *assignment) unassign() {
	a.depth--
	k := a.domains[a.depth].request
	a.release(&a.requests[k], a.assigned[k])
}

// save writes down which options are taken, so that restore can come back to them after other
// trees were open.
func (a *assignment) save(to []int32) []int32 {
	to = to[:0]
	for _, at := range a.at[:a.depth] {
		to = append(to, int32(at))
	}
	return to
}

// restore takes the options that were saved, in a tree that was begun again.
func (a *assignment) restore(from []int32) {
	for _, at := range from {
		a.assign(int(at))
	}
}

// hidden reports whether an assignment must be kept from clients that do not know of trees: when
// two different providers of one tree give resources. Upstream leaves them out after it has cut the
// list to Max, so that there can be fewer than Max even though there are more.
func (a *assignment) hidden() bool {
	if !a.requested.Flat {
		return false
	}
	for i, number := range a.assigned {
		if len(a.requests[i].needs) == 0 {
			continue
		}
		_, tree := a.provider(number)
		for j, other := range a.assigned[:i] {
			if other == number || len(a.requests[j].needs) == 0 {
				continue
			}
			if _, its := a.provider(other); its == tree {
				return true
			}
		}
	}
	return false
}
