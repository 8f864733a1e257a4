package snapshot_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// drawBooks makes a random snapshot of up to a dozen providers.
func drawBooks(t *rapid.T) *records {
	b := newRecords()
	for i := range rapid.IntRange(0, 12).Draw(t, "providers") {
		parent := int64(rapid.IntRange(0, i).Draw(t, "parent"))
		p := b.add(fmt.Sprintf("uuid%d", i), fmt.Sprintf("name%d", i), parent)
		for class := range placement.ClassID(bookClasses) {
			if rapid.Bool().Draw(t, "stocked") {
				p.invs[class] = drawInventory(t, p.id, class)
			}
		}
		for _, id := range subset(t, "traits", 1, bookTraits) {
			p.traits[placement.TraitID(id)] = true
		}
		for _, id := range subset(t, "aggregates", 1, bookAggregates) {
			p.aggs[placement.AggregateID(id)] = true
		}
	}
	return b
}

// subset draws numbers between two bounds, none twice.
func subset(t *rapid.T, label string, from, to int) []int {
	return rapid.SliceOfNDistinct(rapid.IntRange(from, to), 0, to-from+1, rapid.ID[int]).Draw(t, label)
}

func sometimes[T any](t *rapid.T, label string, draw func() T) (v T) {
	if rapid.IntRange(0, 2).Draw(t, label) == 0 {
		v = draw()
	}
	return v
}

func traitNames(ids []int) []string {
	var names []string
	_, traits := bookCatalogs()
	for _, id := range ids {
		names = append(names, traits[id-1].Name)
	}
	return names
}

func aggregateUUIDs(ids []int) []placement.UUID {
	var uuids []placement.UUID
	for _, id := range ids {
		uuids = append(uuids, aggregateUUID(placement.AggregateID(id)))
	}
	return uuids
}

// drawFilter names providers and aggregates that may not be there.
func drawFilter(t *rapid.T) snapshot.ProviderFilter {
	f := snapshot.ProviderFilter{
		Name:   sometimes(t, "name", func() string { return fmt.Sprintf("name%d", rapid.IntRange(0, 13).Draw(t, "n")) }),
		UUID:   sometimes(t, "uuid", func() placement.UUID { return drawUUID(t) }),
		InTree: sometimes(t, "tree", func() placement.UUID { return drawUUID(t) }),
		Forbidden: sometimes(t, "forbidden", func() []string {
			return traitNames(subset(t, "f", 1, bookTraits))
		}),
		NotMemberOf: sometimes(t, "not", func() []placement.UUID {
			return aggregateUUIDs(subset(t, "n", 1, bookAggregates+1))
		}),
	}
	for range rapid.IntRange(0, 2).Draw(t, "required") {
		f.Required = append(f.Required, traitNames(append(subset(t, "any", 1, bookTraits), 2)))
	}
	for range rapid.IntRange(0, 2).Draw(t, "members") {
		f.MemberOf = append(f.MemberOf, aggregateUUIDs(append(subset(t, "of", 1, bookAggregates+1), 1)))
	}
	for _, class := range subset(t, "resources", 0, bookClasses-1) {
		if rapid.Bool().Draw(t, "wanted") {
			f.Resources = append(f.Resources, placement.ClassAmount{
				Class: fmt.Sprintf("CLASS_%d", class), Amount: rapid.Int64Range(1, 5).Draw(t, "amount"),
			})
		}
	}
	return f
}

func drawUUID(t *rapid.T) placement.UUID {
	return placement.UUID(fmt.Sprintf("uuid%d", rapid.IntRange(0, 13).Draw(t, "u")))
}

// passes is the plain reading of a filter.
func (b *records) passes(p *record, f snapshot.ProviderFilter) bool {
	_, traits := bookCatalogs()
	has := func(name string) bool {
		return slices.ContainsFunc(traits, func(n placement.Named) bool {
			return n.Name == name && p.traits[placement.TraitID(n.ID)]
		})
	}
	in := func(uuid placement.UUID) bool {
		for id := range p.aggs {
			if aggregateUUID(id) == uuid {
				return true
			}
		}
		return false
	}
	for _, any := range f.Required {
		if !slices.ContainsFunc(any, has) {
			return false
		}
	}
	for _, any := range f.MemberOf {
		if !slices.ContainsFunc(any, in) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Forbidden, has) && !slices.ContainsFunc(f.NotMemberOf, in) &&
		(f.Name == "" || p.name == f.Name) && (f.UUID == "" || p.uuid == f.UUID) &&
		(f.InTree == "" || b.inTree(p, f.InTree)) && p.roomFor(f.Resources)
}

