package candidates

import (
	"math/bits"

	"github.com/berthcloud/berth/placement"
)

// A sharer is a provider with the trait SharesViaAggregate that could serve
// some part.
type sharer struct {
	provider *placement.Provider
	tree     *placement.Tree
	// anchors are the trees it shares with: those with a member in one of
	// its aggregates. Its own tree is there when it is in any aggregate.
	anchors bitset
	// serves tells for each part whether the provider can serve it at an
	// anchor that is not its own tree.
	serves []bool
}

// findSharers lists the sharing providers that could serve.
func (p *plan) findSharers() {
	sharing := bitset(p.w.WithSharing())
	for slot := sharing.from(0); slot >= 0; slot = sharing.from(slot + 1) {
		t := p.w.Tree(slot)
		for _, sp := range t.Providers {
			if sp.Shares {
				p.addSharer(sp, t)
			}
		}
	}
}

func (p *plan) addSharer(sp *placement.Provider, t *placement.Tree) {
	serves := make([]bool, len(p.parts))
	useful := false
	for i := range p.parts {
		part := &p.parts[i]
		v, _ := part.judge(sp, false)
		serves[i] = v == fits && part.borrows(t.Slot())
		useful = useful || serves[i]
	}
	if !useful {
		return
	}
	s := sharer{provider: sp, tree: t, serves: serves, anchors: newBitset(p.w.Slots())}
	for _, id := range sp.Aggregates {
		s.anchors.or(p.w.WithAggregate(id))
	}
	p.sharers = append(p.sharers, s)
}

// sharerOf finds the entry of a provider that was picked, nil when it could serve
// no part away from home.
func (c *combiner) sharerOf(local int32) *sharer {
	if s := c.sharer(local); s != nil {
		return s
	}
	for i := range c.sharers {
		if c.sharers[i].provider == c.tree.Providers[local] {
			return &c.sharers[i]
		}
	}
	return nil
}

// repeated reports whether the combination that is complete now also comes up
// at an anchor in an earlier slot. Only providers that share can serve at two
// anchors, so only a combination of such providers alone can come twice; which
// anchor it is then reported at makes no difference to the answer.
func (c *combiner) repeated() bool {
	if len(c.sharers) == 0 {
		return false
	}
	for _, local := range c.picks {
		if p, _ := c.provider(local); !p.Shares {
			return false
		}
	}
	for at := 0; at <= c.slot>>6; at++ {
		for word := c.commonAnchors(at); word != 0; word &= word - 1 {
			slot := at<<6 + bits.TrailingZeros64(word)
			if slot >= c.slot {
				return false
			}
			if c.anchoredAt(slot) {
				return true
			}
		}
	}
	return false
}

// commonAnchors returns one word of the set of live trees that all picks are in
// or share with.
func (c *combiner) commonAnchors(at int) uint64 {
	word := c.live[at]
	for _, local := range c.picks {
		var anchors uint64
		if s := c.sharerOf(local); s != nil {
			anchors = s.anchors[at]
		}
		_, tree := c.provider(local)
		if own := tree.Slot(); own>>6 == at {
			anchors |= 1 << (own & 63)
		}
		word &= anchors
	}
	return word
}

// anchoredAt reports whether the picks, which are all in the tree in that slot
// or share with it, would do there.
func (c *combiner) anchoredAt(slot int) bool {
	root := c.w.Tree(slot).Root()
	if !c.suits(root) {
		return false
	}
	for k, local := range c.picks {
		t := &c.parts[k]
		if t.repels(root) {
			return false
		}
		if p, tree := c.provider(local); tree.Slot() == slot {
			if v, _ := t.judge(p, t.spans(root)); v != fits || !t.within(slot) {
				return false
			}
		} else if s := c.sharerOf(local); s == nil || !s.serves[k] {
			return false
		}
	}
	return true
}
