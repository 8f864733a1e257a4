package rowtable_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/sqlstore"
)

// benchNetwork runs a benchmark on a store of each kind that has one network.
func benchNetwork(b *testing.B, bench func(b *testing.B, s network.Store, n *networktest.Net)) {
	run := func(b *testing.B, opts sqlstore.Options) {
		s := openNetwork(b, opts)
		n := networktest.VLAN("n", "physnet0", 7)
		networktest.Add(b, s, n)
		bench(b, s, n)
	}
	b.Run("File", func(b *testing.B) { run(b, sqlstore.Options{Path: filepath.Join(b.TempDir(), "network.db")}) })
	for _, k := range kinds {
		b.Run(k.Name, func(b *testing.B) {
			needServers(b)
			run(b, sqlstore.Options{Server: server(b, k.URL(b))})
		})
	}
}

// BenchmarkInsertPort adds a port with its address and its binding: one at a time,
// and 16 at once.
func BenchmarkInsertPort(b *testing.B) {
	insert := func(s network.Store, n *networktest.Net, number int) error {
		return s.Update(context.Background(), now, func(w network.Writer) error {
			return networktest.Insert(w, n.Port(fmt.Sprint("p", number), number))
		})
	}
	benchNetwork(b, func(b *testing.B, s network.Store, n *networktest.Net) {
		var number atomic.Int64
		b.Run("Alone", func(b *testing.B) {
			for b.Loop() {
				if err := insert(s, n, int(number.Add(1))); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Together", func(b *testing.B) {
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := insert(s, n, int(number.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	})
}

// BenchmarkReadPort reads one port with what belongs to it, as each request about a port does.
func BenchmarkReadPort(b *testing.B) {
	benchNetwork(b, func(b *testing.B, s network.Store, n *networktest.Net) {
		networktest.Add(b, s, n.Port("p", 1))
		b.ReportAllocs()
		for b.Loop() {
			err := s.View(context.Background(), func(r network.Reader) error {
				_, err := network.Ports(r, network.Where(network.ByNetwork, n.Network.ID))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkListPorts reads the 10,000 ports of a network.
func BenchmarkListPorts(b *testing.B) {
	const ports = 10_000
	benchNetwork(b, func(b *testing.B, s network.Store, n *networktest.Net) {
		all := make([]networktest.Rows, ports)
		for i := range all {
			all[i] = n.Port(fmt.Sprint("p", i), i)
		}
		networktest.Add(b, s, all...)
		b.ResetTimer()
		for b.Loop() {
			err := s.View(context.Background(), func(r network.Reader) error {
				rows, err := network.Rows[network.PortRow](r, network.Where(network.ByNetwork, n.Network.ID))
				if err == nil && len(rows) != ports {
					err = fmt.Errorf("%d ports", len(rows))
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
