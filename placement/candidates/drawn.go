package candidates

import "slices"

// A pickIndex finds combinations in a reservoir: a hash table of their numbers.
type pickIndex struct {
	table []int32 // number + 1, 0 where nothing is
}

// reset makes the index empty, with room for so many combinations.
func (x *pickIndex) reset(size int) {
	places := 4
	for places < 2*size {
		places *= 2
	}
	x.table = resize(x.table, places)
	clear(x.table)
}

// holdNew adds a combination unless it is there.
func (r *reservoir) holdNew(slot int, picks []int32) {
	n := len(picks)
	mask := len(r.index.table) - 1
	for at := int(hashPicks(slot, picks)) & mask; ; at = (at + 1) & mask {
		number := int(r.index.table[at])
		if number == 0 {
			r.hold(slot, picks)
			r.index.table[at] = int32(len(r.slots))
			return
		}
		if i := number - 1; int(r.slots[i]) == slot && slices.Equal(r.picks[i*n:(i+1)*n], picks) {
			return
		}
	}
}

// hashPicks hashes a combination; which it is has no influence on what is found.
func hashPicks(slot int, picks []int32) uint64 {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(slot) * prime
	for _, local := range picks {
		h = (h ^ h>>29 ^ uint64(local)) * prime
	}
	return h >> 32
}
