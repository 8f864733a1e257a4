package candidates

import (
	"math/bits"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// envelope returns a bound on what descend returns in any tree, false when there
// is none that is of use. No sharing provider may be able to serve.
//
// A part has at most as many providers to choose from as a tree has that offer
// what it needs and have the traits that it wants. Where parts want the same kind
// of provider, and no provider can serve any two of them, each that has one leaves
// one less to the others.
func (p *plan) envelope() (uint64, bool) {
	bound := uint64(1)
	var rivals [][]int
	for k := range p.parts {
		t := &p.parts[k]
		most := p.w.MostWith(t.classes(), t.required)
		at := slices.IndexFunc(rivals, func(parts []int) bool { return p.rival(k, parts) })
		if at < 0 {
			at = len(rivals)
			rivals = append(rivals, nil)
		}
		most -= len(rivals[at])
		rivals[at] = append(rivals[at], k)
		high, low := bits.Mul64(bound, uint64(max(most, 0)))
		if high > 0 || low == 0 {
			return 0, false
		}
		bound = low
	}
	return bound, true
}

// rival reports whether a part wants the same kind of provider as each of the
// others, and none can serve both.
func (p *plan) rival(k int, others []int) bool {
	t := &p.parts[k]
	for _, j := range others {
		o := &p.parts[j]
		if !slices.Equal(t.classes(), o.classes()) || !slices.EqualFunc(t.required, o.required, slices.Equal) {
			return false
		}
		if !(p.isolate() && t.granular && o.granular) && !p.tooMuch(t, o) {
			return false
		}
	}
	return true
}

// tooMuch reports whether two parts want more of a class between them than any
// provider could give.
func (p *plan) tooMuch(t, o *part) bool {
	for _, n := range t.needs {
		for _, m := range o.needs {
			if n.class == m.class && addUp(n.amount, m.amount) > p.w.Room(n.class).Most() {
				return true
			}
		}
	}
	return false
}

// classes lists what a part needs.
func (t *part) classes() []placement.ClassID {
	ids := make([]placement.ClassID, len(t.needs))
	for i, n := range t.needs {
		ids[i] = n.class
	}
	return ids
}