func (b *records) inTree(p *record, uuid placement.UUID) bool {
	for _, q := range b.all {
		if q.uuid == uuid {
			return b.root(q.id) == b.root(p.id)
		}
	}
	return false
}

func (p *record) roomFor(want []placement.ClassAmount) bool {
	for _, r := range want {
		var class placement.ClassID
		fmt.Sscanf(r.Class, "CLASS_%d", &class)
		inv, ok := p.invs[class]
		if !ok || r.Amount < inv.MinUnit || r.Amount > inv.MaxUnit || r.Amount%inv.StepSize != 0 ||
			float64(inv.Used+r.Amount) > float64(inv.Total-inv.Reserved)*inv.AllocationRatio {
			return false
		}
	}
	return true
}

func TestProvidersEqualPlainFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, f := drawBooks(t), drawFilter(t)
		var want []placement.UUID
		for _, id := range b.ids() {
			if b.passes(b.all[id], f) {
				want = append(want, b.all[id].uuid)
			}
		}
		list, err := fresh(b).Providers(f)
		if err != nil {
			t.Fatalf("Providers(%+v): %v", f, err)
		}
		var got []placement.UUID
		for _, l := range list {
			got = append(got, l.UUID)
			if l.Tree.Providers[l.Index] != l.Provider {
				t.Fatalf("%s is listed with another tree", l.UUID)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Providers(%+v) (-want +got):\n%s", f, diff)
		}
	})
}

// Upstream looks names up filter by filter and stops when nothing is left.
func TestProvidersReportUnknownNamesInOrder(t *testing.T) {
	b := newRecords()
	p := b.add("uuid0", "name0", 0)
	p.traits[2], p.aggs[1] = true, true
	s := fresh(b)
	bogus := []placement.ClassAmount{{Class: "BOGUS", Amount: 1}}
	const (
		noTrait = `Invalid trait(s) in "required" parameter: No such trait(s): BOGUS.`
		noClass = "Invalid resource class in resources parameter: No such resource class BOGUS."
	)
	for name, tc := range map[string]struct {
		filter snapshot.ProviderFilter
		want   string
	}{
		"Required":            {snapshot.ProviderFilter{Required: [][]string{{"BOGUS"}}}, noTrait},
		"RequiredAny":         {snapshot.ProviderFilter{Required: [][]string{{"TRAIT_2", "BOGUS"}}}, noTrait},
		"Forbidden":           {snapshot.ProviderFilter{Forbidden: []string{"BOGUS"}}, noTrait},
		"Class":               {snapshot.ProviderFilter{Resources: bogus}, noClass},
		"TraitBeforeClass":    {snapshot.ProviderFilter{Forbidden: []string{"BOGUS"}, Resources: bogus}, noTrait},
		"ClassAfterNoTrait":   {snapshot.ProviderFilter{Required: [][]string{{"TRAIT_3"}}, Resources: bogus}, "<nil>"},
		"ClassAfterNoMember":  {snapshot.ProviderFilter{MemberOf: [][]placement.UUID{{"nobody"}}, Resources: bogus}, "<nil>"},
		"ClassAfterNoTree":    {snapshot.ProviderFilter{InTree: "nowhere", Resources: bogus}, "<nil>"},
		"ClassAfterOtherName": {snapshot.ProviderFilter{Name: "nobody", Resources: bogus}, noClass},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.Providers(tc.filter)
			if len(list) != 0 || fmt.Sprint(err) != tc.want {
				t.Errorf("Providers(%+v) = %v, %v, want none and %q", tc.filter, list, err, tc.want)
			}
			if kind, _ := fault.Of(err); err != nil && kind != fault.Invalid {
				t.Errorf("kind of %v is %v, want Invalid", err, kind)
			}
		})
	}
}
