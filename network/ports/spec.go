package ports

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/qos"
)

// A Spec is the requested state of a port.
type Spec struct {
	network.PortRow
	// FixedIPs are the addresses; AnyIPs says that none were requested, so that a new port gets one
	// of each kind and an existing one keeps its own.
	FixedIPs []FixedIP
	AnyIPs   bool
	// SecurityGroups are the groups, each once; AnyGroups says that none were requested, so that a
	// new port gets the project's default group. Groups of the project GroupsOf only may be added,
	// of any project when that is ""; subnets must be visible to the caller.
	SecurityGroups []network.ID
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
	Choice qos.Choice
	// KeepDevice refuses another DeviceID or DeviceOwner while the port has an
	// allocation: they say whose it is.
	KeepDevice bool
}

// A FixedIP requests an address: one of a subnet, a certain one, or both.
type FixedIP struct {
	Subnet network.ID
	IP     string
}

// checkDevice refuses to change the device of a port with an allocation for a caller without the
// right to allocations. The allocation follows the port's policy and is released with the port, for
// the consumer that the device names; the caller could name another project's server, or none. An
// inactive binding counts: its allocation is the port's once it is activated.
func checkDevice(p *network.Port, spec Spec) error {
	if !spec.KeepDevice || spec.DeviceID == p.DeviceID && spec.DeviceOwner == p.DeviceOwner {
		return nil
	}
	for _, b := range append([]network.BindingRow{p.Binding}, p.Inactive...) {
		if allocation, _ := b.Allocation(); !allocation.Empty() { // what is no allocation serves nothing
			return network.Conflict("PortInUse",
				"Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
				p.ID, p.Network.ID, p.DeviceID)
		}
	}
	return nil
}

// rebinds reports whether a port must be bound again, or unbound. That its server is being moved,
// which compute notes in the profile for agents, does not change how it is bound.
func rebinds(p *network.Port, spec Spec) bool {
	return spec.Host != p.Binding.Host || spec.VNIC != p.Binding.VNIC ||
		!network.SameJSON(spec.Profile, p.Binding.Profile) && !network.SameJSON(withoutDestination(spec.Profile),
			withoutDestination(p.Binding.Profile))
}

// withoutDestination returns a profile without the host that the port is being moved to. What is no
// object is returned as it is.
func withoutDestination(profile []byte) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(network.JSONObject(profile), &all) != nil {
		return profile
	}
	delete(all, "migrating_to")
	text, _ := json.Marshal(all) // it was JSON
	return text
}

// binds reports whether a port must be bound: again, or because it could not be before.
func binds(p *network.Port, spec Spec) bool {
	return spec.Host != "" && (rebinds(p, spec) || p.Binding.VIF == network.VIFFailed)
}

// onlyProfile reports whether a change is of the binding only, and binds nothing. Neutron answers
// it with the revision from before the change.
func onlyProfile(p *network.Port, spec Spec) bool {
	return spec.Rebind && !binds(p, spec) && spec.AnyIPs && reflect.DeepEqual(spec.PortRow, p.PortRow) &&
		slices.Equal(spec.SecurityGroups, p.SecurityGroups)
}

// specOf returns the request that leaves a port as it is.
func specOf(p *network.Port) Spec {
	s := Spec{
		PortRow: p.PortRow, AnyIPs: true, SecurityGroups: p.SecurityGroups, Host: p.Binding.Host,
		VNIC: p.Binding.VNIC, Profile: p.Binding.Profile,
	}
	for _, a := range p.Addresses {
		s.FixedIPs = append(s.FixedIPs, FixedIP{a.Subnet, a.IP})
	}
	return s
}

// checkSubnets refuses addresses of a subnet that the project of a spec may not see, as if it did
// not exist. It is the first check, because any other fault would disclose that the subnet exists.
func (s *Spec) checkSubnets(r network.Reader) error {
	if s.GroupsOf == "" || s.AnyIPs {
		return nil
	}
	var named []network.ID
	for _, f := range s.FixedIPs {
		if f.Subnet != "" {
			named = append(named, f.Subnet)
		}
	}
	if len(named) == 0 {
		return nil
	}
	rows, err := network.Rows[network.SubnetRow](r, network.Where(network.ByID, named...))
	rows = slices.DeleteFunc(rows,
		func(row network.SubnetRow) bool { return row.Network == s.PortRow.Network || row.Project == s.GroupsOf })
	if err != nil || len(rows) == 0 {
		return err
	}
	nets, err := network.Rows[network.NetworkRow](r, network.Where(network.ByID,
		network.IDs(rows, func(row *network.SubnetRow) network.ID { return row.Network })...))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !slices.ContainsFunc(nets, func(n network.NetworkRow) bool {
			return n.ID == row.Network && (n.Shared || n.Project == s.GroupsOf)
		}) {
			return network.NotFound("subnet", row.ID)
		}
	}
	return nil
}
