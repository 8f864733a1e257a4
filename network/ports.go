package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/network/ipam"
)

// A Port is a port with what hangs on it and what its network gives it.
type Port struct {
	PortRow
	Addresses []AddressRow // in the order of their subnets
	Binding   BindingRow   // the active one
	Inactive  []BindingRow // to other hosts
	Network   Network
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

// A PortSpec is what may be said of a port.
type PortSpec struct {
	PortRow
	// FixedIPs are the addresses; AnyIPs says that none were requested, so that a new port gets one
	// of each kind and an existing one keeps its own.
	FixedIPs []FixedIP
	AnyIPs   bool
	// SecurityGroups are the groups, each once; AnyGroups says that none were requested, so that a
	// new port gets the project's default group. Groups of the project GroupsOf only may be added,
	// of any project when that is ""; subnets must be visible to the caller.
	SecurityGroups []ID
	AnyGroups      bool
	GroupsOf       string
	// AnyPortSecurity says that the network decides whether it is secured.
	AnyPortSecurity bool
	// Rebind says that Host, VNIC or Profile was set, be it to what it was.
	Host    string
	VNIC    string
	Profile []byte // a JSON object
	Rebind  bool
	// Choice is about Policy.
	Choice PolicyChoice
	// KeepDevice refuses another DeviceID or DeviceOwner while the port has an
	// allocation: they say whose it is.
	KeepDevice bool
}

// A FixedIP requests an address: one of a subnet, a certain one, or both.
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
	bindings  map[ID][]BindingRow
	networks  map[ID]Network
	rules     map[ID][]RuleRow
	trunks    map[ID]Trunk
	groups    map[ID][]ID
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
	p.bindings = group(bindings, func(b *BindingRow) ID { return b.Port })
	p.networks = make(map[ID]Network, len(nets))
	for _, n := range nets {
		p.networks[n.ID] = n
	}
	if p.rules, err = rulesOf(r, rows, nets); err != nil {
		return p, err
	}
	if p.groups, err = groupsByPort(r, these); err != nil {
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
	port := Port{PortRow: row, Addresses: p.addresses[row.ID], Network: p.networks[row.Network]}
	port.takes(p.bindings[row.ID])
	port.Rules, port.SecurityGroups = p.rules[port.EffectivePolicy()], p.groups[row.ID]
	if t, ok := p.trunks[row.ID]; ok {
		port.Trunk = &t
	}
	return port
}

// takes sets the bindings of a port.
func (p *Port) takes(bindings []BindingRow) {
	p.Inactive = nil
	for _, b := range bindings {
		if b.Active {
			p.Binding = b
		} else {
			p.Inactive = append(p.Inactive, b)
		}
	}
}

// MaxAddresses bounds the addresses that one request names or needs, of all its ports together:
// other writers wait while they are assigned.
const MaxAddresses = 2000

// CreatePorts makes all of the ports or none. Faults: NetworkNotFound,
// MacAddressInUse, what addresses and bindings are refused for, QosPolicyNotFound,
// SecurityGroupNotFound, QosRuleNotSupported, InvalidInput for more than MaxAddresses
// addresses.
func (s *Service) CreatePorts(ctx context.Context, specs []PortSpec) (made []Port, err error) {
	asked := 0
	for i := range specs {
		asked += len(specs[i].FixedIPs)
	}
	if asked > MaxAddresses {
		return nil, invalidInput("a request may need at most %d addresses, not %d", MaxAddresses, asked)
	}
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "port", specs, func(s *PortSpec) string { return s.Project }); err != nil {
			return err
		}
		these := make([]ID, len(specs))
		for i := range specs {
			if these[i], err = c.createPort(specs[i]); err != nil {
				return err
			}
		}
		all, err := ports(c, Where(ByID, these...))
		if err != nil {
			return err
		}
		by := make(map[ID]Port, len(all))
		for _, p := range all {
			by[p.ID] = p
		}
		made = make([]Port, len(specs))
		for i, id := range these {
			if made[i], err = c.plugged(by[id], specs[i].Host != ""); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// createPort adds a port with what hangs on it, not plugged in yet.
func (c *change) createPort(spec PortSpec) (ID, error) {
	n, err := byID[NetworkRow](c, "network", spec.Network)
	if err != nil {
		return "", err
	}
	if spec.AnyPortSecurity {
		spec.PortSecurity = n.PortSecurity
	}
	if ofNetwork(spec.DeviceOwner) && c.settings.PortSecurity {
		spec.PortSecurity = false
	}
	if err := firstError(spec.subnetsSeen(c), spec.Choice.allowed(c, "", spec.Policy), c.policyExists(spec.Policy), c.secured(spec, PortRow{})); err != nil {
		return "", err
	}
	groups, err := c.choseGroups(spec)
	if err != nil {
		return "", err
	}
	row := spec.PortRow
	c.fresh(&row.Common)
	row.Status, row.IPAllocation, row.Revision = PortDown, allocationImmediate, 1
	if err := c.writePort(&row, c.Insert); err != nil {
		return "", err
	}
	if err := c.joinGroups(row.ID, groups); err != nil {
		return "", err
	}
	if err := c.address(&row, spec); err != nil {
		return "", err
	}
	return row.ID, c.Insert(&BindingRow{
		Port: row.ID, Active: true, VIF: VIFUnbound, VNIC: spec.VNIC,
		Profile: orEmpty(spec.Profile), Details: orEmpty(nil), Host: spec.Host,
	})
}

// address gives a new port its addresses, or records why it has none.
func (c *change) address(row *PortRow, spec PortSpec) error {
	deferred, err := c.assignAddresses(*row, ipam.Request{
		Network: string(row.Network), Owner: row.DeviceOwner, Host: spec.Host, Fixed: fixed(spec.FixedIPs), Any: spec.AnyIPs,
	})
	switch {
	case err != nil:
		return err
	case !spec.AnyIPs && len(spec.FixedIPs) == 0:
		row.IPAllocation = allocationNone
	case deferred:
		row.IPAllocation = allocationDeferred
	default:
		return nil
	}
	return c.Replace(row)
}

// secured refuses what only ports that are secured can have, and too much of it; old is
// what the port was, the zero row for a new one.
func (c *change) secured(spec PortSpec, old PortRow) error {
	if most := c.settings.MaxAddressPairs; len(spec.AddressPairs) > max(most, len(old.AddressPairs)) {
		return invalid("AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum %d.", most)
	}
	pairs := make(map[AddressPair]bool, len(spec.AddressPairs))
	for _, pair := range spec.AddressPairs {
		if pairs[pair] {
			return invalid("DuplicateAddressPairInRequest", "Request contains duplicate address pair: mac_address %s ip_address %s.",
				orPythonNone(pair.MAC), pair.IP)
		}
		pairs[pair] = true
	}
	switch {
	case spec.PortSecurity:
		return nil
	case len(spec.SecurityGroups) > 0 && old.PortSecurity:
		return conflict("PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security "+
			"or IP address until security group is removed.")
	case len(spec.SecurityGroups) > 0:
		return invalid("PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address "+
			"in order to use security groups.")
	case len(spec.AddressPairs) > 0:
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// orPythonNone is a text as Neutron's errors show it, which say None for nothing.
func orPythonNone(s string) string { return cmp.Or(s, "None") }

// rebound is plugged of a port that a draft has changed. Of a port with the same addresses, policy and
// groups as before only the row and the binding are read again.
func (c *change) rebound(d portDraft, bind bool) (Port, error) {
	p, spec := d.port, d.spec
	if !spec.AnyIPs || len(p.Addresses) == 0 || spec.MAC != p.MAC || spec.Policy != p.Policy || !slices.Equal(sorted(spec.SecurityGroups), p.SecurityGroups) {
		all, err := ports(c, Where(ByID, p.ID))
		if err != nil {
			return Port{}, err
		}
		return c.plugged(all[0], bind)
	}
	row, err := byID[PortRow](c, "port", p.ID)
	if err != nil {
		return Port{}, err
	}
	bindings, err := Rows[BindingRow](c, Where(ByPort, p.ID))
	if err != nil {
		return Port{}, err
	}
	p.PortRow = row
	p.takes(bindings)
	return c.plugged(p, bind)
}

// plugged binds a port if bind is set, and returns it as it is then. The port's row is written
// afterwards, as in Neutron: its revision is one higher than the returned one.
func (c *change) plugged(p Port, bind bool) (Port, error) {
	if err := c.supports(p); err != nil {
		return p, err
	}
	if !bind {
		return p, nil
	}
	mac := p.MAC
	bound, err := c.bind(&p)
	if err != nil || !bound {
		return p, err
	}
	noted := p.PortRow
	c.touch(&noted.Common)
	p.MAC = mac
	err = c.Replace(&noted)
	if errors.Is(err, ErrTaken) {
		err = macInUse(&noted)
	}
	return p, err
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

// writePort adds or replaces a port, with a MAC address that it chooses if there is none.
func (c *change) writePort(row *PortRow, write func(row any) error) error {
	asked := row.MAC != ""
	for range macTries {
		if !asked {
			row.MAC = c.settings.MACBase + randomOctets()
		}
		err := write(row)
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
