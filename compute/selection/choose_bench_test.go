package selection_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// BenchmarkChoose chooses one of a thousand hosts for a server with two guaranteed ports, from an
// offer that many servers share.
func BenchmarkChoose(b *testing.B) {
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	var hosts []selection.Host
	for i := range 1000 {
		root := placement.UUID(fmt.Sprintf("host%d", i))
		hosts = append(hosts, selection.Host{Name: string(root), Provider: root, Enabled: true, Up: true})
		stocks := map[string]selection.Stock{
			"VCPU": {Capacity: 64}, "MEMORY_MB": {Capacity: 262144}, "DISK_GB": {Capacity: 2000},
		}
		a.Providers[root] = selection.Provider{Root: root, Stocks: stocks}
		c := selection.Candidate{
			Amounts:  allocations.Amounts{string(root): {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}},
			Mappings: request.Mappings{"": {root}},
		}
		for n := range 2 {
			bridge := placement.UUID(fmt.Sprintf("%s-br%d", root, n))
			a.Providers[bridge] = selection.Provider{
				Root: root, Stocks: map[string]selection.Stock{"NET_BW_EGR_KILOBIT_PER_SEC": {Capacity: 10_000_000}},
			}
			c.Amounts[string(bridge)] = map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": 100_000}
			c.Mappings[fmt.Sprintf("_port%d", n)] = []placement.UUID{bridge}
		}
		a.Candidates = append(a.Candidates, c)
	}
	o := selection.NewOffer(a)
	b.ReportAllocs()
	for b.Loop() {
		c := selection.New(selection.Wanted{Servers: []string{"s"}}, slices.Clone(hosts), o, selection.DefaultSettings())
		if _, ok := c.Next(); !ok {
			b.Fatal("no host")
		}
		c.Taken()
		if len(c.Alternates()) != 2 {
			b.Fatal("want two other hosts")
		}
		c.Release()
	}
}
