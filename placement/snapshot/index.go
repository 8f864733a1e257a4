package snapshot

import (
	"hash/maphash"
	"iter"
	"slices"
)

// An index is an immutable table that leads from a hash to the places that were
// added under it. It knows no keys: the caller of a lookup compares what is
// at the places with what is wanted. That makes it small, and lets an entry be
// removed by its place alone, whatever has come to be there since. The zero value
// is an empty index.
//
// The entries are in buckets by the first bits of their hashes, and the buckets
// in pages, of which add and remove copy one.
type index struct {
	buckets pages[[]indexEntry]
	size    int
}

type indexEntry struct {
	hash uint32
	place
}

const (
	bucketSize  = 12 // entries to a bucket, on average, when an index is built
	bucketLimit = 32 // and at most
)

var indexSeed = maphash.MakeSeed()

// hashText and hashID are the hashes of keys. They are 32 bits long: entries of different keys may
// have the same one. The seed differs in each process, so that clients cannot choose names that all
// fall into one bucket.
func hashText(key string) uint32 { return uint32(maphash.String(indexSeed, key) >> 32) }

func hashID(id int64) uint32 { return uint32(maphash.Comparable(indexSeed, id) >> 32) }

// newIndex makes an index of entries. Of those of one hash, earlier ones are found
// first.
func newIndex(entries []indexEntry) index {
	count := 1
	for count*bucketSize < len(entries) {
		count *= 2
	}
	ends := make([]int32, count+1) // where a bucket begins, and then the rest of it
	for _, e := range entries {
		ends[bucketOf(e.hash, count)+1]++
	}
	for i := range count {
		ends[i+1] += ends[i]
	}
	sorted, buckets := make([]indexEntry, len(entries)), make([][]indexEntry, count)
	for i := range buckets {
		if from, to := ends[i], ends[i+1]; from < to {
			buckets[i] = sorted[from:to:to]
		}
	}
	for _, e := range entries {
		i := bucketOf(e.hash, count)
		sorted[ends[i]] = e
		ends[i]++
	}
	return index{newPages(buckets), len(entries)}
}

// bucketOf returns the bucket of a hash, of so many; their number is a power of 2.
func bucketOf(hash uint32, count int) int { return int(uint64(hash) * uint64(count) >> 32) }

// at yields the places that were added under a hash, the last one first.
func (x index) at(hash uint32) iter.Seq[place] {
	return func(yield func(place) bool) {
		if x.size == 0 {
			return
		}
		for _, e := range x.buckets.get(int32(bucketOf(hash, int(x.buckets.len)))) {
			if e.hash == hash && !yield(e.place) {
				return
			}
		}
	}
}

// add returns an index with one place more. When buckets are too full on average, all entries are
// spread over more of them.
func (x index) add(hash uint32, at place) index {
	if x.size >= bucketLimit*int(x.buckets.len) {
		return newIndex(append([]indexEntry{{hash, at}}, x.entries()...))
	}
	i := int32(bucketOf(hash, int(x.buckets.len)))
	return index{x.buckets.set(i, insertAt(x.buckets.get(i), 0, indexEntry{hash, at})), x.size + 1}
}

// remove returns an index without a place that was added under the hash. A place that is not there
// is no error.
func (x index) remove(hash uint32, at place) index {
	if x.size == 0 {
		return x
	}
	i := int32(bucketOf(hash, int(x.buckets.len)))
	bucket := x.buckets.get(i)
	n := slices.Index(bucket, indexEntry{hash, at})
	if n < 0 {
		return x
	}
	return index{x.buckets.set(i, removeAt(bucket, n)), x.size - 1}
}

// entries returns all, bucket by bucket.
func (x index) entries() []indexEntry {
	all := make([]indexEntry, 0, x.size)
	for i := range x.buckets.len {
		all = append(all, x.buckets.get(i)...)
	}
	return all
}

// insertAt returns a copy of s with v at index i.
func insertAt[T any](s []T, i int, v T) []T {
	out := make([]T, 0, len(s)+1)
	out = append(out, s[:i]...)
	out = append(out, v)
	return append(out, s[i:]...)
}

// removeAt returns a copy of s without index i.
func removeAt[T any](s []T, i int) []T {
	out := make([]T, 0, len(s)-1)
	out = append(out, s[:i]...)
	return append(out, s[i+1:]...)
}

// place is where a provider is: its tree's index and its index in the tree.
type place struct {
	tree  int32
	index int32
}
