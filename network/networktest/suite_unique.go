package networktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/network"
)

// unique tries to add rows to fullFixture's, and to turn another row into each.
func unique(c *storeCase) {
	c.add(fullFixture().Rows()...)
	c.add(bareFixture("bare ").Rows()...)
	port := network.PortRow{Common: Common("another port"), Network: ID("network"), MAC: "fa:16:3e:00:00:02"}
	fixed := network.SegmentRow{Common: Common("vxlan"), Network: ID("network"), Type: network.VXLAN, SegmentationID: 7}
	group := network.SecurityGroupRow{Common: network.Common{ID: ID("default"), Project: "red", Name: "default"}}
	c.add(&port, &fixed, &group)
	segment := func(name, physical, kind string, number int) *network.SegmentRow {
		return &network.SegmentRow{
			Common: Common(name), Network: ID("network"), Type: kind, PhysicalNetwork: physical, SegmentationID: number,
		}
	}
	named := func(id, project, name string) *network.SecurityGroupRow {
		return &network.SecurityGroupRow{Common: network.Common{ID: ID(id), Project: project, Name: name}}
	}
	for i, test := range []struct {
		row   any
		taken bool
	}{
		{&network.PolicyRow{Common: Common("policy")}, true},
		{&network.AddressRow{Port: port.ID, Subnet: ID("subnet"), IP: "2001:db8::7"}, true},
		{&network.AddressRow{Port: port.ID, Subnet: ID("subnet"), IP: "2001:db8::8"}, false},
		{&network.AddressRow{Port: port.ID, Subnet: ID("bare subnet"), IP: "2001:db8::7"}, false},
		{&network.PortRow{Common: Common("p1"), Network: ID("network"), MAC: "fa:16:3e:00:00:01"}, true},
		{&network.PortRow{Common: Common("p1"), Network: ID("bare network"), MAC: "fa:16:3e:00:00:01"}, false},
		{&network.BindingRow{Port: ID("port"), Host: "cn1"}, true},
		{&network.BindingRow{Port: ID("port"), Host: "cn2"}, false},
		{&network.BindingRow{Port: ID("port")}, false},
		{&network.AgentRow{ID: ID("a1"), Type: "NIC Switch agent", Host: "cn1"}, true},
		{&network.AgentRow{ID: ID("a1"), Type: "NIC Switch agent", Host: "cn2"}, false},
		{&network.AgentRow{ID: ID("a2"), Type: "Open vSwitch agent", Host: "cn1"}, false},
		{&network.TrunkRow{Common: Common("t1"), Port: ID("port")}, true},
		{&network.TrunkRow{Common: Common("t1"), Port: port.ID}, false},
		{&network.SubportRow{Trunk: ID("bare trunk"), Port: ID("port"), SegmentationID: 9}, true},
		{&network.SubportRow{Trunk: ID("trunk"), Port: port.ID, SegmentationType: "vlan", SegmentationID: 7}, true},
		{&network.SubportRow{Trunk: ID("trunk"), Port: port.ID, SegmentationType: "inherit", SegmentationID: 7}, false},
		{segment("s1", "physnet0", network.VLAN, 4094), true},
		{segment("s1", "physnet0", network.VLAN, 4093), false},
		{segment("s2", "physnet1", network.VLAN, 4094), false},
		{segment("s3", "", network.VXLAN, 7), true},
		{segment("s3", "", network.Geneve, 7), false},
		{segment("s4", "", network.Local, -1), false},
		{segment("s5", "", network.Local, -1), false},
		{named("g1", "red", "default"), true},
		{named("g1", "blue", "default"), false},
		{named("g2", "red", "Default"), false},
		{named("g3", "red", "web"), false},
		{named("g4", "red", "web"), false},
		{&network.PortGroupRow{Port: ID("port"), Group: ID("group")}, true},
		{&network.PortGroupRow{Port: ID("port"), Group: ID("default")}, false},
		{&network.PortGroupRow{Port: port.ID, Group: ID("group")}, false},
		{&network.QuotaRow{Project: "red", Resource: "port"}, true},
		{&network.QuotaRow{Project: "red", Resource: "network"}, false},
		{&network.QuotaRow{Project: "blue", Resource: "port"}, false},
		{&network.IntentRow{ID: string(ID("intent"))}, true},
		{&network.SegmentSyncRow{Segment: ID("segment")}, true},
		{&network.SegmentSyncRow{Segment: ID("another segment")}, false},
	} {
		c.update(func(w network.Writer) error {
			err := w.Insert(test.row)
			if test.taken != errors.Is(err, network.ErrTaken) || err != nil && !test.taken {
				c.Errorf("%d: Insert(%+v) = %v, want taken %v", i, test.row, err, test.taken)
			}
			return nil
		})
	}
	c.update(func(w network.Writer) error {
		for _, row := range []any{
			&network.PortRow{Common: port.Common, Network: ID("network"), MAC: "fa:16:3e:00:00:01"},
			&network.SegmentRow{
				Common: fixed.Common, Network: ID("network"), Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 4094,
			},
			&network.AgentRow{ID: ID("a1"), Type: "NIC Switch agent", Host: "cn1"},
			&network.TrunkRow{Common: Common("t1"), Port: ID("port")},
			named("g3", "red", "default"),
		} {
			if err := w.Replace(row); !errors.Is(err, network.ErrTaken) {
				c.Errorf("Replace(%+v) = %v, want %v", row, err, network.ErrTaken)
			}
		}
		return nil
	})
	found(c, "the port", []network.Match{network.Where(network.ByID, port.ID)}, port)
	c.update(func(w network.Writer) error { return w.Replace(named("default", "red", "former")) })
	c.add(named("g5", "red", "default"))
}

