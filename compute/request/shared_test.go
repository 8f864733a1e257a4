package request_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/placement"
)

// A server that moves requests what it does not have yet of a host that can use the same storage.
func TestKeeping(t *testing.T) {
	nfs := func(changes ...func(*request.Shared)) []request.Shared {
		s := request.Shared{
			Provider: "nfs", Aggregates: []placement.UUID{"a1", "a2"},
			Traits: []string{"MISC_SHARES_VIA_AGGREGATE", "CUSTOM_SSD"},
			Inventories: map[string]placement.Inventory{
				"DISK_GB": {Total: 100, MinUnit: 5, MaxUnit: 60, StepSize: 5, AllocationRatio: 1},
			},
			Used: map[string]int64{"DISK_GB": 80}, Amounts: map[string]int64{"DISK_GB": 20},
		}
		for _, change := range changes {
			change(&s)
		}
		return []request.Shared{s}
	}
	had := func(n int64) func(*request.Shared) { return func(s *request.Shared) { s.Amounts["DISK_GB"] = n } }
	kept := []string{
		"limit=1000", "member_of=in:a1,a2", "resources=MEMORY_MB:512,VCPU:2", "root_required=!COMPUTE_STATUS_DISABLED",
	}
	gpu := func(s *request.Shared) { s.Amounts = map[string]int64{"VGPU": 1} }
	for name, tc := range map[string]struct {
		disk    int64
		specs   map[string]string
		shared  []request.Shared
		resized bool
		want    []string // nil when nothing can be kept
		amount  int64
	}{
		"the same flavor":                {20, nil, nfs(), false, kept, 20},
		"another amount, no resize":      {30, nil, nfs(), false, kept, 20},
		"a resize without more disk":     {20, nil, nfs(), true, kept, 20},
		"a larger disk":                  {40, nil, nfs(), true, kept, 40},
		"more than there is":             {45, nil, nfs(), true, nil, 0},
		"more than one may have":         {65, nil, nfs(had(60)), true, nil, 0},
		"no step of the storage":         {21, nil, nfs(), true, nil, 0},
		"a smaller disk":                 {10, nil, nfs(), true, kept, 10},
		"a rest below the smallest unit": {20, nil, nfs(had(22)), true, nil, 0},
		"no disk":                        {0, nil, nfs(), true, nil, 0},
		"another class":                  {20, nil, nfs(gpu), false, nil, 0},
		"in no aggregate":                {20, nil, nfs(func(s *request.Shared) { s.Aggregates = nil }), false, nil, 0},
		"two storages":                   {20, nil, append(nfs(), nfs()...), false, nil, 0},
		"its own trait": {
			20,
			map[string]string{"trait:CUSTOM_SSD": "required", "trait:CUSTOM_HOST": "required"},
			nfs(), false,
			append([]string{kept[0], kept[1], "required=CUSTOM_HOST"}, kept[2:]...), 20,
		},
		"a trait that is forbidden": {20, map[string]string{"trait:CUSTOM_SSD": "forbidden"}, nfs(), false, nil, 0},
		"a group of its own":        {20, map[string]string{"resources1:DISK_GB": "20"}, nfs(), false, nil, 0},
		"nothing else": {
			20, map[string]string{
				"resources1:VCPU": "2", "resources1:MEMORY_MB": "512", "resources:DISK_GB": "20",
			}, nfs(), false, nil, 0,
		},
		"dedicated CPUs": {
			20,
			map[string]string{"hw:cpu_policy": "dedicated"},
			nfs(), false,
			[]string{kept[0], kept[1], "resources=MEMORY_MB:512,PCPU:2", kept[3]},
			20,
		},
	} {
		r, err := request.New(request.Spec{
			Flavor: extraspecs.Flavor{VCPUs: 2, MemoryMB: 512, RootGB: tc.disk, Specs: tc.specs},
		}, request.DefaultSettings(), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := params(r.Query)
		got, amounts, ok := r.Keeping(tc.shared, tc.resized)
		if ok != (tc.want != nil) {
			t.Errorf("%s: Keeping = %v %v", name, amounts, ok)
			continue
		}
		if diff := cmp.Diff(before, params(r.Query)); diff != "" {
			t.Errorf("%s: the request itself has changed (-before +after):\n%s", name, diff)
		}
		if !ok {
			continue
		}
		if diff := cmp.Diff(tc.want, params(got.Query)); diff != "" || amounts["nfs"]["DISK_GB"] != tc.amount {
			t.Errorf("%s: it keeps %v, want %d; the query (-want +got):\n%s", name, amounts, tc.amount, diff)
		}
		fallbacks := got.Fallbacks()
		if has := len(fallbacks) > 0; has != (name == "dedicated CPUs") || has && !cmp.Equal(params(fallbacks[0]), kept) {
			t.Errorf("%s: the other queries are %+v", name, fallbacks)
		}
	}
}

// A server with NUMA cells, whose disk is all that it has outside of its nodes, is claimed without
// that disk too.
func TestKeepingWithCells(t *testing.T) {
	settings := request.DefaultSettings()
	settings.NUMA = true
	r, err := request.New(request.Spec{
		Flavor: extraspecs.Flavor{VCPUs: 2, MemoryMB: 512, RootGB: 20, Specs: map[string]string{
			"hw:cpu_policy": "dedicated", "trait:CUSTOM_SSD": "required", "trait:CUSTOM_HOST": "required",
		}},
	}, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, amounts, ok := r.Keeping([]request.Shared{{
		Provider: "nfs", Aggregates: []placement.UUID{"a1"}, Traits: []string{"CUSTOM_SSD"},
		Amounts: map[string]int64{"DISK_GB": 20},
	}}, false)
	want := []string{
		"group_policy=none", "limit=1000", "member_of=in:a1", "required_MEM0=CUSTOM_MEMORY_PAGE_SIZE_SMALL",
		"required_NUMA0=HW_NUMA_ROOT", "resources=PCPU:2", "resources_MEM0=MEMORY_MB:512",
		"root_required=CUSTOM_HOST,!COMPUTE_STATUS_DISABLED", "same_subtree=_MEM0,_NUMA0",
	}
	if diff := cmp.Diff(want, params(got.Query)); !ok || diff != "" || amounts["nfs"]["DISK_GB"] != 20 {
		t.Errorf("it keeps %v, %v; the query (-want +got):\n%s", amounts, ok, diff)
	}
	if len(got.Fallbacks()) != 2 {
		t.Errorf("the other queries: %+v", got.Fallbacks())
	}
	apart := request.Apart(got.Query, request.Mappings{"": {"n0"}, "_MEM0": {"m0"}, "_NUMA0": {"n0"}})
	other := request.Apart(got.Query, request.Mappings{"": {"n1"}, "_MEM0": {"m0"}, "_NUMA0": {"n0"}})
	if !apart || other {
		t.Errorf("CPUs of the node of the cell: %v, of another one: %v", apart, other)
	}
}
