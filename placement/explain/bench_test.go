package explain

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// BenchmarkExplain explains a query of two ports that no host of 10,000 can serve.
func BenchmarkExplain(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	forest := placementtest.NewBuilder()
	for i := range 10_000 {
		name := fmt.Sprintf("cn%d", i)
		forest.Provider(name).
			Inventory("VCPU", 64, func(r *placement.InventoryRow) { r.Used = rng.Int64N(64) }).
			Inventory("MEMORY_MB", 262_144, func(r *placement.InventoryRow) { r.Used = rng.Int64N(262_144) })
		for k := range 2 {
			forest.Provider(fmt.Sprintf("%s/eth%d", name, k)).
				Traits(fmt.Sprintf("CUSTOM_PHYSNET_%d", k), "CUSTOM_VNIC_TYPE_NORMAL").
				Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 10_000_000, func(r *placement.InventoryRow) {
					r.Used = rng.Int64N(10_000_000)
				})
		}
	}
	w := forest.Snapshot()
	port := func(id, physnet string) placement.RequestGroup {
		return placement.RequestGroup{
			Suffix: id, Required: [][]string{{physnet}, {"CUSTOM_VNIC_TYPE_NORMAL"}},
			Resources: []placement.ClassAmount{{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 9_999_000}},
		}
	}
	q := placement.Query{Groups: []placement.RequestGroup{
		{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 16}, {Class: "MEMORY_MB", Amount: 131_072}}},
		port("p0", "CUSTOM_PHYSNET_0"), port("p1", "CUSTOM_PHYSNET_1"),
	}}
	for b.Loop() {
		e, err := Explain(b.Context(), w, q, Options{Near: 5})
		if err != nil || e.Fitting > 0 {
			b.Fatal(e, err)
		}
	}
}
