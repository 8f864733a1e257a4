package overview_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/overview"
	"github.com/berthcloud/berth/placement/snapshot"
)

// newCloud has two hosts, of which the second has its disk from a pool and an agent, and a third
// one that compute does not know.
func newCloud() *cloudtest.Builder {
	b := cloudtest.New()
	b.Host("a", "")
	b.Host("b", "pool")
	b.Sharing("pool")
	b.Agent("b", guarantee.OpenVSwitch, 0, "net0", "net1")
	b.Host("c", "")
	b.Compute.Hypervisors = b.Compute.Hypervisors[:2]
	b.Compute.Services[1].Status = "disabled"
	b.Server("s", "a")
	b.Compute.Services[0].Zone = "az1"
	cloudtest.Count(&b.Cloud)
	return b
}

func table(t *testing.T, b *cloudtest.Builder, before *overview.Table) *overview.Table {
	t.Helper()
	return overview.New(snap(t, b), b.Compute, before)
}

func snap(t *testing.T, b *cloudtest.Builder) *snapshot.Snapshot {
	t.Helper()
	b.Placement.Sort()
	s, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRows(t *testing.T) {
	rows := table(t, newCloud(), nil).Rows()
	pool := []string{cloudtest.UUID("sharing pool")}
	want := []*overview.Row{
		{
			ID: cloudtest.UUID("host a"), Name: "a", Zone: "az1", State: overview.Up, Providers: 1,
			Capacity: map[string]int64{"VCPU": 256, "MEMORY_MB": 131072, "DISK_GB": 4000},
			Used:     map[string]int64{"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10},
		},
		{
			ID: cloudtest.UUID("host b"), Name: "b", Zone: "nova", State: overview.Disabled, Providers: 4, Aggregates: pool,
			Capacity: map[string]int64{
				"VCPU": 256, "MEMORY_MB": 131072, guarantee.EgressBandwidth: 20000000, guarantee.IngressBandwidth: 20000000,
			},
			Used: map[string]int64{},
		},
		{
			ID: cloudtest.UUID("host c"), Name: "c", Providers: 1,
			Capacity: map[string]int64{"VCPU": 256, "MEMORY_MB": 131072, "DISK_GB": 4000}, Used: map[string]int64{},
		},
		{
			ID: cloudtest.UUID("provider pool"), Name: "pool", State: overview.Sharing, Providers: 1, Aggregates: pool,
			Capacity: map[string]int64{"DISK_GB": 100000}, Used: map[string]int64{},
		},
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}

func TestColumnsAreTheRows(t *testing.T) {
	tbl := table(t, newCloud(), nil)
	c := tbl.Columns()
	var rows []*overview.Row
	for i := range c.ID {
		r := &overview.Row{
			ID: c.ID[i], Name: c.Name[i], Zone: c.Zone[i], State: c.State[i], Providers: c.Providers[i],
			Capacity: map[string]int64{}, Used: map[string]int64{},
		}
		for _, k := range c.Aggregates[i] {
			r.Aggregates = append(r.Aggregates, c.AggregateIDs[k])
		}
		for k, class := range c.Classes {
			if c.Capacity[k][i] > 0 {
				r.Capacity[class] = c.Capacity[k][i]
			}
			if c.Used[k][i] > 0 {
				r.Used[class] = c.Used[k][i]
			}
		}
		rows = append(rows, r)
	}
	if d := cmp.Diff(tbl.Rows(), rows); d != "" {
		t.Error(d)
	}
	if !slices.IsSorted(c.Classes) {
		t.Errorf("classes are not sorted: %v", c.Classes)
	}
}

func TestChanges(t *testing.T) {
	first := table(t, newCloud(), nil)
	for name, test := range map[string]struct {
		change  func(b *cloudtest.Builder)
		changed []string
		removed []string
	}{
		"nothing": {change: func(*cloudtest.Builder) {}},
		"an allocation": {
			change: func(b *cloudtest.Builder) {
				b.Server("t", "c")
				cloudtest.Count(&b.Cloud)
			},
			changed: []string{"host c"},
		},
		"the state of a host": {
			change:  func(b *cloudtest.Builder) { b.Compute.Services[0].State = "down" },
			changed: []string{"host a"},
		},
		"a host that is removed": {
			change: func(b *cloudtest.Builder) {
				b.Placement.Providers = slices.DeleteFunc(b.Placement.Providers,
					func(p cloud.Provider) bool { return p.Name == "c" })
			},
			removed: []string{"host c"},
		},
		"a new host": {
			change:  func(b *cloudtest.Builder) { b.Host("d", "") },
			changed: []string{"host d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCloud()
			test.change(b)
			c := table(t, b, first).Since(first)
			var changed []string
			for _, row := range c.Changed {
				changed = append(changed, row.ID)
			}
			if d := cmp.Diff(fmt.Sprint(ids(test.changed), ids(test.removed)), fmt.Sprint(changed, c.Removed)); d != "" {
				t.Error(d)
			}
		})
	}
}

func ids(names []string) (list []string) {
	for _, name := range names {
		list = append(list, cloudtest.UUID(name))
	}
	slices.Sort(list)
	return list
}

// Rows of trees that are the same in both snapshots are not computed again, but for what compute
// says of their hosts.
func TestRowsAreKept(t *testing.T) {
	b := newCloud()
	s := snap(t, b)
	first := overview.New(s, b.Compute, nil)
	compute := *b.Compute
	compute.Services = slices.Clone(compute.Services)
	compute.Services[0].State = "down"
	second := overview.New(s, &compute, first)
	if second.Row(cloudtest.UUID("host b")) != first.Row(cloudtest.UUID("host b")) {
		t.Error("the row of a host that is as before was computed again")
	}
	if row := second.Row(cloudtest.UUID("host a")); row.State != overview.Down {
		t.Errorf("the host has the state %q", row.State)
	}
}