// references tries to leave rows that refer to one that is not there.
func references(c *storeCase) {
	c.add(fullFixture().Rows()...)
	refused := func(what string, fn func(w network.Writer) error) {
		c.Helper()
		err := c.store.Update(context.Background(), Now, func(w network.Writer) error {
			_ = fn(w) // what is overlooked must not be committed either
			return nil
		})
		if err == nil {
			c.Errorf("%s = nil, want an error", what)
		}
	}
	for what, remove := range map[string]any{
		"policy": &network.PolicyRow{}, "network": &network.NetworkRow{}, "segment": &network.SegmentRow{},
		"subnet": &network.SubnetRow{}, "port": &network.PortRow{}, "trunk": &network.TrunkRow{},
		"group": &network.SecurityGroupRow{},
	} {
		refused("removing the "+what, func(w network.Writer) error {
			_, err := w.Remove(remove, network.Where(network.ByID, ID(what)))
			return err
		})
	}
	for _, row := range []any{
		&network.RuleRow{ID: ID("x"), Policy: ID("nobody")},
		&network.NetworkRow{Common: Common("x"), Policy: ID("nobody")},
		&network.SegmentRow{Common: Common("x"), Network: ID("nobody"), SegmentationID: -1},
		&network.SubnetRow{Common: Common("x"), Network: ID("nobody")},
		&network.SubnetRow{Common: Common("x"), Network: ID("network"), Segment: ID("nobody")},
		&network.PortRow{Common: Common("x"), Network: ID("nobody")},
		&network.PortRow{Common: Common("x"), Network: ID("network"), Policy: ID("nobody")},
		&network.AddressRow{Port: ID("nobody"), Subnet: ID("subnet")},
		&network.AddressRow{Port: ID("port"), Subnet: ID("nobody")},
		&network.BindingRow{Port: ID("nobody")},
		&network.BindingRow{Port: ID("port"), Segment: ID("nobody")},
		&network.TrunkRow{Common: Common("x"), Port: ID("nobody")},
		&network.SubportRow{Trunk: ID("trunk"), Port: ID("nobody")},
		&network.PortGroupRow{Port: ID("nobody"), Group: ID("group")},
		&network.PortGroupRow{Port: ID("port"), Group: ID("nobody")},
		&network.SecurityRuleRow{Common: Common("x"), Group: ID("nobody")},
		&network.SecurityRuleRow{Common: Common("x"), Group: ID("group"), RemoteGroup: ID("nobody")},
	} {
		refused(fmt.Sprintf("inserting %+v", row), func(w network.Writer) error { return w.Insert(row) })
	}
	refused("inserting a subport of no trunk", func(w network.Writer) error {
		free := network.PortRow{Common: Common("free"), Network: ID("network")}
		return errors.Join(w.Insert(&free), w.Insert(&network.SubportRow{Trunk: ID("nobody"), Port: free.ID}))
	})
	eachType(c, func(c *storeCase, t rowType, rows []any) {
		got, err := c.rows(t)
		if err != nil {
			c.Error(err)
		}
		c.same(t.name, got, rows)
	}, fullFixture())
	c.update(func(w network.Writer) error {
		for i := len(rowTypes) - 1; i >= 0; i-- {
			by := rowTypes[i].by(fullFixture())
			for f, v := range by {
				if _, err := w.Remove(fullFixture().Rows()[i], network.Where(f, v)); err != nil {
					return fmt.Errorf("removing %s: %w", rowTypes[i].name, err)
				}
				break
			}
		}
		return nil
	})
}
