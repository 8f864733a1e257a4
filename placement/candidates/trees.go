package candidates

import (
	"math/bits"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// narrow finds the trees that may anchor a candidate: those that have, or are
// shared, every class, trait and aggregate that is wanted somewhere. What they
// have room for is left to the scan of the trees, but for queries that sharing
// providers could serve.
func (p *plan) narrow() {
	p.live = newBitset(p.w.Slots())
	p.live.fill(p.w.Slots())
	for _, id := range p.rootRequired {
		p.live.and(p.w.WithTrait(id))
	}
	if len(p.sharers) == 0 {
		p.narrowAlone()
	} else {
		p.narrowShared()
	}
}

// narrowAlone is for queries that no sharing provider could serve.
func (p *plan) narrowAlone() {
	for i := range p.requests {
		p.keepOwn(i, p.live)
	}
	for _, ids := range p.required {
		keepAny(p.live, ids, p.w.WithTrait)
	}
	p.demand()
}

// narrowShared adds, for each request, the anchors of the sharers that could serve
// it to the trees that could serve it themselves.
func (p *plan) narrowShared() {
	slots := p.w.Slots()
	set := newBitset(slots)
	for i := range p.requests {
		set.fill(slots)
		p.keepOwn(i, set)
		p.keepWithCapacity(i, set)
		p.addAnchors(set, func(s *sharer) bool { return s.serves[i] })
		p.live.and(set)
	}
	for _, ids := range p.required {
		set.fill(slots)
		keepAny(set, ids, p.w.WithTrait)
		p.addAnchors(set, func(s *sharer) bool { return hasAny(s.provider, ids) })
		p.live.and(set)
	}
}

// keepOwn keeps those trees in set whose own providers may serve a request.
func (p *plan) keepOwn(i int, set bitset) {
	r := &p.requests[i]
	if r.inTree >= 0 {
		had := set.has(r.inTree)
		clear(set)
		if had {
			set.add(r.inTree)
		}
	}
	for _, n := range r.needs {
		set.and(p.w.WithClass(n.class))
	}
	for _, ids := range r.required {
		keepAny(set, ids, p.w.WithTrait)
	}
	for _, ids := range r.memberOf {
		keepAny(set, ids, p.w.WithAggregate)
	}
}

// keepAny keeps those trees in set that are with any of the ids.
func keepAny[K any](set bitset, ids []K, with func(K) []uint64) {
	if len(ids) == 1 {
		set.and(with(ids[0]))
		return
	}
	union := make(bitset, len(set))
	for _, id := range ids {
		union.or(with(id))
	}
	set.and(union)
}

// addAnchors adds the anchors of the sharing providers for which ok holds.
func (p *plan) addAnchors(set bitset, ok func(*sharer) bool) {
	for i := range p.sharers {
		if s := &p.sharers[i]; ok(s) {
			set.or(s.anchors)
		}
	}
}

// A demand is what a query wants of one class.
type demand struct {
	room placement.Room
	most int64 // the most that one request wants
}

// demand finds the most that a request wants of each class.
func (p *plan) demand() {
	p.demands = make([]demand, len(p.classes))
	for i, class := range p.classes {
		p.demands[i].room = p.w.Room(class)
	}
	for i := range p.requests {
		for _, n := range p.requests[i].needs {
			at, _ := slices.BinarySearch(p.classes, n.class)
			p.demands[at].most = max(p.demands[at].most, n.amount)
		}
	}
}

// keepWithCapacity keeps those trees in set where single providers have room for a
// request.
func (p *plan) keepWithCapacity(i int, set bitset) {
	for _, n := range p.requests[i].needs {
		room := p.w.Room(n.class)
		for at := range set {
			set[at] = room.Word(at, set[at], n.amount)
		}
	}
}

// withCapacity returns one word of the live trees without those that cannot have room
// for a request.
func (p *plan) withCapacity(at int) uint64 {
	word := p.live[at]
	for i := range p.demands {
		d := &p.demands[i]
		word = d.room.Word(at, word, d.most)
	}
	return word
}

// A scan goes through the trees that may anchor a candidate. It looks at their
// room a word at a time, so that a search that ends early has not looked at all.
type scan struct {
	*plan
	at   int    // the word that comes next
	word uint64 // what is left of the one before
}

// next returns the slot of the next tree, -1 when there is none.
func (s *scan) next() int {
	for s.word == 0 {
		if s.at == len(s.live) {
			return -1
		}
		if s.live[s.at] != 0 {
			s.word = s.withCapacity(s.at)
		}
		s.at++
	}
	slot := (s.at-1)<<6 + bits.TrailingZeros64(s.word)
	s.word &= s.word - 1
	return slot
}
