package snapshot

import (
	"math"
	"math/bits"
	"slices"
)

// A FreeCapacity has, for one class, how much single providers could give: for each
// index the most that any one provider of the tree may be requested now, whatever
// its min_unit and step_size say. It never says less than that. It is immutable
// and safe for concurrent use; the zero value has no free capacity anywhere.
type FreeCapacity struct {
	pages []*capacityPage
}

// A capacityPage has the entries of so many indexes. Those of empty indexes, and of
// trees without the class, are 0.
type capacityPage [pageSize]int32

// wordsPerPage is how many words of a bit set go with a page.
const wordsPerPage = pageSize / 64

// entryEnd is the biggest entry. It stands for itself and all above.
const entryEnd = math.MaxInt32

// Word returns, for the 64 indexes of one word of a bit set, those of among whose trees may have a
// provider with free capacity for an amount. Only what it leaves out is certain.
func (r FreeCapacity) Word(word int, among uint64, amount int64) uint64 {
	at := word / wordsPerPage
	switch {
	case among == 0 || amount <= 0:
		return among
	case at >= len(r.pages):
		return 0
	}
	from := word % wordsPerPage * 64
	entries := (*[64]int32)(r.pages[at][from : from+64])
	least := int32(min(amount, entryEnd))
	if bits.OnesCount64(among) < 16 {
		return someWithFree(entries, among, least)
	}
	return among & withFree(entries, least)
}

// withFree looks at all entries, without branches. It takes the same time whatever the entries are;
// for few trees someWithFree is quicker.
func withFree(entries *[64]int32, least int32) (word uint64) {
	for i := range entries {
		// The difference is negative when the entry is at least least.
		word = word>>1 | uint64(uint32(least-1-entries[i])>>31)<<63
	}
	return word
}

// someWithFree looks at some entries one by one.
func someWithFree(entries *[64]int32, among uint64, least int32) uint64 {
	word := among
	for rest := among; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); entries[i&63] < least {
			word &^= 1 << i
		}
	}
	return word
}

// A capacityEdit makes a FreeCapacity from another. It copies each page at most once.
type capacityEdit struct {
	FreeCapacity
	own []bool // the pages that are copies
}

// newCapacityEdit copies the list of pages, none of the pages.
func newCapacityEdit(r FreeCapacity) *capacityEdit {
	return &capacityEdit{FreeCapacity{slices.Clone(r.pages)}, make([]bool, len(r.pages))}
}

// set puts an entry.
func (e *capacityEdit) set(index, entry int32) {
	at := int(index >> pageBits)
	for len(e.pages) <= at {
		e.pages, e.own = append(e.pages, new(capacityPage)), append(e.own, true)
	}
	i := index & (pageSize - 1)
	if e.pages[at][i] == entry {
		return
	}
	if !e.own[at] {
		page := *e.pages[at]
		e.pages[at], e.own[at] = &page, true
	}
	e.pages[at][i] = entry
}

// entry returns the entry of an index, 0 behind the last page.
func (r FreeCapacity) entry(index int32) int32 {
	if at := int(index >> pageBits); at < len(r.pages) {
		return r.pages[at][index&(pageSize-1)]
	}
	return 0
}
