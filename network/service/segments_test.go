package service_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
)

// Segments come and go one by one, but not from under ports and subnets.
func TestSegmentsComeAndGo(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	vlan := func(id int) []network.SegmentRow {
		return []network.SegmentRow{{
			Network: c.net, Type: network.VLAN, PhysicalNetwork: "physnet0",
			SegmentationID: id,
		}}
	}
	created, err := c.service.CreateSegments(ctx, vlan(101))
	c.must(err)
	subnets, err := c.service.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: "p"}, Network: c.net, Segment: created[0].ID, IPVersion: 4, CIDR: "10.0.0.0/24",
	}}})
	c.must(err)
	bound := c.look(c.port).Binding.Segment
	for _, tc := range []struct {
		name string
		do   func() error
		want fault.Code
	}{
		{
			"the number of another", func() error { _, err := c.service.CreateSegments(ctx, vlan(100)); return err },
			"VlanIdInUse",
		},
		{
			"a number that is none", func() error { _, err := c.service.CreateSegments(ctx, vlan(5000)); return err },
			"InvalidInput",
		},
		{"a network that is none", func() error {
			_, err := c.service.CreateSegments(ctx,
				[]network.SegmentRow{{Network: "none", Type: network.Local, SegmentationID: -1}})
			return err
		}, "NetworkNotFound"},
		{"one good, one bad", func() error {
			_, err := c.service.CreateSegments(ctx, append(vlan(102), vlan(100)...))
			return err
		}, "VlanIdInUse"},
		{"one with a subnet goes", func() error { return c.service.DeleteSegment(ctx, created[0].ID) }, "SegmentInUse"},
		{"one with a bound port goes", func() error { return c.service.DeleteSegment(ctx, bound) }, "SegmentInUse"},
		{"one that is none goes", func() error { return c.service.DeleteSegment(ctx, "none") }, "SegmentNotFound"},
	} {
		if err := tc.do(); code(err) != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
	c.must(c.service.DeleteSubnet(ctx, subnets[0].ID))
	c.must(c.service.DeleteSegment(ctx, created[0].ID))
	left, err := c.service.Segments(ctx, network.Where(network.ByNetwork, c.net))
	c.must(err)
	if len(left) != 1 || left[0].ID != bound {
		t.Errorf("the segments are %+v, want the one that the port is bound to", left)
	}
}
