package capacity_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/placement"
)

// flavorWithPort is a flavor with a port on one of the physical networks of the clouds.
func flavorWithPort() placement.Query {
	return placement.Query{Groups: []placement.RequestGroup{
		{Resources: []placement.ClassAmount{
			{Class: "VCPU", Amount: 2}, {Class: "MEMORY_MB", Amount: 4096}, {Class: "DISK_GB", Amount: 20},
		}},
		{
			Suffix: "_port0",
			Resources: []placement.ClassAmount{
				{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 1000}, {Class: "NET_BW_IGR_KILOBIT_PER_SEC", Amount: 1000},
			},
			Required: [][]string{{"CUSTOM_PHYSNET_DC0"}, {"CUSTOM_VNIC_TYPE_NORMAL"}},
		},
	}}
}

func BenchmarkLeft(b *testing.B) {
	s := clouds.Bandwidth(10_000, 1).Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		c, err := capacity.Headroom(b.Context(), s, flavorWithPort())
		if err != nil || c.Least == 0 {
			b.Fatal(c, err)
		}
		b.ReportMetric(float64(c.Least), "claims")
		b.ReportMetric(float64(c.Most), "most")
	}
}

func BenchmarkLeftOfMix(b *testing.B) {
	s := clouds.Bandwidth(10_000, 1).Snapshot()
	plain := flavorWithPort()
	plain.Groups = plain.Groups[:1]
	b.ReportAllocs()
	for b.Loop() {
		c, err := capacity.MixHeadroom(b.Context(), s,
			[]capacity.Part{{Name: "plain", Query: plain, Weight: 3}, {Name: "port", Query: flavorWithPort(), Weight: 1}})
		if err != nil || c.Least == 0 {
			b.Fatal(c, err)
		}
		b.ReportMetric(float64(c.Least), "rounds")
		b.ReportMetric(float64(c.Most), "most")
	}
}

func BenchmarkEmpty(b *testing.B) {
	s := clouds.Bandwidth(10_000, 1).Snapshot()
	consumers := make([]capacity.Consumer, 50)
	for i := range consumers {
		consumers[i] = capacity.Consumer{UUID: fmt.Sprint(i), Query: flavorWithPort()}
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := capacity.Drain(b.Context(), s, s.Tree(0), consumers, nil)
		if err != nil || len(p.Unplaceable) > 0 {
			b.Fatal(p, err)
		}
	}
}
