package snapshot_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// bigSnapshots are what the benchmarks of snapshots are about.
var bigSnapshots = []struct {
	name string
	make func() *clouds.Cloud
}{
	{"Flat", func() *clouds.Cloud { return clouds.Flat(50_000, 1) }},
	{"Bandwidth", func() *clouds.Cloud { return clouds.Bandwidth(10_000, 1) }},
}

// BenchmarkNewSnapshot makes a snapshot from rows, and reports how much memory stays
// for each provider.
func BenchmarkNewSnapshot(b *testing.B) {
	for _, big := range bigSnapshots {
		b.Run(big.name, func(b *testing.B) {
			s := big.make()
			var snapshot *snapshot.Snapshot
			before := liveBytes()
			for b.Loop() {
				snapshot = s.Snapshot()
			}
			b.ReportMetric(float64(liveBytes()-before)/float64(snapshot.Len()), "B/provider")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*snapshot.Len()), "ns/provider")
			runtime.KeepAlive(snapshot)
			runtime.KeepAlive(s)
		})
	}
}

// liveBytes returns how much of the heap is in use.
func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkWithTrees replaces one tree of a big snapshot by one that was read again,
// with another usage.
func BenchmarkWithTrees(b *testing.B) {
	for _, big := range bigSnapshots {
		b.Run(big.name, func(b *testing.B) {
			s := big.make()
			_, _, rows := s.Rows()
			snapshot, rows := s.Snapshot(), treeOf(rows, rows.Providers[0].ID)
			b.ReportAllocs()
			for b.Loop() {
				rows.Inventories[0].Used = 1 - rows.Inventories[0].Used
				snapshot = snapshot.WithTrees([]int64{rows.Providers[0].ID}, rows, time.Time{})
			}
		})
	}
}

// treeOf returns the rows of one tree.
func treeOf(all placement.TreeRows, root int64) (rows placement.TreeRows) {
	in := make(map[int64]bool)
	for _, r := range all.Providers {
		if r.Root == root {
			in[r.ID] = true
			rows.Providers = append(rows.Providers, r)
		}
	}
	for _, r := range all.Inventories {
		if in[r.Provider] {
			r.Used = 0
			rows.Inventories = append(rows.Inventories, r)
		}
	}
	for _, r := range all.Traits {
		if in[r.Provider] {
			rows.Traits = append(rows.Traits, r)
		}
	}
	for _, r := range all.Aggregates {
		if in[r.Provider] {
			rows.Aggregates = append(rows.Aggregates, r)
		}
	}
	return rows
}
