package candidates_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// A tree is an anchor when a candidate of the answer belongs to it, and has a reason when it is
// none.
func TestAnchorsAndReasons(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		q.Flat = false
		r, err := candidates.Search(w, q)
		if err != nil {
			cases.add(false)
			return
		}
		anchors := map[string]bool{}
		for tree := range r.Anchors() {
			anchors[tree.Root().Name] = true
		}
		cases.add(len(anchors) > 0)
		slow := placementtest.AnchorsSlow(w, q)
		for tree := range w.Trees() {
			name := tree.Root().Name
			alone := slow[tree]
			if anchors[name] != alone || r.HasAnchor(tree) != alone {
				rt.Errorf("%s is an anchor: %v and %v, want %v", name, anchors[name], r.HasAnchor(tree), alone)
			}
			reasons := r.Reasons(tree)
			if (len(reasons) == 0) != alone {
				rt.Errorf("%s is an anchor: %v, and reasons %+v", name, alone, reasons)
			}
		}
	})
	cases.enough(t, mostHave)
}

// Reasons name the constraint, the provider that comes closest, and the numbers.
func TestReasons(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 16, func(r *placement.InventoryRow) {
		r.Used, r.MaxUnit = 3, 8
	}).Traits("CUSTOM_OLD")
	b.Provider("cn1/nic0").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 1000, func(r *placement.InventoryRow) {
		r.Used, r.StepSize = 400, 250
	}).Traits("CUSTOM_PHYSNET_1")
	b.Provider("cn1/nic1").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 100).Traits("CUSTOM_PHYSNET_1", "CUSTOM_PHYSNET_2")
	b.Provider("cn1/nic2").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 90).
		Inventory("NET_BW_IGR_KILOBIT_PER_SEC", 1000, func(r *placement.InventoryRow) {
			r.MaxUnit = 700
		}).Traits("CUSTOM_PHYSNET_3")
	b.Trait("CUSTOM_FAST")
	w := b.Snapshot()
	both := placement.RequestGroup{
		Suffix:    "_b",
		Resources: resources(amount("NET_BW_EGR_KILOBIT_PER_SEC", 750), amount("NET_BW_IGR_KILOBIT_PER_SEC", 760)),
		Required:  [][]string{{"CUSTOM_PHYSNET_3"}},
	}
	bandwidth := func(n int64, traits ...string) placement.RequestGroup {
		g := placement.RequestGroup{Suffix: "_p", Resources: resources(amount("NET_BW_EGR_KILOBIT_PER_SEC", n))}
		for _, trait := range traits {
			g.Required = append(g.Required, []string{trait})
		}
		return g
	}
	type reason struct {
		Kind                             candidates.Constraint
		Suffix, Class, Provider, Lacking string
		Requested, Most                  int64
		Traits                           []string
	}
	vcpu := placement.RequestGroup{Resources: resources(amount("VCPU", 1))}
	for name, c := range map[string]struct {
		q    placement.Query
		want []reason
	}{
		"fits": {requests(vcpu), nil},
		"max_unit": {
			requests(placement.RequestGroup{Resources: resources(amount("VCPU", 9))}),
			[]reason{{Kind: candidates.OutOfUnits, Class: "VCPU", Provider: "cn1", Lacking: "VCPU", Requested: 9, Most: 8}},
		},
		"the fullest step": {
			requests(vcpu, bandwidth(750)),
			[]reason{
				{
					Kind: candidates.NoCapacity, Suffix: "_p", Provider: "cn1/nic0", Lacking: "NET_BW_EGR_KILOBIT_PER_SEC",
					Requested: 750, Most: 500,
				},
			},
		},
		"two classes": {
			requests(both),
			[]reason{
				{
					Kind: candidates.NoCapacity, Suffix: "_b", Provider: "cn1/nic2", Lacking: "NET_BW_EGR_KILOBIT_PER_SEC",
					Requested: 750, Most: 90,
				},
				{
					Kind: candidates.OutOfUnits, Suffix: "_b", Provider: "cn1/nic2", Lacking: "NET_BW_IGR_KILOBIT_PER_SEC",
					Requested: 760, Most: 700,
				},
			},
		},
		"two groups": {
			requests(placement.RequestGroup{Resources: resources(amount("DISK_GB", 1))}, bandwidth(250, "CUSTOM_PHYSNET_2")),
			[]reason{
				{Kind: candidates.NoInventory, Class: "DISK_GB", Lacking: "DISK_GB", Requested: 1},
				{
					Kind: candidates.NoCapacity, Suffix: "_p", Provider: "cn1/nic1", Lacking: "NET_BW_EGR_KILOBIT_PER_SEC",
					Requested: 250, Most: 100,
				},
			},
		},
		"enough of another kind": {
			requests(bandwidth(250, "CUSTOM_FAST")),
			[]reason{{Kind: candidates.RequiredTraits, Suffix: "_p", Provider: "cn1/nic0", Traits: []string{"CUSTOM_FAST"}}},
		},
		"fewest traits": {
			requests(bandwidth(50, "CUSTOM_PHYSNET_1", "CUSTOM_FAST")),
			[]reason{{Kind: candidates.RequiredTraits, Suffix: "_p", Provider: "cn1/nic1", Traits: []string{"CUSTOM_FAST"}}},
		},
		"root": {
			placement.Query{
				Groups: requests(vcpu).Groups, RootRequired: []string{"CUSTOM_FAST"}, RootForbidden: []string{"CUSTOM_OLD"},
			},
			[]reason{{Kind: candidates.RootRequired, Provider: "cn1", Traits: []string{"CUSTOM_FAST", "!CUSTOM_OLD"}}},
		},
		"between them": {
			requests(placement.RequestGroup{
				Resources: resources(amount("VCPU", 1)), Required: [][]string{{"CUSTOM_FAST", "CUSTOM_PHYSNET_1"}},
			}),
			[]reason{{Kind: candidates.RequiredTraits, Traits: []string{"CUSTOM_FAST or CUSTOM_PHYSNET_1"}}},
		},
		"together": {
			placement.Query{
				Isolate: true,
				Groups: []placement.RequestGroup{
					bandwidth(250), {Suffix: "_q", Resources: resources(amount("NET_BW_EGR_KILOBIT_PER_SEC", 250))},
				},
			},
			[]reason{{Kind: candidates.Combination}},
		},
		"an aggregate without members": {
			requests(placement.RequestGroup{Resources: resources(amount("VCPU", 1)), MemberOf: [][]placement.UUID{{"nobody"}}}),
			[]reason{{Kind: candidates.MemberOf, Class: "VCPU", Provider: "cn1"}},
		},
	} {
		tree := slices.Collect(w.Trees())[0]
		var got []reason
		for _, m := range search(t, w, c.q).Reasons(tree) {
			one := reason{m.Kind, m.Suffix, m.Class, "", m.Lacking, m.Requested, m.Most, m.Traits}
			if m.Provider != nil {
				one.Provider = m.Provider.Name
			}
			got = append(got, one)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Trees are counted in addition to providers: a tree is dropped by the constraint at which its last
// provider is.
func TestCountTrees(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	b.Provider("a/x").Inventory("VCPU", 1)
	b.Provider("b").Inventory("VCPU", 1)
	b.Provider("c")
	b.Provider("d").Aggregates("pooled")
	b.Provider("pool").Inventory("VCPU", 8).Shares().Aggregates("pooled")
	e, err := candidates.Count(t.Context(), b.Snapshot(),
		requests(placement.RequestGroup{Resources: resources(amount("VCPU", 2))}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[candidates.Constraint][2]int{"remaining": {e.Requests[0].Providers, e.Requests[0].Trees}}
	for _, d := range e.Requests[0].Drops {
		got[d.Kind] = [2]int{d.Providers, d.Trees}
	}
	want := map[candidates.Constraint][2]int{
		candidates.NoInventory: {2, 1}, candidates.NoCapacity: {2, 1}, "remaining": {2, 3},
	}
	if !maps.Equal(got, want) {
		t.Errorf("providers and trees %v, want %v", got, want)
	}
}
