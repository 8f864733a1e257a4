package network

import (
	"slices"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
)

// A Port is a port with what belongs to it and what its network gives it.
type Port struct {
	PortRow
	Addresses []AddressRow // in the order of their subnets
	Binding   BindingRow   // the active one
	Inactive  []BindingRow // to other hosts
	Network   SegmentedNetwork
	Rules     []RuleRow // of the policy in effect
	Trunk     *Trunk    // that it is the parent of

	SecurityGroups []ID // sorted
}

// NetworkPolicy returns the QoS policy that the network gives the port, whether or
// not its own goes before it; "" for none.
func (p *Port) NetworkPolicy() ID { return p.Network.Policy }

// EffectivePolicy returns the policy that is in effect: the port's own, else the
// network's.
func (p *Port) EffectivePolicy() ID {
	if p.Policy != "" {
		return p.Policy
	}
	return p.Network.Policy
}

// Ports reads the ports that match, with what belongs to them: a fixed number of reads, whatever
// the number of ports.
func Ports(r Reader, where ...Match) ([]Port, error) {
	rows, err := Rows[PortRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	p, err := readParts(r, rows)
	if err != nil {
		return nil, err
	}
	return p.joinAll(rows), nil
}

// GuaranteedPorts adds to ports what their guarantees depend on: their bindings, their networks and
// the rules in effect. They have no addresses, security groups and trunks.
func GuaranteedPorts(r Reader, rows []PortRow) ([]Port, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	p, err := readGuarantees(r, rows)
	return p.joinAll(rows), err
}

// PluggedPorts reads ports with what depends on whether they are plugged in: their bindings and
// trunks. They have no addresses, security groups, networks and rules.
func PluggedPorts(r Reader, ids ...ID) ([]Port, error) {
	rows, err := Rows[PortRow](r, Where(ByID, ids...))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var p parts
	found := IDs(rows, func(p *PortRow) ID { return p.ID })
	bindings, err := Rows[BindingRow](r, Where(ByPort, found...))
	if err != nil {
		return nil, err
	}
	p.bindings = GroupBy(bindings, func(b *BindingRow) ID { return b.Port })
	p.trunks, err = trunksOf(r, found)
	return p.joinAll(rows), err
}

// parts are what hangs on some ports, by what it hangs on.
type parts struct {
	addresses map[ID][]AddressRow
	bindings  map[ID][]BindingRow
	networks  map[ID]SegmentedNetwork
	rules     map[ID][]RuleRow
	trunks    map[ID]Trunk
	groups    map[ID][]ID
}

func readParts(r Reader, rows []PortRow) (parts, error) {
	p, err := readGuarantees(r, rows)
	if err != nil {
		return p, err
	}
	portIDs := IDs(rows, func(p *PortRow) ID { return p.ID })
	addresses, err := Rows[AddressRow](r, Where(ByPort, portIDs...))
	if err != nil {
		return p, err
	}
	p.addresses = GroupBy(addresses, func(a *AddressRow) ID { return a.Port })
	if p.groups, err = groupsByPort(r, portIDs); err != nil {
		return p, err
	}
	p.trunks, err = trunksOf(r, portIDs)
	return p, err
}

// readGuarantees reads the parts that guarantees depend on.
func readGuarantees(r Reader, rows []PortRow) (p parts, err error) {
	portIDs := IDs(rows, func(p *PortRow) ID { return p.ID })
	bindings, err := Rows[BindingRow](r, Where(ByPort, portIDs...))
	if err != nil {
		return p, err
	}
	nets, err := segmentedNetworks(r, Where(ByID, IDs(rows, func(p *PortRow) ID { return p.Network })...))
	if err != nil {
		return p, err
	}
	p.bindings = GroupBy(bindings, func(b *BindingRow) ID { return b.Port })
	p.networks = make(map[ID]SegmentedNetwork, len(nets))
	for _, n := range nets {
		p.networks[n.ID] = n
	}
	p.rules, err = rulesOf(r, rows, nets)
	return p, err
}

// rulesOf returns the rules of the policies of ports and networks, by policy.
func rulesOf(r Reader, rows []PortRow, nets []SegmentedNetwork) (map[ID][]RuleRow, error) {
	policies := IDs(rows, func(p *PortRow) ID { return p.Policy })
	for _, n := range nets {
		if n.Policy != "" {
			policies = append(policies, n.Policy)
		}
	}
	if len(policies) == 0 {
		return nil, nil
	}
	rules, err := Rows[RuleRow](r, Where(ByPolicy, policies...))
	return GroupBy(rules, func(r *RuleRow) ID { return r.Policy }), err
}

func (p *parts) joinAll(rows []PortRow) []Port {
	all := make([]Port, len(rows))
	for i, row := range rows {
		all[i] = p.join(row)
	}
	return all
}

func (p *parts) join(row PortRow) Port {
	port := Port{PortRow: row, Addresses: p.addresses[row.ID], Network: p.networks[row.Network]}
	port.SetBindings(p.bindings[row.ID])
	port.Rules, port.SecurityGroups = p.rules[port.EffectivePolicy()], p.groups[row.ID]
	if t, ok := p.trunks[row.ID]; ok {
		port.Trunk = &t
	}
	return port
}

// SetBindings sets the bindings of a port.
func (p *Port) SetBindings(bindings []BindingRow) {
	p.Inactive = nil
	for _, b := range bindings {
		if b.Active {
			p.Binding = b
		} else {
			p.Inactive = append(p.Inactive, b)
		}
	}
}

// groupsByPort returns the groups that ports are in, sorted.
func groupsByPort(r Reader, ports []ID) (map[ID][]ID, error) {
	rows, err := Rows[PortGroupRow](r, Where(ByPort, ports...))
	by := make(map[ID][]ID, len(ports))
	for _, row := range rows {
		by[row.Port] = append(by[row.Port], row.Group)
	}
	return by, err
}

// Up reports whether the port is plugged in.
func (p *Port) Up() bool { return p.Status == PortActive }

// Allocation returns which providers serve the port.
func (p *Port) Allocation() (guarantee.ProfileAllocation, error) { return p.Binding.Allocation() }

// Allocation returns which providers serve the port there.
func (b *BindingRow) Allocation() (guarantee.ProfileAllocation, error) {
	return binding.Allocation(b.Profile)
}

// A SegmentedNetwork is a network with its segments: what a port's network gives it.
type SegmentedNetwork struct {
	NetworkRow
	Segments []SegmentRow // in their order
}

// A Network is a network with what belongs to it.
type Network struct {
	SegmentedNetwork
	Subnets []ID // sorted
	Routed  bool // the subnets are on segments, and traffic between them is routed
}

// Networks reads the networks that match, with what belongs to them.
func Networks(r Reader, where ...Match) ([]Network, error) {
	nets, err := segmentedNetworks(r, where...)
	if err != nil || len(nets) == 0 {
		return nil, err
	}
	subnets, err := Rows[SubnetRow](r, Where(ByNetwork, IDs(nets, func(n *SegmentedNetwork) ID { return n.ID })...))
	if err != nil {
		return nil, err
	}
	subnetsOf := GroupBy(subnets, func(s *SubnetRow) ID { return s.Network })
	all := make([]Network, len(nets))
	for i, n := range nets {
		subnets := subnetsOf[n.ID]
		all[i] = Network{
			SegmentedNetwork: n,
			Subnets:          IDs(subnets, func(s *SubnetRow) ID { return s.ID }),
			Routed:           slices.ContainsFunc(subnets, func(s SubnetRow) bool { return s.Segment != "" }),
		}
	}
	return all, nil
}

// segmentedNetworks reads the networks that match, with their segments.
func segmentedNetworks(r Reader, where ...Match) ([]SegmentedNetwork, error) {
	rows, err := Rows[NetworkRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	segments, err := Rows[SegmentRow](r, Where(ByNetwork, IDs(rows, func(n *NetworkRow) ID { return n.ID })...))
	if err != nil {
		return nil, err
	}
	segmentsOf := GroupBy(segments, func(s *SegmentRow) ID { return s.Network })
	all := make([]SegmentedNetwork, len(rows))
	for i, row := range rows {
		all[i] = SegmentedNetwork{row, inOrder(segmentsOf[row.ID])}
	}
	return all, nil
}

// inOrder sorts segments as they were given.
func inOrder(segments []SegmentRow) []SegmentRow {
	slices.SortStableFunc(segments, func(a, b SegmentRow) int { return a.Index - b.Index })
	return segments
}

// A Trunk is a trunk with what is on it.
type Trunk struct {
	TrunkRow
	Subports []Subport
}

// A Subport is a port on a trunk, with its MAC address.
type Subport struct {
	SubportRow
	MAC string
}

// trunksOf returns the trunks that some ports are the parents of, by port.
func trunksOf(r Reader, portIDs []ID) (map[ID]Trunk, error) {
	rows, err := Rows[TrunkRow](r, Where(ByPort, portIDs...))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	all, err := WithSubports(r, rows)
	by := make(map[ID]Trunk, len(all))
	for _, t := range all {
		by[t.Port] = t
	}
	return by, err
}

// WithSubports adds what is on some trunks.
func WithSubports(r Reader, rows []TrunkRow) ([]Trunk, error) {
	subports, err := Rows[SubportRow](r, Where(ByTrunk, IDs(rows, func(t *TrunkRow) ID { return t.ID })...))
	if err != nil {
		return nil, err
	}
	ports, err := Rows[PortRow](r, Where(ByID, IDs(subports, func(s *SubportRow) ID { return s.Port })...))
	if err != nil {
		return nil, err
	}
	macs := make(map[ID]string, len(ports))
	for _, p := range ports {
		macs[p.ID] = p.MAC
	}
	byTrunk := GroupBy(subports, func(s *SubportRow) ID { return s.Trunk })
	all := make([]Trunk, len(rows))
	for i, row := range rows {
		all[i].TrunkRow = row
		for _, s := range byTrunk[row.ID] {
			all[i].Subports = append(all[i].Subports, Subport{s, macs[s.Port]})
		}
	}
	return all, nil
}
