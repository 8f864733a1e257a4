package candidates

import "github.com/berthcloud/berth/placement"

// decide finds, among the live trees, those of one provider about which the
// world's indexes say all: they anchor one candidate exactly if a scan comes to
// them, so that nobody need look at the provider. To that end it drops those that
// have what they must not have, which of other trees cannot be told from the
// indexes. No sharing provider may be able to serve.
func (p *plan) decide() {
	if !p.decidable() || len(p.w.Plain()) == 0 {
		return
	}
	p.decided = newBitset(p.w.Slots())
	p.decided.or(p.w.Plain())
	p.decided.and(p.live)
	if p.query.Isolate && p.suffixed() > 1 {
		p.live.drop(p.decided, p.decided)
	}
	for i := range p.parts {
		dropAny(p, p.parts[i].forbidden, p.w.WithTrait)
		dropAny(p, p.parts[i].notMemberOf, p.w.WithAggregate)
	}
	dropAny(p, p.rootForbidden, p.w.WithTrait)
	p.decided.and(p.live)
}

// decidable reports whether the amounts are such that the world's rooms say
// exactly who has them.
func (p *plan) decidable() bool {
	for i := range p.parts {
		for _, n := range p.parts[i].needs {
			if n.amount < 1 {
				return false
			}
		}
	}
	for i := range p.demands {
		if p.demands[i].sum > placement.MostExact {
			return false
		}
	}
	return true
}

// suffixed counts the parts that are suffixed groups.
func (p *plan) suffixed() (n int) {
	for i := range p.parts {
		if p.parts[i].granular {
			n++
		}
	}
	return n
}

// dropAny drops the decided trees that are with any of the ids.
func dropAny[K any](p *plan, ids []K, with func(K) []uint64) {
	for _, id := range ids {
		p.live.drop(p.decided, with(id))
	}
}
