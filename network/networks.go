package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Network is a network with what hangs on it.
type Network struct {
	NetworkRow
	Segments []SegmentRow // in their order
	Subnets  []ID         // sorted
	Routed   bool         // the subnets are on segments, and traffic between them is routed
}

// A NetworkSpec is what may be said of a network.
type NetworkSpec struct {
	NetworkRow
	// Segments are the segments; one without a Type gets a type that the settings offer. Several
	// are allowed at creation only.
	Segments []SegmentSpec
	// Choice is about Policy.
	Choice PolicyChoice
}

// A SegmentSpec is what may be said of a segment of a network.
type SegmentSpec struct {
	Any             bool // no Type is given: any will do
	External        bool // of an external network, at creation
	Type            string
	PhysicalNetwork string
	SegmentationID  int // -1 when it is not given
}

// Networks returns the networks that match, with what hangs on them.
func (s *Service) Networks(ctx context.Context, where ...Match) (all []Network, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = networks(r, where...)
		return err
	})
	return all, err
}

func networks(r Reader, where ...Match) ([]Network, error) {
	rows, err := Rows[NetworkRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	these := Where(ByNetwork, ids(rows, func(n *NetworkRow) ID { return n.ID })...)
	segments, err := Rows[SegmentRow](r, these)
	if err != nil {
		return nil, err
	}
	subnets, err := Rows[SubnetRow](r, these)
	if err != nil {
		return nil, err
	}
	segmentsOf := group(segments, func(s *SegmentRow) ID { return s.Network })
	subnetsOf := group(subnets, func(s *SubnetRow) ID { return s.Network })
	all := make([]Network, len(rows))
	for i, row := range rows {
		of := subnetsOf[row.ID]
		all[i] = Network{row, inOrder(segmentsOf[row.ID]), ids(of, func(s *SubnetRow) ID { return s.ID }), slices.ContainsFunc(of, func(s SubnetRow) bool { return s.Segment != "" })}
	}
	return all, nil
}

// inOrder sorts segments as they were given.
func inOrder(segments []SegmentRow) []SegmentRow {
	slices.SortStableFunc(segments, func(a, b SegmentRow) int { return a.Place - b.Place })
	return segments
}

// CreateNetworks creates all of the networks or none. A network that names no segment gets one of
// the types that the settings offer. Faults: OverQuota, AvailabilityZoneNotFound, InvalidInput for
// a segment that is not possible, VlanIdInUse, TunnelIdInUse and FlatNetworkInUse for one that is
// in use, NoNetworkAvailable when none is left, QosPolicyNotFound, QosRuleNotSupportedByNetwork for
// a policy with a guarantee that the network cannot give.
func (s *Service) CreateNetworks(ctx context.Context, specs []NetworkSpec) (made []Network, err error) {
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "network", specs, func(s *NetworkSpec) string { return s.Project }); err != nil {
			return err
		}
		made = make([]Network, len(specs))
		for i := range specs {
			if made[i], err = c.createNetwork(specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

func (c *change) createNetwork(spec NetworkSpec) (n Network, err error) {
	if err := firstError(c.ensureDefaultGroup(spec.Project), c.zonesExist(spec.ZoneHints)); err != nil {
		return n, err
	}
	n.NetworkRow = spec.NetworkRow
	c.fresh(&n.Common)
	n.Revision = 1 // Neutron raises it once more while it makes the segments
	if len(spec.Segments) == 0 {
		spec.Segments = []SegmentSpec{{Any: true, SegmentationID: -1}}
	}
	for i, want := range spec.Segments {
		want.External = n.External
		segment, err := c.reserve(want)
		if err != nil {
			return n, err
		}
		c.fresh(&segment.Common)
		segment.Network, segment.Place = n.ID, i
		n.Segments = append(n.Segments, segment)
	}
	if n.MTU, err = c.mtu(n.MTU, n.Segments); err != nil {
		return n, err
	}
	if n.Policy == "" {
		n.Policy, err = c.defaultPolicy(n.Project)
	} else {
		err = firstError(spec.Choice.allowed(c, "", n.Policy), c.policyExists(n.Policy))
	}
	if err := firstError(err, c.policyKept(n, n.Policy)); err != nil {
		return n, err
	}
	if err := c.Insert(&n.NetworkRow); err != nil {
		return n, err
	}
	for i := range n.Segments {
		if err := c.Insert(&n.Segments[i]); err != nil {
			return n, taken(err, n.Segments[i])
		}
	}
	return n, nil
}

// policyExists refuses a QoS policy that is not there.
func (c *change) policyExists(id ID) error {
	if id == "" {
		return nil
	}
	_, err := byID[PolicyRow](c, "policy", id)
	return err
}

// UpdateNetwork changes a network. The function gets the current network; it may run more than
// once. When the policy changes, the allocations of servers' ports without a policy of their own
// follow: all of them, or the change is refused as by UpdatePort.
func (s *Service) UpdateNetwork(ctx context.Context, id ID, fn func(*NetworkSpec) error) (n Network, err error) {
	u := networkUpdate{id: id, fn: fn}
	err = s.changeGuarantees(ctx, &u)
	return u.network, err
}

// A networkUpdate is the change of a network, which may change the guarantees of its ports.
type networkUpdate struct {
	id      ID
	fn      func(*NetworkSpec) error
	network Network // after the commit
}

// plan implements guaranteeChange.
func (u *networkUpdate) plan(c *change) ([]allocationChange, error) {
	row, err := byID[NetworkRow](c, "network", u.id)
	if err != nil {
		return nil, err
	}
	spec := NetworkSpec{NetworkRow: row}
	if err := u.fn(&spec); err != nil {
		return nil, err
	}
	if err := spec.Choice.allowed(c, row.Policy, spec.Policy); err != nil || spec.Policy == row.Policy {
		return nil, err
	}
	rules, err := Rows[RuleRow](c, Where(ByPolicy, spec.Policy))
	if err != nil {
		return nil, err
	}
	all, err := ports(c, Where(ByNetwork, u.id))
	if err != nil {
		return nil, err
	}
	var changes []allocationChange
	for _, p := range all {
		if p.Policy != "" {
			continue
		}
		a, err := c.policyChange(p, rules)
		if err != nil {
			return nil, err
		}
		changes = append(changes, a)
	}
	return changes, nil
}

// commit implements guaranteeChange. A port whose allocation follows gets a higher revision, as in
// Neutron for a change of a binding: a request that names the former one would otherwise unbind the
// port with an allocation that its sender has not seen.
func (u *networkUpdate) commit(c *change, changes []allocationChange) (err error) {
	for _, a := range changes {
		if err := c.writeProfile(a, a.port.Binding.Profile); err != nil {
			return err
		}
		if !a.plan.Rewrite {
			continue
		}
		row := a.port.PortRow
		c.touch(&row.Common)
		if err := c.Replace(&row); err != nil {
			return err
		}
	}
	u.network, err = c.updateNetwork(u.id, u.fn)
	return err
}

func (c *change) updateNetwork(id ID, fn func(*NetworkSpec) error) (n Network, err error) {
	all, err := networks(c, Where(ByID, id))
	if err != nil {
		return n, err
	}
	if len(all) == 0 {
		return n, NotFound("network", id)
	}
	n = all[0]
	spec := NetworkSpec{NetworkRow: n.NetworkRow}
	if err := fn(&spec); err != nil {
		return n, err
	}
	if err := spec.Choice.allowed(c, n.Policy, spec.Policy); err != nil {
		return n, err
	}
	if len(spec.Segments) > 0 {
		if err := c.moveVLAN(&n, spec.Segments[0]); err != nil {
			return n, err
		}
	}
	if spec.MTU != n.MTU {
		if spec.MTU, err = c.mtu(spec.MTU, n.Segments); err != nil {
			return n, err
		}
	}
	if n.Shared && !spec.Shared {
		if err := c.unshare(n); err != nil {
			return n, err
		}
	}
	if spec.Policy != n.Policy {
		if err := firstError(c.policyFits(n.ID, spec.Policy), c.policyKept(n, spec.Policy)); err != nil {
			return n, err
		}
	}
	n.NetworkRow = spec.NetworkRow
	c.touch(&n.Common)
	return n, c.Replace(&n.NetworkRow)
}

// policyFits refuses a policy that is not there, or that a port of the network
// which would get it cannot have.
func (c *change) policyFits(id, policyID ID) error {
	if policyID == "" {
		return nil
	}
	p, err := policy(c, policyID)
	if err != nil {
		return err
	}
	all, err := ports(c, Where(ByNetwork, id))
	if err != nil {
		return err
	}
	for _, port := range all {
		if port.Policy != "" {
			continue
		}
		port.Rules = p.Rules
		if err := c.supports(port); err != nil {
			return err
		}
	}
	return nil
}

// policyKept refuses a policy with a guarantee that the network cannot give.
func (c *change) policyKept(n Network, policyID ID) error {
	if policyID == "" {
		return nil
	}
	rules, err := Rows[RuleRow](c, Where(ByPolicy, policyID))
	return firstError(err, guarantees(n, rules, c.settings.Extensions))
}

// unshare refuses to unshare a network that other projects use.
func (c *change) unshare(n Network) error {
	ports, err := Rows[PortRow](c, Where(ByNetwork, n.ID))
	if err != nil {
		return err
	}
	foreign := func(p PortRow) bool { return p.Project != n.Project && p.Project != "" }
	if slices.ContainsFunc(ports, foreign) {
		return conflict("InvalidSharedSetting",
			"Unable to reconfigure sharing settings for network %s. Multiple tenants are using it.", n.Name)
	}
	return nil
}

// DeleteNetwork removes a network with its subnets and segments, unless a port
// that is not the service's own is on it: NetworkInUse.
func (s *Service) DeleteNetwork(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[NetworkRow](c, "network", id)
		if err != nil {
			return err
		}
		here := Where(ByNetwork, id)
		ports, err := Rows[PortRow](c, here)
		if err != nil {
			return err
		}
		if len(ports) > 0 {
			return networkInUse(id, ports)
		}
		if err := met(only, &row.Common); err != nil {
			return err
		}
		_, subnets := c.Remove(&SubnetRow{}, here)
		_, segments := c.Remove(&SegmentRow{}, here)
		_, networks := c.Remove(&NetworkRow{}, Where(ByID, id))
		return firstError(subnets, segments, networks)
	})
}

func networkInUse(id ID, ports []PortRow) error {
	reason := "There are one or more ports still in use on the network, id for these ports is: "
	for i, p := range ports {
		if i > 0 {
			reason += ","
		}
		reason += string(p.ID)
	}
	return conflict("NetworkInUse", "Unable to complete operation on network %s. %s.", id, reason)
}

// taken turns ErrTaken of a segment into the fault of its type.
func taken(err error, s SegmentRow) error {
	if !errors.Is(err, ErrTaken) {
		return err
	}
	switch s.Type {
	case VLAN:
		return conflict("VlanIdInUse", "Unable to create the network. The VLAN %d on physical network %s is in use.",
			s.SegmentationID, s.PhysicalNetwork)
	case Flat:
		return conflict("FlatNetworkInUse", "Unable to create the flat network. Physical network %s is in use.", s.PhysicalNetwork)
	}
	return conflict("TunnelIdInUse", "Unable to create the network. The tunnel ID %s is in use.", fmt.Sprint(s.SegmentationID))
}
