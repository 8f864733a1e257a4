package candidates_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

var (
	classNames = []string{"VCPU", "DISK_GB", "CUSTOM_NET"}
	traitNames = []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"}
	aggNames   = []string{"x", "y", "z"}
)

// oneIn draws true once in 2 to the power of n. (Numbers from ranges are drawn
// small more often than not.)
func oneIn(t *rapid.T, n int, label string) bool {
	for range n {
		if !rapid.Bool().Draw(t, label) {
			return false
		}
	}
	return true
}

// forest draws a small world: a few trees of a few providers, some that share.
func forest(t *rapid.T) *placementtest.Builder {
	b := placementtest.NewBuilder()
	for _, name := range traitNames {
		b.Trait(name)
	}
	b.Class("CUSTOM_NET")
	sharing := rapid.Bool().Draw(t, "sharing")
	for i := range rapid.IntRange(1, 4).Draw(t, "trees") {
		names := []string{fmt.Sprintf("t%d", i)}
		fill(t, b.Provider(names[0]), sharing)
		for j := range rapid.SampledFrom([]int{0, 2, 3, 4}).Draw(t, "children") {
			name := fmt.Sprintf("%s/p%d", rapid.SampledFrom(names).Draw(t, "parent"), j)
			names = append(names, name)
			fill(t, b.Provider(name), sharing)
		}
	}
	return b
}

// fill gives a provider what it has. With sharing, some share.
func fill(t *rapid.T, p *placementtest.ProviderBuilder, sharing bool) {
	for _, class := range classNames {
		if !oneIn(t, 2, class) {
			p.Stock(class, rapid.Int64Range(2, 8).Draw(t, "total"), func(r *placement.InventoryRow) { bend(t, r) })
		}
	}
	for _, trait := range traitNames {
		if rapid.Bool().Draw(t, trait) {
			p.Traits(trait)
		}
	}
	for _, agg := range aggNames {
		if rapid.Bool().Draw(t, agg) {
			p.Aggregates(agg)
		}
	}
	if sharing && oneIn(t, 2, "shares") {
		p.Shares()
	}
}

// bend makes an inventory odd, sometimes.
func bend(t *rapid.T, r *placement.InventoryRow) {
	r.Used = rapid.Int64Range(0, r.Total/2).Draw(t, "used")
	if !oneIn(t, 2, "odd") {
		return
	}
	switch rapid.IntRange(0, 4).Draw(t, "oddity") {
	case 0:
		r.MaxUnit = rapid.Int64Range(1, 3).Draw(t, "max_unit")
	case 1:
		r.MinUnit = 2
	case 2:
		r.StepSize = 2
	case 3:
		r.Reserved = r.Total / 2
	case 4:
		r.AllocationRatio = 1.5
	}
}

// question draws a query. Odd names are drawn seldom: nobody, a trait or class
// that does not exist.
func question(t *rapid.T, b *placementtest.Builder) placement.Query {
	var q placement.Query
	providers := slices.Collect(providerNames(b.World()))
	var suffixes []string
	for i := range rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(t, "groups") {
		g := placement.RequestGroup{Suffix: fmt.Sprintf("_%d", i)}
		if i == 0 && rapid.Bool().Draw(t, "unsuffixed") {
			g.Suffix = ""
		} else {
			suffixes = append(suffixes, g.Suffix)
		}
		drawGroup(t, &g, providers)
		q.Groups = append(q.Groups, g)
	}
	q.Isolate = rapid.Bool().Draw(t, "isolate")
	q.Flat = oneIn(t, 3, "flat")
	q.BreadthFirst = rapid.Bool().Draw(t, "breadth")
	for range 2 {
		if len(suffixes) > 0 && oneIn(t, 2, "subtree") {
			q.SameSubtrees = append(q.SameSubtrees, rapid.SliceOfNDistinct(rapid.SampledFrom(suffixes), 1, -1, rapid.ID).Draw(t, "set"))
		}
	}
	if oneIn(t, 3, "root") {
		q.RootRequired = drawTraits(t, 1)
		q.RootForbidden = drawTraits(t, 1)
	}
	return q
}

func drawGroup(t *rapid.T, g *placement.RequestGroup, providers []string) {
	if !oneIn(t, 3, "resourceless") {
		for _, class := range rapid.SliceOfNDistinct(rapid.SampledFrom(classNames), 1, 2, rapid.ID).Draw(t, "classes") {
			g.Resources = append(g.Resources, placement.ClassAmount{Class: class, Amount: rapid.Int64Range(1, 2).Draw(t, "amount")})
		}
	}
	if oneIn(t, 7, "banana") {
		g.Resources = append(g.Resources, placement.ClassAmount{Class: "BANANA", Amount: 1})
	}
	for len(g.Required) < 2 && oneIn(t, 2, "required") || len(g.Resources)+len(g.Required) == 0 && !oneIn(t, 3, "vacuous") {
		if anyOf := drawTraits(t, 2); len(anyOf) > 0 {
			g.Required = append(g.Required, anyOf)
		}
	}
	if oneIn(t, 3, "forbids") {
		g.Forbidden = drawTraits(t, 1)
	}
	for oneIn(t, 2, "member") {
		g.MemberOf = append(g.MemberOf, drawAggregates(t))
	}
	if oneIn(t, 4, "stranger") {
		g.NotMemberOf = drawAggregates(t)
	}
	if oneIn(t, 4, "in_tree") {
		g.InTree = placement.UUID(rapid.SampledFrom(append(providers, "nobody")).Draw(t, "tree"))
	}
}

