package candidates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// Two groups may request the same, or differ in one thing only.
func TestGroupsAlikeButForOneThing(t *testing.T) {
	b := placementtest.NewBuilder()
	for _, host := range []string{"a", "b"} {
		b.Provider(host).Inventory("VCPU", 4)
		b.Provider(host+"/one").Inventory("VCPU", 4).Traits("CUSTOM_A", "CUSTOM_B").Aggregates("x")
		b.Provider(host+"/two").Inventory("VCPU", 2).Inventory("PGPU", 1).Traits("CUSTOM_B").Aggregates("x", "y")
	}
	w := b.Snapshot()
	for name, change := range map[string]func(*placement.RequestGroup){
		"Nothing":     func(*placement.RequestGroup) {},
		"Amount":      func(g *placement.RequestGroup) { g.Resources = resources(amount("VCPU", 3)) },
		"Class":       func(g *placement.RequestGroup) { g.Resources = resources(amount("PGPU", 1)) },
		"Required":    func(g *placement.RequestGroup) { g.Required = [][]string{{"CUSTOM_A"}} },
		"Forbidden":   func(g *placement.RequestGroup) { g.Forbidden = []string{"CUSTOM_A"} },
		"MemberOf":    func(g *placement.RequestGroup) { g.MemberOf = [][]placement.UUID{{"y"}} },
		"NotMemberOf": func(g *placement.RequestGroup) { g.NotMemberOf = []placement.UUID{"y"} },
		"InTree":      func(g *placement.RequestGroup) { g.InTree = "b/one" },
		"Suffix":      func(g *placement.RequestGroup) { g.Suffix = "" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, changed := range []int{0, 1} {
				q := pieces(2, "VCPU", 1)
				change(&q.Groups[changed])
				want, _ := placementtest.SearchSlow(w, q)
				got, _ := keys(t, w, q)
				if diff := cmp.Diff(want, sorted(got)); diff != "" || len(want) == 0 {
					t.Errorf("group %d is another (-slow +search):\n%s", changed, diff)
				}
			}
		})
	}
}

// Two sharing providers of one tree, one below the other, can be in one subtree
// at an anchor that is another tree.
func TestSharersHaveSubtrees(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("pool").Inventory("DISK_GB", 10).Aggregates("x").Shares()
	b.Provider("pool/fast").Inventory("CUSTOM_NET", 10).Aggregates("x").Shares()
	b.Provider("far").Inventory("CUSTOM_NET", 10).Aggregates("x").Shares()
	b.Provider("host").Inventory("VCPU", 4).Aggregates("x")
	q := requests(
		placement.RequestGroup{Suffix: "_0", Resources: resources(amount("VCPU", 1))},
		placement.RequestGroup{Suffix: "_1", Resources: resources(amount("DISK_GB", 1))},
		placement.RequestGroup{Suffix: "_2", Resources: resources(amount("CUSTOM_NET", 1))},
	)
	q.SameSubtrees = [][]string{{"_1", "_2"}}
	w := b.Snapshot()
	want, _ := placementtest.SearchSlow(w, q)
	got, _ := keys(t, w, q)
	if diff := cmp.Diff(want, sorted(got)); diff != "" || len(want) != 1 {
		t.Errorf("%d candidates (-slow +search):\n%s", len(want), diff)
	}
}
