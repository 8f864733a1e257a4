package candidates

import (
	"math"
	"math/bits"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A demand is what a query wants of one class.
type demand struct {
	room placement.Room
	most int64 // the most that one part wants
	sum  int64 // what all parts want
}

// demand adds up what is wanted of each class.
func (p *plan) demand() {
	p.demands = make([]demand, len(p.classes))
	for i, class := range p.classes {
		p.demands[i].room = p.w.Room(class)
	}
	for i := range p.parts {
		for _, n := range p.parts[i].needs {
			at, _ := slices.BinarySearch(p.classes, n.class)
			d := &p.demands[at]
			d.most = max(d.most, n.amount)
			d.sum = addUp(d.sum, n.amount)
		}
	}
}

// addUp adds two amounts and stays within the range of its type.
func addUp(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
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
// for a part, or for all parts where one provider must serve all.
func (p *plan) roomy(at int) uint64 {
	word := p.live[at]
	for i := range p.demands {
		d := &p.demands[i]
		word = d.room.Word(at, word, d.most)
		if d.sum > d.most {
			decided := word & p.decided.word(at)
			word &^= decided &^ d.room.Word(at, decided, d.sum)
		}
	}
	return word
}

// A scan goes through the trees that may anchor a candidate. It looks at their
// room a word at a time, so that a search that ends early has not looked at all.
type scan struct {
	c     *combiner
	at    int  // the word that comes next
	taken int  // of c.found
	blind bool // nobody is going to look at the trees soon
	ahead lookahead
}

// scan starts a scan; a combiner can have one at a time.
func (c *combiner) scan() scan {
	c.found = c.found[:0]
	return scan{c: c}
}

// next returns the slot of the next tree, -1 when there is none.
func (s *scan) next() int {
	c := s.c
	if s.taken == len(c.found) && !s.find() {
		return -1
	}
	if s.taken >= s.ahead.seen && !s.blind {
		c.lookAhead(&s.ahead, c.found, true)
	}
	s.taken++
	return int(c.found[s.taken-1])
}

// find finds the next trees, about aheadMost of them.
func (s *scan) find() bool {
	c := s.c
	c.found, s.taken, s.ahead.seen = c.found[:0], 0, 0
	for ; s.at < len(c.live) && len(c.found) < aheadMost/2; s.at++ {
		if c.live[s.at] == 0 {
			continue
		}
		for word := c.roomy(s.at); word != 0; word &= word - 1 {
			c.found = append(c.found, int32(s.at<<6+bits.TrailingZeros64(word)))
		}
	}
	return len(c.found) > 0
}

// may reports whether a scan comes to the tree in a slot.
func (p *plan) may(slot int) bool {
	if !p.live.has(slot) {
		return false
	}
	for i := range p.demands {
		d := &p.demands[i]
		if !d.room.Has(slot, d.most) || d.sum > d.most && p.decided.has(slot) && !d.room.Has(slot, d.sum) {
			return false
		}
	}
	return true
}