func drawTraits(t *rapid.T, most int) []string {
	names := traitNames
	if oneIn(t, 5, "odd trait") {
		names = append(slices.Clone(names), "CUSTOM_NONE")
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, most, rapid.ID).Draw(t, "traits")
}

func drawAggregates(t *rapid.T) (uuids []placement.UUID) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(append(slices.Clone(aggNames), "nobody")), 1, 2, rapid.ID).Draw(t, "aggregates") {
		uuids = append(uuids, placement.UUID(name))
	}
	return uuids
}

func providerNames(w *placement.World) func(func(string) bool) {
	return func(yield func(string) bool) {
		for t := range w.Trees() {
			for _, p := range t.Providers {
				if !yield(p.Name) {
					return
				}
			}
		}
	}
}

// keys returns the keys of the candidates in the order of the search, or the
// text of the fault.
func keys(t testing.TB, w *placement.World, q placement.Query) ([]string, string) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return nil, err.Error()
	}
	var list []string
	for c := range r.All() {
		list = append(list, key(w, r, c))
		overcommits(t, c)
	}
	return list, ""
}

// overcommits fails the test when a candidate does not fit.
func overcommits(t testing.TB, c candidates.Candidate) {
	for _, u := range c.Uses {
		for _, a := range u.Amounts {
			s := u.Provider.Stock(a.Class)
			if s == nil || !s.Fits(s.Used, a.Amount) || a.Amount > s.MaxUnit {
				t.Fatalf("%s cannot give %d of %d", u.Provider.Name, a.Amount, a.Class)
			}
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func TestSearchEqualsSlowSearch(t *testing.T) {
	compareWithSlow(t)
}

// The search that looks ahead at every step must not see dangers that are none.
func TestCautiousSearchEqualsSlowSearch(t *testing.T) {
	defer candidates.SetPatience(0)()
	compareWithSlow(t)
}

func compareWithSlow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := forest(rt)
		w, q := b.World(), question(rt, b)
		want, wantFault := searchSlow(w, q)
		got, fault := keys(t, w, q)
		if diff := cmp.Diff(wantFault, fault); diff != "" {
			rt.Fatalf("fault (-slow +search):\n%s", diff)
		}
		if diff := cmp.Diff(want, sorted(got)); diff != "" {
			rt.Fatalf("%+v (-slow +search):\n%s", q, diff)
		}
	})
}

func TestCutsAreSubsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := forest(rt)
		w, q := b.World(), question(rt, b)
		if _, err := candidates.Search(w, q); err != nil {
			return
		}
		q.Flat = false // it comes after Max, so that nothing can be said of its number
		all, _ := keys(t, w, q)
		cut := q
		cut.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
		if rapid.Bool().Draw(rt, "sampled") {
			cut.Sample = &placement.Sample{Seed: rapid.Uint64().Draw(rt, "seed")}
		}
		want := min(len(all), cut.Limit)
		if rapid.Bool().Draw(rt, "maximum") {
			cut.Max = rapid.IntRange(1, 5).Draw(rt, "max")
			want = min(want, cut.Max)
		}
		got, _ := keys(t, w, cut)
		again, _ := keys(t, w, cut)
		if diff := cmp.Diff(got, again); diff != "" {
			rt.Fatalf("the same query twice:\n%s", diff)
		}
		if len(got) != want {
			rt.Errorf("%d candidates, want %d of %d", len(got), want, len(all))
		}
		for i, c := range got {
			if !slices.Contains(all, c) || slices.Contains(got[:i], c) {
				rt.Errorf("candidate %s is repeated or not one of the whole answer", c)
			}
		}
	})
}

func TestCapacityNeverRemovesCandidates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := forest(rt)
		q := question(rt, b)
		w := b.World()
		before, fault := keys(t, w, q)
		if fault != "" {
			return
		}
		for tree := range w.Trees() {
			for _, p := range tree.Providers {
				for _, s := range p.Inventories {
					if rapid.Bool().Draw(rt, "more") {
						b.Enlarge(p.Name, s.Class, 3)
					}
				}
			}
		}
		after, _ := keys(t, b.World(), q)
		for _, c := range before {
			if !slices.Contains(after, c) {
				rt.Errorf("%s is gone although there is more", c)
			}
		}
	})
}

func TestCandidatesCanBeClaimed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := forest(rt)
		q := question(rt, b)
		w := b.World()
		r, err := candidates.Search(w, q)
		if err != nil {
			return
		}
		before, _ := keys(t, w, q)
		for c := range r.All() {
			claimed := b.Clone()
			for _, u := range c.Uses {
				for _, a := range u.Amounts {
					claimed.Use(u.Provider.Name, a.Class, a.Amount)
				}
			}
			after, _ := keys(t, claimed.World(), q)
			for _, c := range after {
				if !slices.Contains(before, c) {
					rt.Errorf("%s came up after a claim", c)
				}
			}
			break
		}
	})
}
