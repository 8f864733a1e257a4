// Package topology is what ports are created on: networks with their segments and MTUs, and subnets
// with their addresses. The arithmetic of addresses is in package ipam.
package topology

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/qos"
	"github.com/berthcloud/berth/network/quotas"
	"github.com/berthcloud/berth/network/reallocation"
	"github.com/berthcloud/berth/network/security"
)

// A NetworkSpec is a request for a network.
type NetworkSpec struct {
	network.NetworkRow
	// Segments are the segments; one without a Type gets a type that the settings offer. Several
	// are allowed at creation only.
	Segments []SegmentSpec
	// Choice is about Policy.
	Choice qos.Choice
}

// A Service has the rules of networks, segments and subnets. Its methods may be called
// concurrently. Callers check permissions before.
type Service struct {
	db      *network.Database
	changes *reallocation.Service
}

// New returns the networks in a database, which change allocations of their ports with
// changes.
func New(db *network.Database, changes *reallocation.Service) *Service {
	return &Service{db, changes}
}

// Networks returns the networks that match, with what belongs to them.
func (s *Service) Networks(ctx context.Context, where ...network.Match) (all []network.Network, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = network.Networks(r, where...)
		return err
	})
	return all, err
}

// CreateNetworks creates all of the networks or none. A network that names no segment gets one of
// the types that the settings offer. Faults: OverQuota, AvailabilityZoneNotFound, InvalidInput for
// a segment that is not possible, VlanIdInUse, TunnelIdInUse and FlatNetworkInUse for one that is
// in use, NoNetworkAvailable when none is free, QosPolicyNotFound, QosRuleNotSupportedByNetwork for
// a policy with a guarantee that the network cannot have.
func (s *Service) CreateNetworks(ctx context.Context, specs []NetworkSpec) (networks []network.Network, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if err := quotas.WithinEach(tx, "network", specs,
			func(s *NetworkSpec) string { return s.Project }); err != nil {
			return err
		}
		networks = make([]network.Network, len(specs))
		for i := range specs {
			if networks[i], err = createNetwork(tx, specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return networks, err
}

func createNetwork(tx *network.Tx, spec NetworkSpec) (n network.Network, err error) {
	if err := cmp.Or(security.EnsureDefaultGroup(tx, spec.Project), agents.ZonesExist(tx, spec.ZoneHints)); err != nil {
		return n, err
	}
	n.NetworkRow = spec.NetworkRow
	tx.Fresh(&n.Common)
	n.Revision = 1 // Neutron raises it once more while it makes the segments
	if len(spec.Segments) == 0 {
		spec.Segments = []SegmentSpec{{Any: true, SegmentationID: -1}}
	}
	for i, want := range spec.Segments {
		want.External = n.External
		segment, err := reserve(tx, want)
		if err != nil {
			return n, err
		}
		tx.Fresh(&segment.Common)
		segment.Network, segment.Index = n.ID, i
		n.Segments = append(n.Segments, segment)
	}
	if n.MTU, err = networkMTU(tx, n.MTU, n.Segments); err != nil {
		return n, err
	}
	if n.Policy == "" {
		n.Policy, err = qos.DefaultPolicy(tx, n.Project)
	} else {
		err = cmp.Or(spec.Choice.Check(tx, "", n.Policy), qos.PolicyExists(tx, n.Policy))
	}
	if err := cmp.Or(err, checkPolicy(tx, n, n.Policy)); err != nil {
		return n, err
	}
	if err := tx.Insert(&n.NetworkRow); err != nil {
		return n, err
	}
	for i := range n.Segments {
		if err := tx.Insert(&n.Segments[i]); err != nil {
			return n, taken(err, n.Segments[i])
		}
	}
	return n, nil
}

// UpdateNetwork changes a network. The function gets the current network; it may run more than
// once. When the policy changes, the allocations of servers' ports without a policy of their own
// follow: all of them, or the change is refused as by UpdatePort.
func (s *Service) UpdateNetwork(
	ctx context.Context, id network.ID, fn func(*NetworkSpec) error,
) (n network.Network, err error) {
	u := networkUpdate{id: id, fn: fn}
	err = s.changes.ChangeGuarantees(ctx, &u)
	return u.network, err
}

// A networkUpdate is the change of a network, which may change the guarantees of its ports.
type networkUpdate struct {
	id      network.ID
	fn      func(*NetworkSpec) error
	network network.Network // after the commit
}

// Plan implements Cause.
func (u *networkUpdate) Plan(tx *network.Tx) ([]reallocation.Change, error) {
	row, err := network.Find[network.NetworkRow](tx, "network", u.id)
	if err != nil {
		return nil, err
	}
	spec := NetworkSpec{NetworkRow: row}
	if err := u.fn(&spec); err != nil {
		return nil, err
	}
	if err := spec.Choice.Check(tx, row.Policy, spec.Policy); err != nil || spec.Policy == row.Policy {
		return nil, err
	}
	rules, err := network.Rows[network.RuleRow](tx, network.Where(network.ByPolicy, spec.Policy))
	if err != nil {
		return nil, err
	}
	all, err := network.Ports(tx, network.Where(network.ByNetwork, u.id))
	if err != nil {
		return nil, err
	}
	var changes []reallocation.Change
	for _, p := range all {
		if p.Policy != "" {
			continue
		}
		a, err := reallocation.PolicyChange(tx, p, rules)
		if err != nil {
			return nil, err
		}
		changes = append(changes, a)
	}
	return changes, nil
}

// Commit implements Cause. A port whose allocation follows gets a higher revision, as in
// Neutron for a change of a binding: a request that names the former one would otherwise unbind the
// port with an allocation that its sender has not seen.
func (u *networkUpdate) Commit(tx *network.Tx, changes []reallocation.Change) (err error) {
	for _, a := range changes {
		if err := reallocation.WriteProfile(tx, a, a.Port.Binding.Profile); err != nil {
			return err
		}
		if !a.Plan.Rewrite {
			continue
		}
		row := a.Port.PortRow
		tx.Touch(&row.Common)
		if err := tx.Replace(&row); err != nil {
			return err
		}
	}
	u.network, err = updateNetwork(tx, u.id, u.fn)
	return err
}

func updateNetwork(tx *network.Tx, id network.ID, fn func(*NetworkSpec) error) (n network.Network, err error) {
	all, err := network.Networks(tx, network.Where(network.ByID, id))
	if err != nil {
		return n, err
	}
	if len(all) == 0 {
		return n, network.NotFound("network", id)
	}
	n = all[0]
	spec := NetworkSpec{NetworkRow: n.NetworkRow}
	if err := fn(&spec); err != nil {
		return n, err
	}
	if err := spec.Choice.Check(tx, n.Policy, spec.Policy); err != nil {
		return n, err
	}
	if len(spec.Segments) > 0 {
		if err := changeVLAN(tx, &n, spec.Segments[0]); err != nil {
			return n, err
		}
	}
	if spec.MTU != n.MTU {
		if spec.MTU, err = networkMTU(tx, spec.MTU, n.Segments); err != nil {
			return n, err
		}
	}
	if n.Shared && !spec.Shared {
		if err := checkUnshared(tx, n); err != nil {
			return n, err
		}
	}
	if spec.Policy != n.Policy {
		if err := cmp.Or(checkPolicyOfPorts(tx, n.ID, spec.Policy), checkPolicy(tx, n, spec.Policy)); err != nil {
			return n, err
		}
	}
	n.NetworkRow = spec.NetworkRow
	tx.Touch(&n.Common)
	return n, tx.Replace(&n.NetworkRow)
}

// checkPolicyOfPorts refuses a policy that is not there, or that a port of the network
// which would get it cannot have.
func checkPolicyOfPorts(tx *network.Tx, id, policyID network.ID) error {
	if policyID == "" {
		return nil
	}
	p, err := qos.ReadPolicy(tx, policyID)
	if err != nil {
		return err
	}
	all, err := network.Ports(tx, network.Where(network.ByNetwork, id))
	if err != nil {
		return err
	}
	for _, port := range all {
		if port.Policy != "" {
			continue
		}
		port.Rules = p.Rules
		if err := qos.CheckPort(tx, port); err != nil {
			return err
		}
	}
	return nil
}

// checkPolicy refuses a policy with a guarantee that the network cannot have.
func checkPolicy(tx *network.Tx, n network.Network, policyID network.ID) error {
	if policyID == "" {
		return nil
	}
	rules, err := network.Rows[network.RuleRow](tx, network.Where(network.ByPolicy, policyID))
	return cmp.Or(err, qos.CheckNetwork(n, rules, tx.Settings.Extensions))
}

// checkUnshared refuses to unshare a network that other projects use.
func checkUnshared(tx *network.Tx, n network.Network) error {
	ports, err := network.Rows[network.PortRow](tx, network.Where(network.ByNetwork, n.ID))
	if err != nil {
		return err
	}
	foreign := func(p network.PortRow) bool { return p.Project != n.Project && p.Project != "" }
	if slices.ContainsFunc(ports, foreign) {
		return network.Conflict("InvalidSharedSetting",
			"Unable to reconfigure sharing settings for network %s. Multiple tenants are using it.", n.Name)
	}
	return nil
}

// DeleteNetwork removes a network with its subnets and segments, unless a port
// that is not the service's own is on it: NetworkInUse.
func (s *Service) DeleteNetwork(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.NetworkRow](tx, "network", id)
		if err != nil {
			return err
		}
		here := network.Where(network.ByNetwork, id)
		ports, err := network.Rows[network.PortRow](tx, here)
		if err != nil {
			return err
		}
		if len(ports) > 0 {
			return networkInUse(id, ports)
		}
		if err := network.CheckConditions(only, &row.Common); err != nil {
			return err
		}
		routed, err := tx.SubnetsOf(id)
		if err != nil {
			return err
		}
		_, subnets := tx.Remove(&network.SubnetRow{}, here)
		_, segments := tx.Remove(&network.SegmentRow{}, here)
		_, networks := tx.Remove(&network.NetworkRow{}, network.Where(network.ByID, id))
		return cmp.Or(subnets, segments, networks, tx.MarkSubnets(routed...))
	})
}

func networkInUse(id network.ID, ports []network.PortRow) error {
	reason := "There are one or more ports still in use on the network, id for these ports is: "
	for i, p := range ports {
		if i > 0 {
			reason += ","
		}
		reason += string(p.ID)
	}
	return network.Conflict("NetworkInUse", "Unable to complete operation on network %s. %s.", id, reason)
}
