package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// cloud draws a snapshot of up to a few hundred hosts, most of them single
// providers. What they have comes from a seed: so many drawn values would be too
// slow.
func cloud(t *rapid.T) *placementtest.Builder {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	shares, nests := rapid.Bool().Draw(t, "shares"), rapid.Bool().Draw(t, "nests")
	b := placementtest.NewBuilder()
	for _, name := range placementtest.TraitNames {
		b.Trait(name)
	}
	b.Class("CUSTOM_NET")
	for i := range rapid.SampledFrom([]int{1, 20, 70, 300}).Draw(t, "hosts") {
		name := fmt.Sprintf("h%d", i)
		furnish(rng, b.Provider(name))
		if nests && rng.IntN(4) == 0 {
			furnish(rng, b.Provider(name+"/a"))
			furnish(rng, b.Provider(name+"/a/b"))
		}
	}
	if shares {
		furnish(rng, b.Provider("pool").Shares())
	}
	return b
}

// furnish gives a provider what it has.
func furnish(rng *rand.Rand, p *placementtest.ProviderBuilder) {
	for _, class := range placementtest.ClassNames {
		if rng.IntN(5) > 0 {
			p.Inventory(class, 1+rng.Int64N(8), func(r *placement.InventoryRow) { bendBy(rng, r) })
		}
	}
	for _, trait := range placementtest.TraitNames {
		if rng.IntN(2) == 0 {
			p.Traits(trait)
		}
	}
	for _, agg := range placementtest.AggregateNames {
		if rng.IntN(3) == 0 {
			p.Aggregates(agg)
		}
	}
}

// bendBy makes an inventory odd, sometimes.
func bendBy(rng *rand.Rand, r *placement.InventoryRow) {
	r.Used = rng.Int64N(r.Total + 1)
	switch rng.IntN(20) {
	case 0:
		r.MinUnit = 2
	case 1:
		r.StepSize = 2
	case 2:
		r.MaxUnit = 1
	case 3:
		r.Reserved = r.Total / 2
	case 4:
		r.AllocationRatio = 1.5
	}
}

// orderedKeys are the keys of all candidates, in their order.
func orderedKeys(w *snapshot.Snapshot, r *candidates.Result) []string {
	list := make([]string, 0)
	for c := range r.All() {
		list = append(list, placementtest.Key(w, r, c))
	}
	return list
}

// What the indexes of the snapshot say must be what a look into every tree says.
func TestIndexesChangeNothing(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := cloud(rt)
		w := b.Snapshot()
		for range 5 {
			q := placementtest.Question(rt, b)
			if rapid.Bool().Draw(rt, "cut") {
				q.Limit = rapid.IntRange(0, 40).Draw(rt, "limit")
				q.Max = rapid.IntRange(0, 40).Draw(rt, "max")
			} else {
				q.Groups = q.Groups[:min(len(q.Groups), 2)]
			}
			r, err := candidates.Search(w, q)
			if err != nil {
				cases.add(false)
				continue
			}
			want := orderedKeys(w, candidates.Unaided(r))
			cases.add(len(want) > 0)
			if diff := cmp.Diff(want, orderedKeys(w, r)); diff != "" {
				rt.Fatalf("%+v (-without indexes +with):\n%s", q, diff)
			}
		}
	})
	cases.enough(t, mostHave)
}

// A sample in a bigger snapshot is a part of the whole, and the same for the same seed.
func TestSamplesOfCloudsAreSubsets(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := cloud(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		q.Groups = q.Groups[:min(len(q.Groups), 2)]
		r, err := candidates.Search(w, q)
		if err != nil {
			cases.add(false)
			return
		}
		all := orderedKeys(w, r)
		cases.add(len(all) > 0)
		q.Limit = rapid.SampledFrom([]int{0, 1, 3, 10, 100}).Draw(rt, "limit")
		q.Sample = &placement.Sample{Seed: rapid.Uint64().Draw(rt, "seed")}
		r = search(t, w, q)
		got := orderedKeys(w, r)
		if diff := cmp.Diff(got, orderedKeys(w, search(t, w, q))); diff != "" {
			rt.Fatalf("the same query twice:\n%s", diff)
		}
		want := len(all)
		if q.Limit > 0 {
			want = min(want, q.Limit)
		}
		slices.Sort(all)
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != want || len(got) != want {
			rt.Fatalf("%d candidates, want %d different ones", len(got), want)
		}
		for _, c := range got {
			if _, ok := slices.BinarySearch(all, c); !ok {
				rt.Fatalf("%s is not one of the whole answer", c)
			}
		}
	})
	cases.enough(t, mostHave)
}
