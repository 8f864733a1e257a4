package candidates_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

func resources(amounts ...placement.ClassAmount) []placement.ClassAmount { return amounts }

func amount(class string, n int64) placement.ClassAmount {
	return placement.ClassAmount{Class: class, Amount: n}
}

func flavor(memory int64) placement.RequestGroup {
	return placement.RequestGroup{
		Resources: resources(amount("VCPU", 2), amount("MEMORY_MB", memory), amount("DISK_GB", 20)),
	}
}

// zoned is a flavor for one host of eight, more or less.
func zoned(w *clouds.Cloud) placement.RequestGroup {
	g := flavor(4096)
	g.Required = [][]string{{clouds.ZonedTrait}}
	g.MemberOf = [][]placement.UUID{{w.Zone(0)}}
	return g
}

func port(suffix, network, vnic string, rate int64) placement.RequestGroup {
	return placement.RequestGroup{
		Suffix:    suffix,
		Resources: resources(amount("NET_BW_EGR_KILOBIT_PER_SEC", rate), amount("NET_BW_IGR_KILOBIT_PER_SEC", rate)),
		Required:  [][]string{{"CUSTOM_PHYSNET_" + network}, {"CUSTOM_VNIC_TYPE_" + vnic}},
	}
}

// server is a flavor with two ports.
func server(memory, rate int64) placement.Query {
	return requests(flavor(memory), port("_A", "DC0", "NORMAL", rate), port("_B", "DC1", "DIRECT", rate))
}

func requests(groups ...placement.RequestGroup) placement.Query {
	return placement.Query{Groups: groups}
}

func limited(q placement.Query, n int) placement.Query {
	q.Limit = n
	return q
}

func sampled(q placement.Query) placement.Query {
	q.Sample = &placement.Sample{Seed: 1}
	return q
}

func isolated(q placement.Query) placement.Query {
	q.Isolate = true
	return q
}

// numa wants a processor with an FPGA nearby.
func numa() placement.Query {
	compute := placement.RequestGroup{Suffix: "_C", Resources: resources(amount("VCPU", 1), amount("MEMORY_MB", 256))}
	compute.Required = [][]string{{"CUSTOM_FOO"}}
	q := requests(placement.RequestGroup{Resources: resources(amount("DISK_GB", 10))},
		compute, placement.RequestGroup{Suffix: "_F", Resources: resources(amount("FPGA", 1))})
	q.SameSubtrees = [][]string{{"_C", "_F"}}
	return q
}

