package placementapi_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
)

// BenchmarkCandidates searches and writes answers with a thousand candidates and
// more, in snapshots of several sizes: what is said of a host has to be fetched from
// memory.
func BenchmarkCandidates(b *testing.B) {
	for _, c := range []struct {
		name     string
		snapshot *clouds.Cloud
		q        func(*clouds.Cloud) placement.Query
	}{
		{"Flat/1000", clouds.Flat(1000, 1), flavor},
		{"Flat/10000", clouds.Flat(10_000, 1), some},
		{"Zone/10000", clouds.Flat(10_000, 1), zoned},
		{"Nested/1000", clouds.Nested(1000, 1), numa},
		{"Bandwidth/1000", clouds.Bandwidth(1000, 1), server},
		{"Bandwidth/20000", clouds.Bandwidth(20_000, 1), server},
		{"Wide/1", clouds.Wide(1, 8, 1), devices},
	} {
		w := c.snapshot.Snapshot()
		var texts placementapi.Texts
		for t := range w.Trees() {
			texts.Of(w, t)
		}
		for _, order := range []string{"InOrder", "Random"} {
			b.Run(c.name+"/"+order, func(b *testing.B) {
				q := c.q(c.snapshot)
				b.ReportAllocs()
				begin := cpuTime(b)
				n := 0
				var seed uint64
				for b.Loop() {
					if order == "Random" {
						seed++
						q.Sample = &placement.Sample{Seed: seed}
					}
					var err error
					if n, err = placementapi.WriteCandidates(io.Discard, w, q, &texts, 39); err != nil || n == 0 {
						b.Fatalf("%d candidates, %v", n, err)
					}
				}
				b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N*n), "cpu-ns/candidate")
			})
		}
	}
}

func flavor(*clouds.Cloud) placement.Query {
	return placement.Query{Groups: []placement.RequestGroup{compute()}}
}

// some is a flavor for a thousand hosts.
func some(w *clouds.Cloud) placement.Query {
	q := flavor(w)
	q.Limit = 1000
	return q
}

// zoned is a flavor for one host of eight, more or less.
func zoned(w *clouds.Cloud) placement.Query {
	g := compute()
	g.Required = [][]string{{clouds.ZonedTrait}}
	g.MemberOf = [][]placement.UUID{{w.Zone(0)}}
	return placement.Query{Groups: []placement.RequestGroup{g}, Limit: 1000}
}

// numa wants a processor with an FPGA nearby.
func numa(*clouds.Cloud) placement.Query {
	near := group("_C", "VCPU", 1, "MEMORY_MB", 256)
	near.Required = [][]string{{"CUSTOM_FOO"}}
	return placement.Query{
		Groups:       []placement.RequestGroup{group("", "DISK_GB", 10), near, group("_F", "FPGA", 1)},
		SameSubtrees: [][]string{{"_C", "_F"}},
	}
}

// server is a flavor with two ports.
func server(*clouds.Cloud) placement.Query {
	q := placement.Query{Groups: []placement.RequestGroup{compute()}, Limit: 1000}
	for _, port := range [][3]string{{"_A", "DC0", "NORMAL"}, {"_B", "DC1", "DIRECT"}} {
		g := group(port[0], "NET_BW_EGR_KILOBIT_PER_SEC", 1000, "NET_BW_IGR_KILOBIT_PER_SEC", 1000)
		g.Required = [][]string{{"CUSTOM_PHYSNET_" + port[1]}, {"CUSTOM_VNIC_TYPE_" + port[2]}}
		q.Groups = append(q.Groups, g)
	}
	return q
}

// devices are eight of eight, in any order.
func devices(*clouds.Cloud) placement.Query {
	q := placement.Query{Limit: 1000, Isolate: true}
	for i := range 8 {
		q.Groups = append(q.Groups, group(fmt.Sprintf("_%d", i), "PGPU", 1))
	}
	return q
}

func compute() placement.RequestGroup {
	return group("", "VCPU", 2, "MEMORY_MB", 4096, "DISK_GB", 20)
}

// group returns a request group of pairs of a class and an amount.
func group(suffix string, pairs ...any) placement.RequestGroup {
	g := placement.RequestGroup{Suffix: suffix}
	for i := 0; i < len(pairs); i += 2 {
		g.Resources = append(g.Resources, placement.ClassAmount{Class: pairs[i].(string), Amount: int64(pairs[i+1].(int))})
	}
	return g
}
