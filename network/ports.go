package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/network/guarantee"
)

// A Port is a port with what hangs on it and what its network gives it.
type Port struct {
	PortRow
	Addresses []AddressRow // in the order of their subnets
	Binding   BindingRow   // the active one
	Network   Network
	Rules     []RuleRow // of the policy in effect
	Trunk     *Trunk    // that it is the parent of
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

// A PortSpec is what may be said of a port.
type PortSpec struct {
	PortRow
	// FixedIPs are the addresses it is to have; AnyIPs says that nothing was
	// said of them, so that it gets one of each kind.
	FixedIPs []FixedIP
	AnyIPs   bool
	// AnyGroups says that nothing was said of security groups: it gets the
	// project's default.
	AnyGroups bool
	// AnyPortSecurity says that the network decides whether it is secured.
	AnyPortSecurity bool
	// Rebind says that Host, VNIC or Profile was set.
	Host    string
	VNIC    string
	Profile []byte // a JSON object
	Rebind  bool
}

// A FixedIP asks for an address: of a subnet, a certain one, or both.
type FixedIP struct {
	Subnet ID
	IP     string
}

// Ports returns the ports that match, with what hangs on them: a fixed number of
// reads, whatever the number of ports.
func (s *Service) Ports(ctx context.Context, where ...Match) (all []Port, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = ports(r, where...)
		return err
	})
	return all, err
}

