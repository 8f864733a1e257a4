package reshape_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/reshape"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

const (
	root = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"
	card = "cn1_card"
)

// tree is a host with 8 VGPU, of which one consumer has 3 and another 1, and a card with 2.
func tree() providertree.Tree {
	i := func(total, reserved int64) placement.Inventory {
		return placement.Inventory{
			Total: total, Reserved: reserved, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1,
		}
	}
	return providertree.Tree{
		Providers: []providertree.Provider{
			{
				ID: root, Name: "cn1", Generation: 7, Used: map[string]int64{"VGPU": 4, "VCPU": 2},
				Inventories: map[string]placement.Inventory{"VGPU": i(8, 1), "VCPU": i(16, 0)},
			},
			{
				ID: "00000000-0000-4000-8000-0000000000cc", Name: card, Parent: root, Generation: 3, Used: map[string]int64{},
				Inventories: map[string]placement.Inventory{"VGPU": i(2, 0)},
			},
		},
		Allocations: map[string]allocations.Consumer{
			"one": {Amounts: allocations.Amounts{root: {"VGPU": 3, "VCPU": 2}, "pool": {"DISK_GB": 7}}},
			"two": {Amounts: allocations.Amounts{root: {"VGPU": 1}}},
		},
	}
}

func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		moves string
		want  []string
		err   string
	}{
		"All": {
			moves: `[{"from_resource_provider": "cn1", "moved_resources": {"VGPU": 8}, "to_resource_provider": "cn1_card"}]`,
			want: []string{
				"cn1 VGPU 8/4 to 0/0", "cn1_card VGPU 2/0 to 10/4", "one 3 VGPU to VGPU", "two 1 VGPU to VGPU",
				"request cn1 at 7: VCPU 16-0", "request cn1_card at 3: VGPU 10-1 max 10",
			},
		},
		"APart": {
			moves: "- {from_resource_provider: " + root +
				", moved_resources: [VGPU: 3], to_resource_provider: cn1_new, consumers: {one: 2}}",
			want: []string{
				"cn1 VGPU 8/4 to 5/2", "cn1_new VGPU 0/0 to 3/2", "one 2 VGPU to VGPU", "create cn1_new",
				"request cn1 at 7: VCPU 16-0 VGPU 5-1 max 5", "request cn1_new at 0: VGPU 3-0 max 3",
			},
		},
		"AnotherClass": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VCPU: 16}, to_resource_provider: cn1, " +
				"to_resource_class: PCPU}",
			want: []string{
				"cn1 PCPU 0/0 to 16/2", "cn1 VCPU 16/2 to 0/0", "one 2 VCPU to PCPU",
				"request cn1 at 7: PCPU 16-0 VGPU 8-1 max 8",
			},
		},
		"SeveralClasses": {
			moves: "- {from_resource_provider: cn1, moved_resources: [VCPU: 16, VGPU: 8], to_resource_provider: cn1_card}",
			want: []string{
				"cn1 VCPU 16/2 to 0/0", "cn1 VGPU 8/4 to 0/0", "cn1_card VCPU 0/0 to 16/2", "cn1_card VGPU 2/0 to 10/4",
				"one 2 VCPU to VCPU", "one 3 VGPU to VGPU", "two 1 VGPU to VGPU", "request cn1 at 7:",
				"request cn1_card at 3: VCPU 16-0 VGPU 10-1 max 10",
			},
		},
		"MovedAlready": {
			moves: "- {from_resource_provider: cn1_card, moved_resources: {VCPU: 16}, to_resource_provider: cn1}",
		},
		"TooMuch": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 5}, to_resource_provider: cn1_card}\n" +
				"- {from_resource_provider: cn1, moved_resources: {VGPU: 4}, to_resource_provider: cn1_new}",
			err: "move 2: cn1 has 8 VGPU, of which 9 should move; it has VCPU, VGPU",
		},
		"NotKnownWho": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 4}, to_resource_provider: a, consumers: {one: " +
				"3}}\n" +
				"- {from_resource_provider: cn1, moved_resources: {VGPU: 4}, to_resource_provider: b}",
			err: "all VGPU of cn1 moves to several providers, and no move says where that of two goes",
		},
		"MoreThanAConsumerHas": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 5}, to_resource_provider: a, consumers: {two: 2}}",
			err:   "consumer two has 1 VGPU on cn1, and 2 of it should move",
		},
		"NoConsumer": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 5}, to_resource_provider: a, consumers: {three: 2}}",
			err:   "consumer three has no VGPU on cn1",
		},
		"LessThanIsAllocated": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 5}, to_resource_provider: cn1_card}",
			err:   "cn1 would have 4 VGPU allocated, and can have 2",
		},
		"NoProvider": {
			moves: "- {from_resource_provider: cn2, moved_resources: {VGPU: 5}, to_resource_provider: cn1}",
			err:   "move 1: cn2 is not in the tree of the host",
		},
		"NoTarget": {
			moves: "- {from_resource_provider: cn1, moved_resources: {VGPU: 5}, to_resource_provider: " +
				"00000000-0000-4000-8000-0000000000dd}",
			err: "move 1: there is no provider 00000000-0000-4000-8000-0000000000dd in the tree of the host: a new one " +
				"needs a name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			moves, err := reshape.Parse(strings.NewReader(tc.moves))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := reshape.New(root, tree(), moves)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("New = %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lines(plan)); diff != "" {
				t.Errorf("the plan (-want +got):\n%s", diff)
			}
			if whole := plan.Moved["one"].Amounts["pool"]["DISK_GB"]; plan.Moved["one"].Amounts != nil && whole != 7 {
				t.Error("what the consumer has in another tree is absent")
			}
		})
	}
}

