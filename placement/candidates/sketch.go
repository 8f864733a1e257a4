package candidates

import (
	"math/bits"

	"github.com/berthcloud/berth/placement"
)

// Sketches hold, for trees of one shape after the other, which providers a tree
// has for each part, as far as the shape tells: those that offer what the part
// needs and have the traits that it wants. Whether they have room, and what
// aggregates they are in, is left to be seen.
//
// A sketch is a row of numbers: for each part where its row begins and, at the
// end, where the last one ends; then the rows: for each provider its index and, for
// each need of the part, the index of the stock.
type sketches struct {
	numbers []int32
	starts  map[*placement.Shape]int
	last    *placement.Shape // the one that was asked for last
	start   int
}

// maxSketched bounds the numbers that are kept; a world may have as many shapes
// as trees.
const maxSketched = 1 << 16

// forget drops all sketches.
func (s *sketches) forget() {
	s.numbers, s.last = s.numbers[:0], nil
	s.starts = cleared(s.starts)
}

// cleared returns an empty map: m, unless it has grown so big that to clear it
// every time would cost more than a new one.
func cleared[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > 64 {
		return nil
	}
	clear(m)
	return m
}

// sketch returns the sketch of the tree that is open.
func (c *combiner) sketch() []int32 {
	s, shape := &c.sketches, c.tree.Shape()
	if shape == s.last {
		return s.numbers[s.start:]
	}
	start, ok := s.starts[shape]
	if !ok {
		start = c.addSketch(shape)
	}
	s.last, s.start = shape, start
	return s.numbers[start:]
}

// addSketch makes a sketch and returns where it starts.
func (c *combiner) addSketch(shape *placement.Shape) int {
	s := &c.sketches
	if len(s.numbers) > maxSketched {
		s.forget()
	}
	if s.starts == nil {
		s.starts = make(map[*placement.Shape]int)
	}
	start := len(s.numbers)
	s.starts[shape] = start
	for range len(c.parts) + 1 {
		s.numbers = append(s.numbers, 0)
	}
	for k := range c.parts {
		s.numbers[start+k] = int32(len(s.numbers) - start)
		c.sketchPart(&c.parts[k])
	}
	s.numbers[start+len(c.parts)] = int32(len(s.numbers) - start)
	return start
}

// row returns what a sketch has of a part.
func row(sketch []int32, k int) []int32 { return sketch[sketch[k]:sketch[k+1]] }

func (c *combiner) sketchPart(t *part) {
	s := &c.sketches
	for at := 0; at<<6 < len(c.tree.Providers); at++ {
		for set := t.among(c.tree, at); set != 0; set &= set - 1 {
			local := at<<6 + bits.TrailingZeros64(set)
			s.numbers = append(s.numbers, int32(local))
			for i := range t.needs {
				s.numbers = append(s.numbers, stockAt(c.tree.Providers[local], t.needs[i].class))
			}
		}
	}
}

// stockAt returns the index of a provider's stock of a class, which it has.
func stockAt(p *placement.Provider, class placement.ClassID) int32 {
	for i := range p.Inventories {
		if p.Inventories[i].Class == class {
			return int32(i)
		}
	}
	panic("candidates: a tree is not of its shape")
}
