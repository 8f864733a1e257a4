package records_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// sample is a host with a device, and another host, with three consumers.
func sample() *cloud.Placement {
	p := &cloud.Placement{
		Providers: []cloud.Provider{
			{
				UUID: "1", Name: "cn1", Root: "1", Generation: 7, Traits: []string{"HW", "CUSTOM_A"}, Aggregates: []string{"agg"},
				Inventories: map[string]cloud.Inventory{
					"VCPU":      {Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 2},
					"MEMORY_MB": {Total: 100, Reserved: 10, MinUnit: 1, MaxUnit: 1<<31 - 1, StepSize: 1, AllocationRatio: 1},
				}, Usages: map[string]int64{"VCPU": 3},
			},
			{
				UUID: "3", Name: "cn1:b", Root: "1", Parent: "1",
				Inventories: map[string]cloud.Inventory{"BW": {Total: 10, AllocationRatio: 1}}, Usages: map[string]int64{"BW": 12},
			},
			{UUID: "2", Name: "cn1:a", Root: "1", Parent: "1", Usages: map[string]int64{"LOST": 1}},
			{
				UUID: "4", Name: "cn2", Root: "4", Inventories: map[string]cloud.Inventory{"VCPU": {Total: 8, AllocationRatio: 1}},
				Usages: map[string]int64{"VCPU": 2},
			},
		},
		Consumers: []cloud.Consumer{
			{
				UUID: "c1", Project: "p1", User: "u", Type: "INSTANCE",
				Allocations: map[string]map[string]int64{"1": {"VCPU": 2}, "3": {"BW": 12}},
			},
			{UUID: "c2", Project: "p2", User: "u", Allocations: map[string]map[string]int64{"1": {"VCPU": 1}, "2": {"LOST": 1}}},
			{UUID: "c3", Project: "p2", User: "u", Type: "INSTANCE", Allocations: map[string]map[string]int64{"4": {"VCPU": 2}}},
		},
	}
	p.Sort()
	return p
}

// Of what is all reserved while it is in use there is no more than there is.
func TestReservedInUse(t *testing.T) {
	for _, c := range []struct{ total, reserved, used, free int64 }{
		{1, 1, 1, 0}, {1, 1, 0, 0}, {1, 0, 1, 0}, {8, 8, 7, 0}, {8, 8, 9, -9}, {8, 7, 4, -3}, {8, 9, 4, -5},
	} {
		p := &cloud.Placement{Providers: []cloud.Provider{{
			UUID: "1", Name: "node", Root: "1",
			Inventories: map[string]cloud.Inventory{
				"CUSTOM_BAREMETAL": {Total: c.total, Reserved: c.reserved, AllocationRatio: 1},
			},
			Usages: map[string]int64{"CUSTOM_BAREMETAL": c.used},
		}}}
		tree, err := records.Tree(p, "node")
		if err != nil {
			t.Fatal(err)
		}
		if got := tree[0].Inventories[0].Free; got != c.free {
			t.Errorf("%+v: %d are free", c, got)
		}
	}
}

func TestTree(t *testing.T) {
	for _, host := range []string{"cn1", "3", "cn1:a"} {
		providers, err := records.Tree(sample(), host)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range providers {
			line := fmt.Sprintf("%s%s gen %d %v %v", strings.Repeat("  ", n.Depth), n.Name, n.Generation, n.Traits, n.Aggregates)
			for _, s := range n.Inventories {
				line += fmt.Sprintf("; %s %d of %d, free %d", s.Class, s.Used, s.Capacity, s.Free)
			}
			for _, h := range n.Allocations {
				line += fmt.Sprintf("; %s/%s/%s %v", h.Consumer, h.Type, h.Project, h.Resources)
			}
			got = append(got, line)
		}
		want := []string{
			"cn1 gen 7 [CUSTOM_A HW] [agg]; MEMORY_MB 0 of 90, free 90; VCPU 3 of 8, free 5; c1/INSTANCE/p1 map[VCPU:2]; " +
				"c2//p2 map[VCPU:1]",
			"  cn1:a gen 0 [] []; LOST 1 of 0, free -1; c2//p2 map[LOST:1]",
			"  cn1:b gen 0 [] []; BW 12 of 10, free -2; c1/INSTANCE/p1 map[BW:12]",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tree of %s (-want +got):\n%s", host, diff)
		}
	}
	if _, err := records.Tree(sample(), "cn3"); err == nil || err.Error() != `no provider has the name or UUID "cn3"` {
		t.Errorf("the tree of cn3: %v", err)
	}
}

