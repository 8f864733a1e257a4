package candidates

import (
	"math/bits"

	"github.com/berthcloud/berth/placement/snapshot"
)

// A sharingProvider is a provider with the trait SharesViaAggregate that could serve
// some request.
type sharingProvider struct {
	provider *snapshot.Provider
	tree     *snapshot.Tree
	// anchors are the trees it shares with: those with a member in one of
	// its aggregates. Its own tree is there when it is in any aggregate.
	anchors bitset
	// serves tells for each request whether the provider can serve it at an
	// anchor that is not its own tree.
	serves []bool
}

// findSharers lists the sharing providers that could serve.
func (q *compiledQuery) findSharingProviders() {
	sharing := bitset(q.w.WithSharing())
	for index := sharing.from(0); index >= 0; index = sharing.from(index + 1) {
		t := q.w.Tree(index)
		for _, sp := range t.Providers {
			if sp.Shares {
				q.addSharingProvider(sp, t)
			}
		}
	}
}

func (q *compiledQuery) addSharingProvider(sp *snapshot.Provider, t *snapshot.Tree) {
	serves := make([]bool, len(q.requests))
	useful := false
	for i := range q.requests {
		r := &q.requests[i]
		v, _ := r.judge(sp, false)
		serves[i] = v == fits && r.mayUseSharing(t.Index())
		useful = useful || serves[i]
	}
	if !useful {
		return
	}
	s := sharingProvider{provider: sp, tree: t, serves: serves, anchors: newBitset(q.w.IndexLimit())}
	for _, id := range sp.Aggregates {
		s.anchors.or(q.w.WithAggregate(id))
	}
	q.sharingProviders = append(q.sharingProviders, s)
}

// sharerOf finds the entry of an assigned provider, nil when it could serve
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

// repeated reports whether the complete assignment also comes up
// at an anchor of a lower index. Only providers that share can serve at two
// anchors, so only an assignment of such providers alone can come twice; which
// anchor it is then reported at makes no difference to the answer.
func (a *assignment) repeated() bool {
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
	root := a.w.Tree(index).Root()
	if !a.rootQualifies(root) {
		return false
	}
	for k, number := range a.assigned {
		r := &a.requests[k]
		if r.excludesTree(root) {
			return false
		}
		if p, tree := a.provider(number); tree.Index() == index {
			if v, _ := r.judge(p, r.rootCountsForAll(root)); v != fits || !r.within(index) {
				return false
			}
		} else if s := a.sharingProviderOf(number); s == nil || !s.serves[k] {
			return false
		}
	}
	return true
}
