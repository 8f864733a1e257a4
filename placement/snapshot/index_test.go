package snapshot

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A listed is an index with the plain lists that it must equal.
type listed struct {
	x    index
	want map[uint32][]place // the last one first
}

func (l listed) check(t *rapid.T) {
	t.Helper()
	total := 0
	for hash, want := range l.want {
		total += len(want)
		if got := slices.Collect(l.x.at(hash)); !slices.Equal(got, want) {
			t.Fatalf("at(%x) = %v, want %v", hash, got, want)
		}
	}
	if l.x.size != total || len(l.x.entries()) != total {
		t.Fatalf("size = %d, %d entries, want %d", l.x.size, len(l.x.entries()), total)
	}
}

func (l listed) clone() listed {
	want := make(map[uint32][]place, len(l.want))
	for hash, places := range l.want {
		want[hash] = slices.Clone(places)
	}
	return listed{l.x, want}
}

// TestIndexEqualsLists adds and removes places under few hashes, which collide,
// and many, which make it grow; older versions stay as they were.
func TestIndexEqualsLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.Map(rapid.IntRange(0, rapid.SampledFrom([]int{1, 30, 500}).Draw(t, "hashes")), func(n int) uint32 {
			return uint32(n) * 2654435761
		})
		now := listed{want: map[uint32][]place{}}
		var entries []indexEntry
		for i := range rapid.SampledFrom([]int{0, 1, bucketSize, 400}).Draw(t, "built") {
			h, at := hash.Draw(t, "hash"), place{int32(i), 0}
			entries = append(entries, indexEntry{h, at})
			now.want[h] = append(now.want[h], at)
		}
		now.x = newIndex(entries)
		var older []listed
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				older = append(older, now.clone())
				for range rapid.SampledFrom([]int{1, 60}).Draw(t, "times") {
					h, at := hash.Draw(t, "hash"), place{rapid.Int32().Draw(t, "slot"), 1}
					now.x, now.want[h] = now.x.add(h, at), slices.Insert(now.want[h], 0, at)
				}
			},
			"remove": func(t *rapid.T) {
				older = append(older, now.clone())
				h := hash.Draw(t, "hash")
				at := place{-1, -1}
				if known := now.want[h]; len(known) > 0 {
					at = rapid.SampledFrom(known).Draw(t, "at")
					n := slices.Index(known, at)
					now.want[h] = slices.Delete(known, n, n+1)
				}
				now.x = now.x.remove(h, at)
			},
			"": func(t *rapid.T) { now.check(t) },
		})
		for _, l := range older {
			l.check(t)
		}
	})
}

// TestIndexBucketsStaySmall looks at how full buckets are when an index grew by
// and by.
func TestIndexBucketsStaySmall(t *testing.T) {
	var x index
	for i := range 20_000 {
		x = x.add(hashID(int64(i)), place{int32(i), 0})
	}
	for i := range x.buckets.len {
		if n := len(x.buckets.get(i)); n > 3*bucketLimit {
			t.Fatalf("bucket %d of %d has %d entries", i, x.buckets.len, n)
		}
	}
}