func lines(p reshape.Plan) (all []string) {
	for _, c := range p.Changes {
		all = append(all, fmt.Sprintf("%s %s %d/%d to %d/%d", c.Provider, c.Class, c.Before.Total, c.Before.Allocated,
			c.After.Total, c.After.Allocated))
	}
	for _, m := range p.Moves {
		all = append(all, fmt.Sprintf("%s %d %s to %s", m.Consumer, m.Amount, m.FromClass, m.ToClass))
	}
	for _, created := range p.Create {
		all = append(all, "create "+created.Name)
	}
	slices.SortStableFunc(p.Inventories, func(a, b providertree.Provider) int { return strings.Compare(a.Name, b.Name) })
	for _, want := range p.Inventories {
		line := fmt.Sprintf("request %s at %d:", want.Name, want.Generation)
		for _, class := range slices.Sorted(maps.Keys(want.Inventories)) {
			i := want.Inventories[class]
			line += fmt.Sprintf(" %s %d-%d", class, i.Total, i.Reserved)
			if class == "VGPU" {
				line += fmt.Sprintf(" max %d", i.MaxUnit)
			}
		}
		all = append(all, line)
	}
	return all
}

// shorten has lists of moves in few columns.
var shorten = strings.NewReplacer(
	"FROM", "from_resource_provider", "WHAT", "moved_resources", "TO", "to_resource_provider",
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "the list of moves is empty",
		"[]":                                  "the list of moves is empty",
		"a: b":                                "a value of the wrong type",
		"- {FROM: a, TO: b}":                  "move 1: moved_resources is absent",
		"- {WHAT: {VGPU: 1}, TO: b}":          "move 1: from_resource_provider is absent",
		"- {FROM: a, WHAT: {VGPU: 1}}":        "move 1: to_resource_provider is absent",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: a}": "moves from a to itself",
		"- {FROM: a, WHAT: {VGPU: 0}, TO: b}": "VGPU: 0 is no amount",
		"- {FROM: a, WHAT: {VGPU: x}, TO: b}": "a value of the wrong type",
		"- {FROM: a, WHAT: [VGPU: 1, VGPU: 2], TO: b}":                             "VGPU is there twice",
		"- {FROM: a, WHAT: {NET_BANDWIDTH: 1}, TO: b}":                             "no resource class NET_BANDWIDTH",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: b, to_resource_class: VGPUS}":            "there is no resource class VGPUS",
		"- {FROM: a, WHAT: {VGPU: 1, VCPU: 1}, TO: b, to_resource_class: PCPU}":    "to_resource_class is for",
		"- {FROM: a, WHAT: {VGPU: 1, VCPU: 1}, TO: b, consumers: {c: 1}}":          "consumers is for a move",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: b, consumers: {c: -1}}":                  "consumer c: -1 is no amount",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: b, colour: red}":                         "there is no field colour",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: b}\n- {FROM: a, moved: 1}":               "there is no field moved",
		"- {FROM: a, WHAT: {VGPU: 1}, TO: b}\n- {FROM: a, WHAT: {VGPU: 1}, TO: a}": "move 2: it moves from a to itself",
	} {
		_, err := reshape.Parse(strings.NewReader(shorten.Replace(text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", text, err, want)
		}
	}
	if _, err := reshape.Parse(strings.NewReader(strings.Repeat(" ", 9<<20))); err == nil ||
		!strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("Parse of a large file = %v", err)
	}
}

// A list that says what a host knows gives the request that the host's start gives: the same
// allocations and inventories.
func TestListOfWhatAHostKnows(t *testing.T) {
	id, err := guarantee.ParseUUID(root)
	if err != nil {
		t.Fatal(err)
	}
	cur := tree()
	cur.Providers = cur.Providers[:1]
	i := cur.Providers[0].Inventories["VGPU"]
	i.Reserved = 0
	cur.Providers[0].Inventories["VGPU"] = i
	host := inventory.Host{
		ID: id, Name: "cn1", VCPU: inventory.Amount{Total: 16, Initial: 1},
		Devices: []inventory.Device{
			{Suffix: "gpu0", Class: "VGPU", Total: 4}, {Suffix: "gpu1", Class: "VGPU", Total: 4},
		},
		Units: map[string][]inventory.Unit{
			"one": {{Device: "gpu0", Class: "VGPU", Count: 2}, {Device: "gpu1", Class: "VGPU", Count: 1}},
			"two": {{Device: "gpu1", Class: "VGPU", Count: 1}},
		},
	}
	start, err := host.Plan(cur)
	if err != nil {
		t.Fatal(err)
	}
	moves, err := reshape.Parse(strings.NewReader(shorten.Replace(
		"- {FROM: cn1, WHAT: {VGPU: 4}, TO: cn1_gpu0, consumers: {one: 2}}\n" +
			"- {FROM: cn1, WHAT: {VGPU: 4}, TO: cn1_gpu1, consumers: {one: 1, two: 1}}")))
	if err != nil {
		t.Fatal(err)
	}
	list, err := reshape.New(root, cur, moves)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(start.Moved, list.Moved); diff != "" {
		t.Errorf("the allocations (-start +list):\n%s", diff)
	}
	inventories := func(p providertree.Plan) map[placement.UUID]map[string]placement.Inventory {
		all := map[placement.UUID]map[string]placement.Inventory{}
		for _, want := range p.Inventories {
			all[want.ID] = want.Inventories
		}
		return all
	}
	if diff := cmp.Diff(inventories(start.Plan), inventories(list.Plan)); diff != "" {
		t.Errorf("the inventories (-start +list):\n%s", diff)
	}
}
