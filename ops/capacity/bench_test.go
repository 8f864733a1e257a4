package capacity_test

import (
	"testing"

	"github.com/berthcloud/berth/bench/clouds"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/placement"
)

// flavorWithPort is a flavor with a port on one of the physical networks of the clouds.
func flavorWithPort() placement.Query {
	return placement.Query{Groups: []placement.RequestGroup{
		{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 2}, {Class: "MEMORY_MB", Amount: 4096}, {Class: "DISK_GB", Amount: 20}}},
		{
			Suffix:    "_port0",
			Resources: []placement.ClassAmount{{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 1000}, {Class: "NET_BW_IGR_KILOBIT_PER_SEC", Amount: 1000}},
			Required:  [][]string{{"CUSTOM_PHYSNET_DC0"}, {"CUSTOM_VNIC_TYPE_NORMAL"}},
		},
	}}
}

func BenchmarkLeft(b *testing.B) {
	s := clouds.Bandwidth(10_000, 1).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		c, err := capacity.Left(b.Context(), s, flavorWithPort())
		if err != nil || c.Least == 0 {
			b.Fatal(c, err)
		}
		b.ReportMetric(float64(c.Least), "claims")
		b.ReportMetric(float64(c.Most), "most")
	}
}
