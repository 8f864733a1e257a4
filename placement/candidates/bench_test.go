package candidates_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// flatHosts are hosts without trees; every second has a trait, every fourth is
// in a zone.
func flatHosts(n int) *placementtest.Builder {
	b := placementtest.NewBuilder()
	for i := range n {
		p := b.Provider(fmt.Sprintf("cn%d", i)).Stock("VCPU", 64).Stock("MEMORY_MB", 262144).Stock("DISK_GB", 2000)
		if i%2 == 0 {
			p.Traits("HW_CPU_X86_AVX2")
		}
		if i%4 == 0 {
			p.Aggregates("zone")
		}
	}
	return b
}

// numaHosts are trees of seven: a host, two NUMA nodes, two devices each.
func numaHosts(n int) *placementtest.Builder {
	b := placementtest.NewBuilder()
	for i := range n {
		cn := fmt.Sprintf("cn%d", i)
		b.Provider(cn).Stock("DISK_GB", 2000)
		for j := range 2 {
			numa := fmt.Sprintf("%s/numa%d", cn, j)
			b.Provider(numa).Stock("VCPU", 32).Stock("MEMORY_MB", 131072).Traits("HW_NUMA_ROOT")
			for k := range 2 {
				b.Provider(fmt.Sprintf("%s/fpga%d", numa, k)).Stock("FPGA", 1)
			}
		}
	}
	return b
}

// bandwidthHosts are trees of nine: a host, two agents, three devices each.
func bandwidthHosts(n int) *placementtest.Builder {
	b := placementtest.NewBuilder()
	for i := range n {
		cn := fmt.Sprintf("cn%d", i)
		b.Provider(cn).Stock("VCPU", 64).Stock("MEMORY_MB", 262144).Stock("DISK_GB", 2000)
		for _, agent := range []string{"ovs", "sriov"} {
			b.Provider(cn + "/" + agent)
			for k := range 3 {
				b.Provider(fmt.Sprintf("%s/%s/dev%d", cn, agent, k)).
					Stock("NET_BW_EGR_KILOBIT_PER_SEC", 10_000_000).
					Stock("NET_BW_IGR_KILOBIT_PER_SEC", 10_000_000).
					Traits(fmt.Sprintf("CUSTOM_PHYSNET_%d", k), "CUSTOM_VNIC_TYPE_NORMAL")
			}
		}
	}
	return b
}

func compute() placement.RequestGroup {
	return placement.RequestGroup{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 2}, {Class: "MEMORY_MB", Amount: 4096}, {Class: "DISK_GB", Amount: 20}}}
}

func port(suffix, physnet string) placement.RequestGroup {
	return placement.RequestGroup{
		Suffix: suffix,
		Resources: []placement.ClassAmount{
			{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 1_000_000},
			{Class: "NET_BW_IGR_KILOBIT_PER_SEC", Amount: 1_000_000},
		},
		Required: [][]string{{physnet}, {"CUSTOM_VNIC_TYPE_NORMAL"}},
	}
}

func BenchmarkSearch(b *testing.B) {
	zone := compute()
	zone.Required = [][]string{{"HW_CPU_X86_AVX2"}}
	zone.MemberOf = [][]placement.UUID{{"zone"}}
	huge := compute()
	huge.Resources[0].Amount = 65
	nobody := compute()
	nobody.Required = [][]string{{"CUSTOM_NOBODY"}}
	numa := placement.Query{
		Groups: []placement.RequestGroup{
			{Suffix: "_C", Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}, {Class: "MEMORY_MB", Amount: 256}}},
			{Suffix: "_F", Resources: []placement.ClassAmount{{Class: "FPGA", Amount: 1}}},
		},
		SameSubtrees: [][]string{{"_C", "_F"}},
	}
	ports := placement.Query{Groups: []placement.RequestGroup{compute(), port("_A", "CUSTOM_PHYSNET_0"), port("_B", "CUSTOM_PHYSNET_1")}, Isolate: true}
	eight := pieces(8, "PGPU", 1)
	eight.Isolate = true
	limited := func(q placement.Query, n int) placement.Query { q.Limit = n; return q }
	sampled := func(q placement.Query) placement.Query { q.Sample = &placement.Sample{Seed: 1}; return q }
	one := func(g placement.RequestGroup) placement.Query {
		return placement.Query{Groups: []placement.RequestGroup{g}}
	}
	ten := flatHosts(10_000)
	ten.Trait("CUSTOM_NOBODY")
	tenWorld := ten.World()
	numas, bandwidths, gpus := numaHosts(143).World(), bandwidthHosts(1000).World(), wide(8).World()
	for _, c := range []struct {
		name string
		w    *placement.World
		q    placement.Query
		want int
	}{
		{"Flat1000All", flatHosts(1000).World(), one(compute()), 1000},
		{"Flat10000Limit1000Zone", tenWorld, limited(one(zone), 1000), 1000},
		{"Flat10000Limit10", tenWorld, limited(one(compute()), 10), 10},
		{"Flat10000Sample1000", tenWorld, limited(sampled(one(compute())), 1000), 1000},
		{"TreesOf7", numas, numa, 143 * 4},
		{"BandwidthLimit1000", bandwidths, limited(ports, 1000), 1000},
		{"BandwidthSample1000", bandwidths, limited(sampled(ports), 1000), 1000},
		{"EightOverEightLimit1000", gpus, limited(eight, 1000), 1000},
		{"EightOverEightAll", gpus, eight, 40320},
		{"NoneFull10000", tenWorld, one(huge), 0},
		{"NoneTrait10000", tenWorld, one(nobody), 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := count(search(b, c.w, c.q)); n != c.want {
					b.Fatalf("%d candidates, want %d", n, c.want)
				}
			}
		})
	}
}