func BenchmarkSearch(b *testing.B) {
	const taken = 262144 - 2048 + 1 // more memory than any host has to give
	flat, nested, ports, gpus := clouds.Flat, clouds.Nested, clouds.Bandwidth, func(n int, seed uint64) *clouds.Cloud {
		return clouds.Wide(n, 8, seed)
	}
	nobody := flavor(4096)
	nobody.Required = [][]string{{clouds.NobodysTrait}}
	for _, c := range []struct {
		name     string
		snapshot func(hosts int, seed uint64) *clouds.Cloud
		hosts    int
		q        func(*clouds.Cloud) placement.Query
		least    int
	}{
		{"Flat/All", flat, 1000, func(*clouds.Cloud) placement.Query { return requests(flavor(4096)) }, 1000},
		{
			"Flat/All/Sampled", flat, 1000,
			func(*clouds.Cloud) placement.Query { return sampled(requests(flavor(4096))) }, 1000,
		},
		{"Flat/Zoned", flat, 10_000, func(w *clouds.Cloud) placement.Query {
			return limited(requests(zoned(w)), 1000)
		}, 1000},
		{
			"Flat/Zoned/Sampled", flat, 10_000,
			func(w *clouds.Cloud) placement.Query { return limited(sampled(requests(zoned(w))), 1000) }, 1000,
		},
		{
			"Flat/Limit10", flat, 10_000,
			func(*clouds.Cloud) placement.Query { return limited(requests(flavor(4096)), 10) }, 10,
		},
		{
			"Flat/Limit10/Sampled", flat, 10_000,
			func(*clouds.Cloud) placement.Query { return limited(sampled(requests(flavor(4096))), 10) }, 10,
		},
		{"Flat/Full", flat, 10_000, func(*clouds.Cloud) placement.Query { return requests(flavor(taken)) }, 0},
		{"Flat/Nobody", flat, 10_000, func(*clouds.Cloud) placement.Query { return requests(nobody) }, 0},
		{"Nested/All", nested, 1000, func(*clouds.Cloud) placement.Query { return numa() }, 3000},
		{
			"Nested/Limit1000/Sampled", nested, 1000,
			func(*clouds.Cloud) placement.Query { return limited(sampled(numa()), 1000) }, 1000,
		},
		{
			"Ports/Limit1000", ports, 1000,
			func(*clouds.Cloud) placement.Query { return limited(server(4096, 1000), 1000) }, 1000,
		},
		{
			"Ports/Limit1000/Sampled", ports, 1000,
			func(*clouds.Cloud) placement.Query { return limited(sampled(server(4096, 1000)), 1000) }, 1000,
		},
		{
			"Ports/Limit1000", ports, 20_000,
			func(*clouds.Cloud) placement.Query { return limited(server(4096, 1000), 1000) }, 1000,
		},
		{
			"Ports/Limit1000/Sampled", ports, 20_000,
			func(*clouds.Cloud) placement.Query { return limited(sampled(server(4096, 1000)), 1000) }, 1000,
		},
		{"Ports/Full", ports, 20_000, func(*clouds.Cloud) placement.Query { return server(taken, 1000) }, 0},
		{
			"Wide/Isolate/Limit1000", gpus, 1,
			func(*clouds.Cloud) placement.Query { return limited(isolated(pieces(8, "PGPU", 1)), 1000) }, 1000,
		},
		{
			"Wide/None/Limit1000", gpus, 1,
			func(*clouds.Cloud) placement.Query { return limited(pieces(8, "PGPU", 1), 1000) }, 1000,
		},
		{
			"Wide/Isolate/Limit1000/Sampled", gpus, 1,
			func(*clouds.Cloud) placement.Query { return limited(sampled(isolated(pieces(8, "PGPU", 1))), 1000) }, 1000,
		},
		{
			"Wide/None/Limit1000/Sampled", gpus, 100,
			func(*clouds.Cloud) placement.Query { return limited(sampled(pieces(8, "PGPU", 1)), 1000) }, 1000,
		},
		{"Wide/Isolate/All", gpus, 1, func(*clouds.Cloud) placement.Query { return isolated(pieces(8, "PGPU", 1)) }, 40320},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.name, c.hosts), func(b *testing.B) {
			made := c.snapshot(c.hosts, 1)
			w, q := made.Snapshot(), c.q(made)
			b.ReportAllocs()
			defer reportCPU(b, cpuTime(b))
			b.ResetTimer()
			for b.Loop() {
				r := search(b, w, q)
				s := r.Summary()
				n := 0
				for candidate := range r.All() {
					s.Add(candidate)
					n++
				}
				if n < c.least || c.least == 0 && n > 0 {
					b.Fatalf("%d candidates, want %d", n, c.least)
				}
			}
		})
	}
}

// Trees that have all classes and traits, and free capacity on all but the devices that
// count: no index has that.
func BenchmarkFullDevices(b *testing.B) {
	classes, traits, rows := clouds.Bandwidth(10_000, 1).Rows()
	network := slices.IndexFunc(traits, func(n placement.Named) bool { return n.Name == "CUSTOM_PHYSNET_DC0" })
	full := make(map[int64]bool)
	for _, row := range rows.Traits {
		if row.Trait == placement.TraitID(traits[network].ID) {
			full[row.Provider] = true
		}
	}
	rows.Inventories = slices.Clone(rows.Inventories)
	for i, row := range rows.Inventories {
		if full[row.Provider] {
			rows.Inventories[i].Used = row.Total
		}
	}
	w := snapshot.New(classes, traits, rows, time.Time{})
	b.ReportAllocs()
	defer reportCPU(b, cpuTime(b))
	b.ResetTimer()
	for b.Loop() {
		if n := count(search(b, w, server(4096, 1000))); n > 0 {
			b.Fatalf("%d candidates", n)
		}
	}
}

// reportCPU reports what a benchmark took of the processors since start: on a
// machine that has other work its time says less.
func reportCPU(b *testing.B, start time.Duration) {
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what the process has taken of the processors.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
