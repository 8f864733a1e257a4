package candidates

import "math/bits"

// A bitset is a set of small numbers, here of tree indexes. One that is shorter
// than another has zeros at its end.
type bitset []uint64

// has reports whether i is in the set.
func (b bitset) has(i int) bool {
	return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0
}

// add puts i into the set, which must be long enough.
func (b bitset) add(i int) { b[i>>6] |= 1 << (i & 63) }

// or adds the members of o, which must not be longer.
func (b bitset) or(o bitset) {
	for i, word := range o {
		b[i] |= word
	}
}

// and keeps the members of o only.
func (b bitset) and(o bitset) {
	n := min(len(b), len(o))
	for i, word := range o[:n] {
		b[i] &= word
	}
	clear(b[n:])
}

// word returns the members from 64*i on, as bits.
func (b bitset) word(i int) uint64 {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// count returns how many members there are.
func (b bitset) count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// fill puts all numbers below n into the set.
func (b bitset) fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n&63 != 0 {
		b[n>>6] = 1<<(n&63) - 1
	}
}

// from returns the smallest member that is at least i, -1 when there is none.
func (b bitset) from(i int) int {
	word := i >> 6
	if word >= len(b) {
		return -1
	}
	if rest := b[word] >> (i & 63); rest != 0 {
		return i + bits.TrailingZeros64(rest)
	}
	for word++; word < len(b); word++ {
		if b[word] != 0 {
			return word<<6 + bits.TrailingZeros64(b[word])
		}
	}
	return -1
}

// newBitset returns an empty set for numbers below n.
func newBitset(n int) bitset { return make(bitset, (n+63)>>6) }

// resize returns a slice of length n, s itself when it has the capacity; its content is whatever
// was there.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, 2*n)
	}
	return s[:n]
}
