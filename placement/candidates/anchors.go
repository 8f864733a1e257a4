package candidates

import "math/bits"

// repeated reports whether the complete assignment also comes up
// at an anchor of a lower index. Only providers that share can serve at two
// anchors, so only an assignment of such providers alone can come twice; which
// anchor it is then reported at makes no difference to the answer.
func (a *assignment) repeated() bool {
	// Without sharing providers each provider is in one tree, and so is each candidate.
	if len(a.sharingProviders) == 0 {
		return false
	}
	for _, number := range a.assigned {
		if p, _ := a.provider(number); !p.Shares {
			return false
		}
	}
	for at := 0; at <= a.treeIndex>>6; at++ {
		for word := a.commonAnchors(at); word != 0; word &= word - 1 {
			index := at<<6 + bits.TrailingZeros64(word)
			if index >= a.treeIndex {
				return false
			}
			if a.anchoredAt(index) {
				return true
			}
		}
	}
	return false
}

// commonAnchors returns one word of the set of candidate trees that all assigned providers are in
// or share with.
func (a *assignment) commonAnchors(at int) uint64 {
	word := a.candidateTrees[at]
	for _, number := range a.assigned {
		var anchors uint64
		if s := a.sharingProviderOf(number); s != nil {
			anchors = s.anchors[at]
		}
		_, tree := a.provider(number)
		if own := tree.Index(); own>>6 == at {
			anchors |= 1 << (own & 63)
		}
		word &= anchors
	}
	return word
}

// anchoredAt reports whether the assigned providers, which are all in the tree at that index
// or share with it, would do there.
func (a *assignment) anchoredAt(index int) bool {
	root := a.snapshot.Tree(index).Root()
	if !a.rootQualifies(root) {
		return false
	}
	for k, number := range a.assigned {
		r := &a.requests[k]
		if r.excludesTree(root) {
			return false
		}
		if p, tree := a.provider(number); tree.Index() == index {
			if v, _ := r.mismatch(p, r.rootCountsForAll(root)); v != fits || !r.within(index) {
				return false
			}
		} else if s := a.sharingProviderOf(number); s == nil || !s.serves[k] {
			return false
		}
	}
	return true
}

// sharingProviderOf finds the entry of an assigned provider, nil when it could serve
// no request of another tree.
func (a *assignment) sharingProviderOf(number int32) *sharingProvider {
	if s := a.sharingProvider(number); s != nil {
		return s
	}
	for i := range a.sharingProviders {
		if a.sharingProviders[i].provider == a.tree.Providers[number] {
			return &a.sharingProviders[i]
		}
	}
	return nil
}
