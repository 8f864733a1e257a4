package placementtest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// What the providers of a Forest have and a Question requests.
var (
	ClassNames     = []string{"VCPU", "DISK_GB", "CUSTOM_NET"}
	TraitNames     = []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"}
	AggregateNames = []string{"x", "y", "z"}
)

// OneIn draws true once in 2 to the power of n. (Numbers from ranges are drawn
// small more often than not.)
func OneIn(t *rapid.T, n int, label string) bool {
	for range n {
		if !rapid.Bool().Draw(t, label) {
			return false
		}
	}
	return true
}

// Forest draws a small snapshot: a few trees of a few providers, some that share.
func Forest(t *rapid.T) *Builder {
	b := NewBuilder()
	for _, name := range TraitNames {
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
func fill(t *rapid.T, p *ProviderBuilder, sharing bool) {
	for _, class := range ClassNames {
		if !OneIn(t, 3, class) {
			p.Inventory(class, rapid.Int64Range(2, 8).Draw(t, "total"), func(r *placement.InventoryRow) { bend(t, r) })
		}
	}
	for _, trait := range TraitNames {
		if rapid.Bool().Draw(t, trait) {
			p.Traits(trait)
		}
	}
	for _, agg := range AggregateNames {
		if rapid.Bool().Draw(t, agg) {
			p.Aggregates(agg)
		}
	}
	if sharing && OneIn(t, 2, "shares") {
		p.Shares()
	}
}

// bend makes an inventory odd, sometimes.
func bend(t *rapid.T, r *placement.InventoryRow) {
	r.Used = rapid.Int64Range(0, r.Total/2).Draw(t, "used")
	if !OneIn(t, 2, "odd") {
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

// Question draws a query. Odd names are drawn seldom: a provider, a trait or a class
// that does not exist.
func Question(t *rapid.T, b *Builder) placement.Query {
	var q placement.Query
	providers := slices.Collect(providerNames(b.Snapshot()))
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
	q.Flat = OneIn(t, 3, "flat")
	q.BreadthFirst = rapid.Bool().Draw(t, "breadth")
	for range 2 {
		if len(suffixes) > 0 && OneIn(t, 2, "subtree") {
			q.SameSubtrees = append(q.SameSubtrees,
				rapid.SliceOfNDistinct(rapid.SampledFrom(suffixes), 1, -1, rapid.ID).Draw(t, "set"))
		}
	}
	if OneIn(t, 3, "root") {
		q.RootRequired = drawTraits(t, 1)
		q.RootForbidden = drawTraits(t, 1)
	}
	return q
}

func drawGroup(t *rapid.T, g *placement.RequestGroup, providers []string) {
	if !OneIn(t, 3, "resourceless") {
		for _, class := range rapid.SliceOfNDistinct(rapid.SampledFrom(ClassNames), 1,
			rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "most"), rapid.ID).Draw(t, "classes") {
			g.Resources = append(g.Resources, placement.ClassAmount{
				Class: class, Amount: rapid.Int64Range(1, 2).Draw(t, "amount"),
			})
		}
	}
	if OneIn(t, 7, "banana") {
		g.Resources = append(g.Resources, placement.ClassAmount{Class: "BANANA", Amount: 1})
	}
	for len(g.Required) < 2 && OneIn(t, 2, "required") ||
		len(g.Resources)+len(g.Required) == 0 && !OneIn(t, 3, "vacuous") {
		if anyOf := drawTraits(t, 2); len(anyOf) > 0 {
			g.Required = append(g.Required, anyOf)
		}
	}
	if OneIn(t, 3, "forbids") {
		g.Forbidden = drawTraits(t, 1)
	}
	for OneIn(t, 3, "member") {
		g.MemberOf = append(g.MemberOf, drawAggregates(t))
	}
	if OneIn(t, 4, "stranger") {
		g.NotMemberOf = drawAggregates(t)
	}
	if OneIn(t, 4, "in_tree") {
		g.InTree = placement.UUID(rapid.SampledFrom(append(providers, "nobody")).Draw(t, "tree"))
	}
}

func drawTraits(t *rapid.T, most int) []string {
	names := TraitNames
	if OneIn(t, 5, "odd trait") {
		names = append(slices.Clone(names), "CUSTOM_NONE")
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, most, rapid.ID).Draw(t, "traits")
}

func drawAggregates(t *rapid.T) (uuids []placement.UUID) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(append(slices.Clone(AggregateNames), "nobody")), 1, 2,
		rapid.ID).Draw(t, "aggregates") {
		uuids = append(uuids, placement.UUID(name))
	}
	return uuids
}

func providerNames(w *snapshot.Snapshot) func(func(string) bool) {
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