func ports(r Reader, where ...Match) ([]Port, error) {
	rows, err := Rows[PortRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	p, err := readParts(r, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Port, len(rows))
	for i, row := range rows {
		all[i] = p.join(row)
	}
	return all, nil
}

// parts are what hangs on some ports, by what it hangs on.
type parts struct {
	addresses map[ID][]AddressRow
	bindings  map[ID]BindingRow
	networks  map[ID]Network
	rules     map[ID][]RuleRow
	trunks    map[ID]Trunk
}

func readParts(r Reader, rows []PortRow) (p parts, err error) {
	these := ids(rows, func(p *PortRow) ID { return p.ID })
	addresses, err := Rows[AddressRow](r, Where(ByPort, these...))
	if err != nil {
		return p, err
	}
	bindings, err := Rows[BindingRow](r, Where(ByPort, these...))
	if err != nil {
		return p, err
	}
	nets, err := networks(r, Where(ByID, ids(rows, func(p *PortRow) ID { return p.Network })...))
	if err != nil {
		return p, err
	}
	p.addresses = group(addresses, func(a *AddressRow) ID { return a.Port })
	p.bindings = make(map[ID]BindingRow, len(rows))
	for _, b := range bindings {
		if b.Active {
			p.bindings[b.Port] = b
		}
	}
	p.networks = make(map[ID]Network, len(nets))
	for _, n := range nets {
		p.networks[n.ID] = n
	}
	if p.rules, err = rulesOf(r, rows, nets); err != nil {
		return p, err
	}
	p.trunks, err = trunksOf(r, these)
	return p, err
}

// rulesOf returns the rules of the policies of ports and networks, by policy.
func rulesOf(r Reader, rows []PortRow, nets []Network) (map[ID][]RuleRow, error) {
	policies := ids(rows, func(p *PortRow) ID { return p.Policy })
	for _, n := range nets {
		if n.Policy != "" {
			policies = append(policies, n.Policy)
		}
	}
	if len(policies) == 0 {
		return nil, nil
	}
	rules, err := Rows[RuleRow](r, Where(ByPolicy, policies...))
	return group(rules, func(r *RuleRow) ID { return r.Policy }), err
}

func (p *parts) join(row PortRow) Port {
	port := Port{PortRow: row, Addresses: p.addresses[row.ID], Binding: p.bindings[row.ID], Network: p.networks[row.Network]}
	port.Rules = p.rules[port.EffectivePolicy()]
	if t, ok := p.trunks[row.ID]; ok {
		port.Trunk = &t
	}
	return port
}

// CreatePorts makes all of the ports or none. Faults: NetworkNotFound,
// MacAddressInUse, what addresses and bindings are refused for, QosPolicyNotFound,
// SecurityGroupNotFound, QosRuleNotSupported.
func (s *Service) CreatePorts(ctx context.Context, specs []PortSpec) (made []Port, err error) {
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "port", specs, func(s *PortSpec) string { return s.Project }); err != nil {
			return err
		}
		made = make([]Port, len(specs))
		for i := range specs {
			if made[i], err = c.createPort(specs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

func (c *change) createPort(spec PortSpec) (p Port, err error) {
	n, err := byID[NetworkRow](c, "network", spec.Network)
	if err != nil {
		return p, err
	}
	row := spec.PortRow
	c.fresh(&row.Common)
	row.Status, row.IPAllocation, row.Revision = PortDown, "immediate", 1
	if spec.AnyPortSecurity {
		row.PortSecurity = n.PortSecurity
	}
	if !spec.AnyIPs && len(spec.FixedIPs) == 0 {
		row.IPAllocation = "none"
	}
	if err := firstError(c.policyExists(row.Policy), secured(row, PortRow{})); err != nil {
		return p, err
	}
	if err := c.groups(&row, spec.AnyGroups); err != nil {
		return p, err
	}
	if err := c.insertPort(&row); err != nil {
		return p, err
	}
	if err := c.giveAddresses(row, spec.FixedIPs, spec.AnyIPs); err != nil {
		return p, err
	}
	if err := c.Insert(&BindingRow{
		Port: row.ID, Active: true, VIF: VIFUnbound, VNIC: spec.VNIC,
		Profile: orEmpty(spec.Profile), Details: orEmpty(nil), Host: spec.Host,
	}); err != nil {
		return p, err
	}
	return c.rebound(row.ID, spec.Host != "")
}

// secured refuses what only ports that are secured can have; old is what the port
// was, the zero row for a new one.
func secured(row, old PortRow) error {
	for i, pair := range row.AddressPairs {
		if slices.Contains(row.AddressPairs[:i], pair) {
			return invalid("DuplicateAddressPairInRequest", "Request contains duplicate address pair: mac_address %s ip_address %s.",
				orPythonNone(pair.MAC), pair.IP)
		}
	}
	switch {
	case row.PortSecurity:
		return nil
	case len(row.SecurityGroups) > 0 && old.PortSecurity:
		return conflict("PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security "+
			"or IP address until security group is removed.")
	case len(row.SecurityGroups) > 0:
		return invalid("PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address "+
			"in order to use security groups.")
	case len(row.AddressPairs) > 0:
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// orPythonNone is a text as Neutron's errors show it, which say None for nothing.
func orPythonNone(s string) string { return cmp.Or(s, "None") }

// rebound binds a port if that is asked for, and returns it as it is then.
func (c *change) rebound(id ID, bind bool) (p Port, err error) {
	all, err := ports(c, Where(ByID, id))
	if err != nil {
		return p, err
	}
	p = all[0]
	if err := c.supports(p); err != nil {
		return p, err
	}
	if !bind {
		return p, nil
	}
	if err := c.bind(&p); err != nil {
		return p, err
	}
	return p, c.Replace(&p.PortRow)
}

// orEmpty is a JSON object, the empty one for none.
func orEmpty(object []byte) []byte {
	if len(object) == 0 || string(object) == "null" {
		return []byte("{}")
	}
	return object
}

// macTries is how often another MAC address is tried when one is taken: of sixteen
// million, few are.
const macTries = 16

// insertPort adds a port, with a MAC address of its own if it has none.
func (c *change) insertPort(row *PortRow) error {
	asked := row.MAC != ""
	for range macTries {
		if !asked {
			row.MAC = c.settings.MACBase + randomOctets()
		}
		err := c.Insert(row)
		if !errors.Is(err, ErrTaken) {
			return err
		}
		if asked {
			return macInUse(row)
		}
	}
	return fmt.Errorf("network: no free MAC address begins with %s", c.settings.MACBase)
}

func macInUse(row *PortRow) error {
	return conflict("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.", row.Network, row.MAC)
}

func randomOctets() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return fmt.Sprintf("%02x:%02x:%02x", b[0], b[1], b[2])
}

// UpdatePort changes a port. The function gets what the port is now; it may run
// more than once.
//
// When a server's port comes to another policy, what placement holds for it
// follows; and when it is bound with an allocation that is less than the port
// promises, what is missing is added (decision 18). Faults besides those of
// CreatePorts: PortBound, QosPlacementAllocationUpdateConflict when there is not
// enough, PlacementAllocationRemoved, PlacementAllocationRpNotExists,
// PlacementAllocationGenerationConflict, ResourceRequestChanged.
func (s *Service) UpdatePort(ctx context.Context, id ID, fn func(*PortSpec) error) (p Port, err error) {
	missing, err := s.missing(ctx, id, fn)
	if err != nil {
		return p, err
	}
	err = s.moving(ctx, func(c *change) ([]move, error) {
		m, err := c.portMove(id, fn, missing)
		return []move{m}, err
	}, func(c *change, moves []move) error {
		p, err = c.updatePort(id, fn, moves[0])
		return err
	})
	if err == nil {
		s.events.port("network-changed", p)
	}
	return p, err
}

// portMove finds what a port has to follow when it is changed: another policy, or
// what is missing of what it promises.
func (c *change) portMove(id ID, fn func(*PortSpec) error, missing guarantee.Amounts) (move, error) {
	p, spec, err := drafted(c, id, fn)
	switch {
	case err != nil:
		return move{}, err
	case len(missing) > 0:
		p.DeviceID = spec.DeviceID
		return planned(p, guarantee.Plan{Differences: missing}), nil
	case spec.Policy == p.Policy || p.rebinds(spec):
		return move{port: p}, nil
	}
	next := p
	next.Policy = spec.Policy
	if next.EffectivePolicy() == p.EffectivePolicy() {
		return move{port: p}, nil
	}
	rules, err := Rows[RuleRow](c, Where(ByPolicy, next.EffectivePolicy()))
	if err != nil {
		return move{}, err
	}
	return c.moveOf(p, rules)
}

// drafted returns a port and what it is to be.
func drafted(r Reader, id ID, fn func(*PortSpec) error) (Port, PortSpec, error) {
	all, err := ports(r, Where(ByID, id))
	if err == nil && len(all) == 0 {
		err = NotFound("port", id)
	}
	if err != nil {
		return Port{}, PortSpec{}, err
	}
	spec := all[0].spec()
	return all[0], spec, fn(&spec)
}

// rebinds reports whether a port is to be plugged in anew.
func (p *Port) rebinds(spec PortSpec) bool {
	return spec.Host != p.Binding.Host || spec.VNIC != p.Binding.VNIC || !sameJSON(spec.Profile, p.Binding.Profile)
}

func (c *change) updatePort(id ID, fn func(*PortSpec) error, m move) (p Port, err error) {
	p, spec, err := drafted(c, id, fn)
	if err != nil {
		return p, err
	}
	row := spec.PortRow
	if row.Policy != p.Policy {
		if err := c.policyExists(row.Policy); err != nil {
			return p, err
		}
	}
	if err := secured(row, p.PortRow); err != nil {
		return p, err
	}
	if err := c.groups(&row, false); err != nil {
		return p, err
	}
	if err := c.moveAddresses(row, p.Addresses, spec.FixedIPs); err != nil {
		return p, err
	}
	bind := p.rebinds(spec)
	if bind {
		err = c.setBinding(p.Binding, spec)
	} else {
		err = c.follow(m)
	}
	if err != nil {
		return p, err
	}
	if row.MAC != p.MAC && p.Binding.VIF != VIFUnbound && p.Binding.VIF != VIFFailed {
		return p, conflict("PortBound", "Unable to complete operation on port %s, port is already bound, "+
			"port type: %s, old_mac %s, new_mac %s.", id, p.Binding.VIF, p.MAC, row.MAC)
	}
	c.touch(&row.Common)
	if err := c.Replace(&row); errors.Is(err, ErrTaken) {
		return p, macInUse(&row)
	} else if err != nil {
		return p, err
	}
	return c.rebound(id, bind)
}

// spec is what the port says now.
func (p *Port) spec() PortSpec {
	s := PortSpec{PortRow: p.PortRow, Host: p.Binding.Host, VNIC: p.Binding.VNIC, Profile: p.Binding.Profile}
	for _, a := range p.Addresses {
		s.FixedIPs = append(s.FixedIPs, FixedIP{a.Subnet, a.IP})
	}
	return s
}

// setBinding writes what a caller says of a binding; binding it comes after.
func (c *change) setBinding(now BindingRow, spec PortSpec) error {
	next := now
	next.Host, next.VNIC, next.Profile = spec.Host, spec.VNIC, orEmpty(spec.Profile)
	next.VIF, next.Details, next.Driver, next.Segment = VIFUnbound, orEmpty(nil), "", ""
	if next.Host == now.Host {
		return c.Replace(&next)
	}
	// The host is part of the key, and another binding may have it already.
	_, old := c.Remove(&BindingRow{}, Where(ByPort, now.Port), Where(ByHost, now.Host, next.Host))
	return firstError(old, c.Insert(&next))
}

// sameJSON reports whether two objects are the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(orEmpty(a), &x) != nil || json.Unmarshal(orEmpty(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // they came from JSON
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}

// DeletePort removes a port and what hangs on it, and frees what placement holds
// for it (bug 1820588), soon when not at once. Faults: PortNotFound,
// PortInUseAsTrunkParent, PortInUseAsSubPort.
func (s *Service) DeletePort(ctx context.Context, id ID) error {
	var p Port
	var intent IntentRow
	err := s.update(ctx, func(c *change) (err error) {
		all, err := ports(c, Where(ByID, id))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return NotFound("port", id)
		}
		p = all[0]
		if err := c.notOnTrunk(id); err != nil {
			return err
		}
		if intent, err = c.intendRelease(p); err != nil {
			return err
		}
		_, addresses := c.Remove(&AddressRow{}, Where(ByPort, id))
		_, bindings := c.Remove(&BindingRow{}, Where(ByPort, id))
		_, port := c.Remove(&PortRow{}, Where(ByID, id))
		return firstError(addresses, bindings, port)
	})
	if err != nil {
		return err
	}
	s.events.port("network-vif-deleted", p)
	if intent.ID != "" {
		if err := s.release(context.WithoutCancel(ctx), intent); err != nil {
			s.log.WarnContext(ctx, "what a removed port held is not freed yet; it is tried again", "port", id, "server", p.DeviceID, "error", err)
		}
	}
	return nil
}
