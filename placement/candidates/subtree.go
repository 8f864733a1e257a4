package candidates

// A subtreeState says whether the sets of same_subtree can still be satisfied: the providers of the
// groups of a set must all be below one of them, or be it. Sets of providers have a bit for each
// number of treeOptions.
type subtreeState struct {
	words int
	// pending are, for each set of same_subtree and depth, the providers that the domains of
	// the set from the depth on could have.
	pending []uint64
	// shared are the lineages of the sharing providers.
	shared []uint64
}

// prepare begins with the options of a tree.
func (s *subtreeState) prepare(o *treeOptions) {
	s.words = (o.count() + 63) >> 6
	s.pending = resize(s.pending, len(o.sameSubtrees)*(len(o.domains)+1)*s.words)
	for set, requests := range o.sameSubtrees {
		clear(s.pendingOf(o, set, len(o.domains)))
		for depth := len(o.domains) - 1; depth >= 0; depth-- {
			now, d := s.pendingOf(o, set, depth), o.domains[depth]
			copy(now, s.pendingOf(o, set, depth+1))
			if requests.has(d.request) {
				for _, number := range o.providers[d.from:d.to] {
					now.add(int(number))
				}
			}
		}
	}
	// Of those above a sharing provider only the ones are of interest that share with the tree too.
	s.shared = resize(s.shared, len(o.sharing)*s.words)
	clear(s.shared)
	for i, at := range o.sharing {
		for j, other := range o.sharing {
			a, b := &o.sharingProviders[at], &o.sharingProviders[other]
			if a.tree == b.tree && bitset(a.tree.Lineage(a.provider.Index)).has(b.provider.Index) {
				s.lineage(o, len(o.tree.Providers)+i).add(len(o.tree.Providers) + j)
			}
		}
	}
}

// pendingOf returns the providers that the domains of a set from a depth on could have.
func (s *subtreeState) pendingOf(o *treeOptions, set, depth int) bitset {
	at := (set*(len(o.domains)+1) + depth) * s.words
	return s.pending[at : at+s.words]
}

// lineage returns a provider and those above it.
func (s *subtreeState) lineage(o *treeOptions, number int) bitset {
	if number < len(o.tree.Providers) {
		return o.tree.Lineage(number)
	}
	at := (number - len(o.tree.Providers)) * s.words
	return s.shared[at : at+s.words]
}

// possible reports whether the sets that a request is in can still be satisfied when it gets a
// provider. assigned has what the domains above depth have; those from open on may still bring the
// provider that all others of a set are below.
func (s *subtreeState) possible(o *treeOptions, assigned []int32, depth, open, request int, number int32) bool {
sets:
	for set, requests := range o.sameSubtrees {
		if !requests.has(request) {
			continue
		}
		pending := s.pendingOf(o, set, open)
		for at := range pending {
			// pendingWord are the providers that belong to the set or may come to, above those that
			// all that belong to it are below.
			pendingWord, above := pending[at]|wordWith(number, at), s.lineage(o, int(number)).word(at)
			for _, d := range o.domains[:depth] {
				if above == 0 {
					break
				}
				if requests.has(d.request) {
					pendingWord |= wordWith(assigned[d.request], at)
					above &= s.lineage(o, int(assigned[d.request])).word(at)
				}
			}
			if above&pendingWord != 0 {
				continue sets
			}
		}
		return false
	}
	return true
}

// wordWith returns word at of the set of one provider.
func wordWith(number int32, at int) uint64 {
	if int(number)>>6 != at {
		return 0
	}
	return 1 << (number & 63)
}
