package snapshot

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func (p pages[T]) slice() []T {
	var s []T
	for i := range p.len {
		s = append(s, p.get(i))
	}
	return s
}

func TestPagesEqualSlice(t *testing.T) {
	type version struct {
		p    pages[int]
		want []int
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, pageSize - 1, pageSize, pageSize + 1, 3 * pageSize}).Draw(t, "n")
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		versions := []version{{newPages(want), want}}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			last := versions[len(versions)-1]
			i := rapid.IntRange(0, len(last.want)).Draw(t, "i")
			if rapid.Bool().Draw(t, "append") {
				i = len(last.want)
			}
			v := rapid.Int().Draw(t, "v")
			next := append(slices.Clone(last.want[:i:i]), v)
			if i < len(last.want) {
				next = append(next, last.want[i+1:]...)
			}
			versions = append(versions, version{last.p.set(int32(i), v), next})
		}
		for i, v := range versions {
			if diff := cmp.Diff(v.want, v.p.slice(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("version %d (-want +got):\n%s", i, diff)
			}
			if int(v.p.len) != len(v.want) {
				t.Fatalf("version %d has %d items, want %d", i, v.p.len, len(v.want))
			}
		}
	})
}
