package candidates_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// units is a snapshot of hosts with that many children of one unit of PGPU each, or,
// of a negative number, with units of their own.
func units(counts ...int) *snapshot.Snapshot {
	b := placementtest.NewBuilder()
	b.Trait("CUSTOM_FAST")
	for i, n := range counts {
		cn := fmt.Sprintf("cn%d", i)
		host := b.Provider(cn)
		if n < 0 {
			host.Inventory("PGPU", int64(-n))
		}
		for j := range n {
			p := b.Provider(fmt.Sprintf("%s/gpu%d", cn, j)).Inventory("PGPU", 1)
			if j%2 == 0 {
				p.Traits("CUSTOM_FAST")
			}
		}
	}
	return b.Snapshot()
}

// pools is a snapshot of twice n hosts. Half of them have one pool of disk, the others two.
func pools(n int) *snapshot.Snapshot {
	b := placementtest.NewBuilder()
	for _, aggregate := range []string{"x", "y"} {
		b.Provider("pool_"+aggregate).Inventory("DISK_GB", 10).Aggregates(aggregate).Shares()
	}
	for i := range 2 * n {
		host := b.Provider(fmt.Sprintf("cn%d", i)).Inventory("VCPU", 4).Aggregates("x")
		if i < n {
			host.Aggregates("y")
		}
	}
	return b.Snapshot()
}

// times repeats counts.
func times(n int, counts ...int) (all []int) {
	for range n {
		all = append(all, counts...)
	}
	return all
}

// All candidates must be in a sample equally often, and come first equally often,
// in whatever tree they are. The seeds are
// fixed, so that this does not fail by chance.
func TestSamplesAreUniform(t *testing.T) {
	racetest.Skip(t)
	fast := requests(placement.RequestGroup{
		Suffix: "_0", Resources: resources(amount("PGPU", 1)), Required: [][]string{{"CUSTOM_FAST"}},
	})
	flat := pieces(2, "PGPU", 1)
	flat.Flat = true
	for _, c := range []struct {
		name   string
		w      *snapshot.Snapshot
		q      placement.Query
		limit  int
		all    int
		rounds int
	}{
		{"SingleProviders", units(times(30, -1, -2, -3)...), pieces(1, "PGPU", 2), 5, 60, 4000},
		{"MostSingleProviders", units(times(30, -1, -2, -3)...), pieces(1, "PGPU", 2), 50, 60, 2000},
		{"AllSingleProviders", units(times(5, -1, -2, -3)...), pieces(1, "PGPU", 2), 0, 10, 4000},
		{"OneProviderOfEachTree", units(times(20, 0, 1, 0, 1)...), pieces(1, "PGPU", 1), 5, 40, 4000},
		{
			"SharingProviders", pools(10),
			requests(placement.RequestGroup{Resources: resources(amount("VCPU", 1), amount("DISK_GB", 1))}), 3, 30, 6000,
		},
		{"UnequalTrees", units(times(20, 0, 1, 3)...), pieces(1, "PGPU", 1), 3, 80, 6000},
		{"TreesAndSingleProviders", units(times(20, -1, 1, 3)...), pieces(1, "PGPU", 1), 3, 100, 6000},
		{"MostOfUnequalTrees", units(times(10, 0, 1, 3)...), pieces(1, "PGPU", 1), 30, 40, 3000},
		{"AllOfUnequalTrees", units(times(3, 0, 1, 3)...), pieces(1, "PGPU", 1), 0, 12, 5000},
		{"FewOfManyTrees", units(append(times(600, 0), times(20, -2, 1, 3)...)...), pieces(1, "PGPU", 1), 3, 100, 6000},
		{"Traits", units(times(20, 2, 1, 3)...), fast, 3, 80, 6000},
		{"GroupsTogether", units(times(14, 1, 2, 4)...), pieces(2, "PGPU", 1), 1, 196, 20000},
		{"ManyInOneTree", units(0, 4, 6), pieces(4, "PGPU", 1), 2, 384, 8000},
		{"ManyIsolated", units(3, 0, 7), isolated(pieces(3, "PGPU", 1)), 1, 216, 8000},
		{"WithoutTangles", units(times(12, -2, 3, 1, -4)...), flat, 1, 24, 4000},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Limit = c.limit
			seen, firsts := make(map[string]int), make(map[string]int)
			size := 0
			for seed := range uint64(c.rounds) {
				c.q.Sample = &placement.Sample{Seed: seed}
				r := search(t, c.w, c.q)
				list := orderedKeys(c.w, r)
				size = len(list)
				firsts[list[0]]++
				for _, key := range list {
					seen[key]++
				}
			}
			mustBeUniform(t, "first", firsts, c.all, 1, c.rounds)
			if size < c.all {
				mustBeUniform(t, "in the sample", seen, c.all, size, c.rounds)
			}
		})
	}
}

// mustBeUniform compares counts of n things, of which size were drawn in each round,
// with the bound of chi-square at 0.999.
func mustBeUniform(t *testing.T, what string, counts map[string]int, n, size, rounds int) {
	t.Helper()
	expected := float64(rounds*size) / float64(n)
	var chi float64
	for _, times := range counts {
		chi += math.Pow(float64(times)-expected, 2) / expected
	}
	// A thing is drawn at most once a round, which makes the sum smaller
	// than that of independent draws.
	chi *= float64(n-1) / float64(n-size)
	free := float64(n - 1)
	bound := free * math.Pow(1-2/(9*free)+3.09*math.Sqrt(2/(9*free)), 3) // Wilson and Hilferty
	if len(counts) != n || chi > bound {
		t.Errorf("%s: %d of %d candidates, chi-square %.1f, bound %.1f", what, len(counts), n, chi, bound)
	}
}
