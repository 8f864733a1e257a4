package candidates

import (
	"math/bits"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A demand is what a query wants of one class.
type demand struct {
	room placement.Room
	most int64 // the most that one part wants
}

// demand finds the most that a part wants of each class.
func (p *plan) demand() {
	p.demands = make([]demand, len(p.classes))
	for i, class := range p.classes {
		p.demands[i].room = p.w.Room(class)
	}
	for i := range p.parts {
		for _, n := range p.parts[i].needs {
			at, _ := slices.BinarySearch(p.classes, n.class)
			p.demands[at].most = max(p.demands[at].most, n.amount)
		}
	}
}

// keepRoomy keeps those trees in set where single providers have room for a
// part.
func (p *plan) keepRoomy(i int, set bitset) {
	for _, n := range p.parts[i].needs {
		room := p.w.Room(n.class)
		for at := range set {
			set[at] = room.Word(at, set[at], n.amount)
		}
	}
}

// roomy returns one word of the live trees without those that cannot have room
// for a part.
func (p *plan) roomy(at int) uint64 {
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
			s.word = s.roomy(s.at)
		}
		s.at++
	}
	slot := (s.at-1)<<6 + bits.TrailingZeros64(s.word)
	s.word &= s.word - 1
	return slot
}