func TestTop(t *testing.T) {
	p := sample()
	for name, tc := range map[string]struct {
		got  []records.Usage
		want string
	}{
		"Fullest":  {records.Fullest(p, ""), "cn1:b BW 120; cn1:a LOST 100; cn1 VCPU 37.5; cn2 VCPU 25; cn1 MEMORY_MB 0"},
		"OfClass":  {records.Fullest(p, "VCPU"), "cn1 VCPU 37.5; cn2 VCPU 25"},
		"NoClass":  {records.Fullest(p, "PONY"), ""},
		"Biggest":  {records.Largest(p, "", false), "c1 BW 120; c2 LOST 100; c1 VCPU 12.5; c3 VCPU 12.5; c2 VCPU 6.3"},
		"Projects": {records.Largest(p, "VCPU", true), "p2 VCPU 18.8; p1 VCPU 12.5"},
	} {
		var got []string
		for _, l := range tc.got {
			id := l.UUID
			if l.Name != "" {
				id = l.Name
			}
			got = append(got, fmt.Sprint(id, " ", l.Class, " ", l.Percent))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// In another cloud hosts of the same name have other UUIDs, and servers of their own.
func TestDiffByName(t *testing.T) {
	a, b := sample(), sample()
	uuids := map[string]string{"1": "9", "2": "8", "3": "7", "4": "6"}
	for i := range b.Providers {
		p := &b.Providers[i]
		p.UUID, p.Parent, p.Root, p.Aggregates = uuids[p.UUID], uuids[p.Parent], uuids[p.Root], []string{"other"}
		if p.Name == "cn2" {
			p.Name, p.Usages = "cn3", nil
		}
		if p.Name == "cn1" {
			p.Usages["VCPU"]++
		}
	}
	var got []string
	for _, c := range records.DiffByName(a, b) {
		got = append(got,
			fmt.Sprintf("%s %s %s%s %s: %s -> %s", c.Change, c.What, c.Provider, c.UUID, c.Subject, c.Before, c.After))
	}
	inventory := "total 8, min_unit 0, max_unit 0, step_size 0"
	want := []string{
		"changed usage cn1 VCPU: 3 -> 4",
		"removed provider cn2 : cn2 -> ", "removed inventory cn2 VCPU: " + inventory + " -> ",
		"removed usage cn2 VCPU: 2 -> ",
		"added provider cn3 :  -> cn3", "added inventory cn3 VCPU:  -> " + inventory,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*cloud.Placement)
		want   []string
	}{
		"Nothing": {func(p *cloud.Placement) { p.Providers[0].Generation++; p.Consumers[0].Generation++ }, nil},
		"Name":    {func(p *cloud.Placement) { p.Providers[3].Name = "cn9" }, []string{`changed name cn9 4: cn2 -> cn9`}},
		"Parent": {
			func(p *cloud.Placement) { p.Providers[2].Parent = "2" }, []string{`changed parent cn1:b 3: cn1 -> cn1:a`},
		},
		"Inventory": {func(p *cloud.Placement) {
			p.Providers[0].Inventories["VCPU"] = cloud.Inventory{
				Total: 5, MinUnit: 1, MaxUnit: 5, StepSize: 1, AllocationRatio: 1.5,
			}
		}, []string{
			`changed inventory cn1 1 VCPU: total 4, max_unit 4, allocation_ratio 2 -> total 5, max_unit 5, allocation_ratio 1.5`,
		}},
		"Trait": {
			func(p *cloud.Placement) { p.Providers[0].Traits = []string{"HW", "HW2"} },
			[]string{`removed trait cn1 1 CUSTOM_A: CUSTOM_A -> `, `added trait cn1 1 HW2:  -> HW2`},
		},
		"Aggregate": {
			func(p *cloud.Placement) { p.Providers[0].Aggregates = nil }, []string{`removed aggregate cn1 1 agg: agg -> `},
		},
		"Allocation": {
			func(p *cloud.Placement) { p.Consumers[0].Allocations["1"]["VCPU"] = 3 },
			[]string{`changed allocation cn1 1 c1 VCPU: 2 -> 3`},
		},
		"Moved": {func(p *cloud.Placement) {
			p.Consumers[0].Allocations = map[string]map[string]int64{"4": {"VCPU": 2}, "3": {"BW": 12}}
		}, []string{`removed allocation cn1 1 c1 VCPU: 2 -> `, `added allocation cn2 4 c1 VCPU:  -> 2`}},
		"Owner": {
			func(p *cloud.Placement) { p.Consumers[1].Type = "MIGRATION" },
			[]string{`changed consumer c2: unknown of project p2, user u -> MIGRATION of project p2, user u`},
		},
		"Removed": {
			func(p *cloud.Placement) { p.Consumers = p.Consumers[:2] }, []string{`removed allocation cn2 4 c3 VCPU: 2 -> `},
		},
		"NoProvider": {func(p *cloud.Placement) { p.Providers = p.Providers[:3] }, []string{
			`removed provider cn2 4: cn2 -> `, `removed inventory cn2 4 VCPU: total 8, min_unit 0, max_unit 0, step_size 0 -> `,
		}},
		"Usages": {
			func(p *cloud.Placement) { p.Consumers = nil; p.Providers[0].Usages["VCPU"] = 4 },
			[]string{`changed usage cn1 1 VCPU: 3 -> 4`},
		},
	} {
		a, b := sample(), sample()
		tc.change(b)
		var got []string
		for _, c := range records.Diff(a, b) {
			got = append(got, strings.Join(
				strings.Fields(fmt.Sprint(c.Change, " ", c.What, " ", c.Provider, " ", c.UUID, " ", c.Consumer, " ", c.Subject)),
				" ")+fmt.Sprintf(
				": %s -> %s", c.Before, c.After))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(records.Diff(b, a)); n != len(tc.want) {
			text, _ := json.Marshal(records.Diff(b, a))
			t.Errorf("%s the other way round: %d changes, want %d: %s", name, n, len(tc.want), text)
		}
	}
}
