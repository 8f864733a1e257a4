package snapshot

import "slices"

const (
	pageBits = 8
	pageSize = 1 << pageBits
)

// pages is an immutable vector in pages: set makes one new page and the list of
// pages. The zero value is empty. Indexes run from 0 to len-1.
type pages[T any] struct {
	list []*page[T]
	len  int32
}

// A page holds so many items of a vector.
type page[T any] struct{ items [pageSize]T }

// newPages returns a vector with the items of s.
func newPages[T any](s []T) pages[T] {
	p := pages[T]{len: int32(len(s))}
	for chunk := range slices.Chunk(s, pageSize) {
		page := new(page[T])
		copy(page.items[:], chunk)
		p.list = append(p.list, page)
	}
	return p
}

func (p pages[T]) get(i int32) T { return p.list[i>>pageBits].items[i&(pageSize-1)] }

// set returns a vector in which item i is v; i may be the length, which adds
// it.
func (p pages[T]) set(i int32, v T) pages[T] {
	list := slices.Clone(p.list)
	at := int(i >> pageBits)
	if at == len(list) {
		list = append(list, nil)
	}
	page := new(page[T])
	if list[at] != nil {
		page.items = list[at].items
	}
	page.items[i&(pageSize-1)] = v
	list[at] = page
	return pages[T]{list, max(p.len, i+1)}
}
