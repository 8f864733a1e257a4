// Package networktest is what tests of the network service need: rows to begin with,
// and a suite that any network.Store must pass. It is not for production.
package networktest

import (
	"context"
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/network"
)

// Now is the time of the rows that this package makes.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// ID returns the id of what has a name in a test: a UUID, the same each time.
func ID(name string) network.ID {
	b := sha1.Sum([]byte(name))
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	return network.ID(fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16]))
}

// Project is the project of the rows that this package makes.
const Project = "blue"

// Common returns what rows have in common, with the id of the name.
func Common(name string) network.Common {
	return network.Common{ID: ID(name), Project: Project, Name: name, Revision: 1, CreatedAt: Now, UpdatedAt: Now}
}

// A Rows is some rows that belong together.
type Rows interface {
	// Rows returns pointers to them, those that others refer to first.
	Rows() []any
}

// A Net is a network with one segment and one subnet.
type Net struct {
	Network network.NetworkRow
	Segment network.SegmentRow
	Subnet  network.SubnetRow
}

// VLAN returns a network on a VLAN of a physical network. Its subnet is 10.V.V.0/24,
// with V the VLAN's number modulo 256.
func VLAN(name, physical string, number int) *Net {
	v := number % 256
	return &Net{
		Network: network.NetworkRow{Common: Common(name), AdminStateUp: true, PortSecurity: true, MTU: 1500},
		Segment: network.SegmentRow{
			Common: Common(name + "/segment"), Network: ID(name),
			Type: network.VLAN, PhysicalNetwork: physical, SegmentationID: number,
		},
		Subnet: network.SubnetRow{
			Common: Common(name + "/subnet"), Network: ID(name), IPVersion: 4, EnableDHCP: true,
			CIDR:    fmt.Sprintf("10.%d.%d.0/24", v, v),
			Gateway: fmt.Sprintf("10.%d.%d.1", v, v),
			Pools:   []network.Pool{{Start: fmt.Sprintf("10.%d.%d.2", v, v), End: fmt.Sprintf("10.%d.%d.254", v, v)}},
		},
	}
}

// Rows returns the network, its segment and its subnet.
func (n *Net) Rows() []any { return []any{&n.Network, &n.Segment, &n.Subnet} }

// A Plug is a port with one address and an active binding.
type Plug struct {
	Port    network.PortRow
	Address network.AddressRow
	Binding network.BindingRow
}

// Port returns a port of a network that is plugged in nowhere. Its address ends in
// the number, and so does its MAC.
func (n *Net) Port(name string, number int) *Plug {
	var a, b, c, bits int
	if _, err := fmt.Sscanf(n.Subnet.CIDR, "%d.%d.%d.0/%d", &a, &b, &c, &bits); err != nil {
		panic("networktest: the subnet is not one of VLAN's: " + err.Error())
	}
	return &Plug{
		Port: network.PortRow{
			Common: Common(name), Network: n.Network.ID, MAC: fmt.Sprintf("fa:16:3e:00:%02x:%02x", number/256, number%256),
			AdminStateUp: true, Status: network.PortDown, PortSecurity: true, IPAllocation: "immediate",
		},
		Address: network.AddressRow{
			Port: ID(name), Subnet: n.Subnet.ID, IP: fmt.Sprintf("%d.%d.%d.%d", a, b, c+number/256, number%256),
		},
		Binding: network.BindingRow{Port: ID(name), Active: true, VNIC: "normal", VIF: network.VIFUnbound},
	}
}

// On plugs the port into a host: bound by Open vSwitch, and of compute.
func (p *Plug) On(host string, segment network.ID) *Plug {
	p.Port.Status, p.Port.DeviceOwner = network.PortActive, "compute:nova"
	p.Port.DeviceID = string(ID(p.Port.Name + "/server"))
	p.Binding.Host, p.Binding.VIF, p.Binding.Driver, p.Binding.Segment = host, "ovs", "openvswitch", segment
	return p
}

// Rows returns the port, its address and its binding.
func (p *Plug) Rows() []any { return []any{&p.Port, &p.Address, &p.Binding} }

// A Policy is a QoS policy with its rules.
type Policy struct {
	Policy network.PolicyRow
	Rules  []network.RuleRow
}

// NewPolicy returns a policy with rules, to which it gives ids.
func NewPolicy(name string, rules ...network.RuleRow) *Policy {
	p := &Policy{Policy: network.PolicyRow{Common: Common(name)}, Rules: rules}
	for i := range rules {
		rules[i].ID, rules[i].Policy = ID(fmt.Sprintf("%s/%d", name, i)), p.Policy.ID
	}
	return p
}

// MinBandwidth is a rule for NewPolicy.
func MinBandwidth(direction string, kbps int64) network.RuleRow {
	return network.RuleRow{Type: network.MinimumBandwidth, Direction: direction, Rate: kbps}
}

// Rows returns the policy and its rules.
func (p *Policy) Rows() []any {
	rows := []any{&p.Policy}
	for i := range p.Rules {
		rows = append(rows, &p.Rules[i])
	}
	return rows
}

// Add inserts rows into a store, in their order and in one Update.
func Add(tb testing.TB, s network.Store, sets ...Rows) {
	tb.Helper()
	err := s.Update(context.Background(), Now, func(w network.Writer) error { return Insert(w, sets...) })
	if err != nil {
		tb.Fatalf("adding rows: %v", err)
	}
}

// Insert inserts rows in their order.
func Insert(w network.Writer, sets ...Rows) error {
	for _, set := range sets {
		for _, row := range set.Rows() {
			if err := w.Insert(row); err != nil {
				return fmt.Errorf("inserting %T: %w", row, err)
			}
		}
	}
	return nil
}
