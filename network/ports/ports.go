// Package ports has the ports of networks: how they are created, changed and deleted, how they are
// bound to hosts, the trunks that they are on, their status, and the events about it for the
// compute service. What a driver needs to bind a port is in package binding.
package ports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/qos"
	"github.com/berthcloud/berth/network/quotas"
	"github.com/berthcloud/berth/network/reallocation"
)

// A Service has the rules of ports, of their bindings, and of trunks. Its methods may be called
// concurrently. Callers check permissions before.
type Service struct {
	db      *network.Database
	changes *reallocation.Service
	events  *events
}

// New returns the ports in a database, whose allocations follow them with changes. Without
// a compute service no events are sent.
func New(db *network.Database, changes *reallocation.Service, c network.Compute) *Service {
	return &Service{db: db, changes: changes, events: newEvents(c, db.Rules.Settings.Events, db.Rules.Log)}
}

// Ports returns the ports that match, with what belongs to them: a fixed number of
// reads, whatever the number of ports.
func (s *Service) Ports(ctx context.Context, where ...network.Match) (all []network.Port, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = network.Ports(r, where...)
		return err
	})
	return all, err
}

// CreatePorts creates all of the ports or none. Faults: NetworkNotFound, MacAddressInUse, those of
// addresses and bindings, QosPolicyNotFound,
// SecurityGroupNotFound, QosRuleNotSupported, InvalidInput for more than MaxAddresses
// addresses.
func (s *Service) CreatePorts(ctx context.Context, specs []Spec) (ports []network.Port, err error) {
	requested := 0
	for i := range specs {
		requested += len(specs[i].FixedIPs)
	}
	if requested > MaxAddresses {
		return nil, network.InvalidInput("a request may need at most %d addresses, not %d", MaxAddresses, requested)
	}
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if err := quotas.WithinEach(tx, "port", specs, func(s *Spec) string { return s.Project }); err != nil {
			return err
		}
		ids := make([]network.ID, len(specs))
		for i := range specs {
			if ids[i], err = createPort(tx, specs[i]); err != nil {
				return err
			}
		}
		all, err := network.Ports(tx, network.Where(network.ByID, ids...))
		if err != nil {
			return err
		}
		byID := make(map[network.ID]network.Port, len(all))
		for _, p := range all {
			byID[p.ID] = p
		}
		ports = make([]network.Port, len(specs))
		for i, id := range ids {
			if ports[i], err = bindIfRequested(tx, byID[id], specs[i].Host != ""); err != nil {
				return err
			}
			if err := tx.MarkPort(network.Port{}, ports[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return ports, err
}

// createPort adds a port with what belongs to it, not plugged in yet.
func createPort(tx *network.Tx, spec Spec) (network.ID, error) {
	n, err := network.Find[network.NetworkRow](tx, "network", spec.Network)
	if err != nil {
		return "", err
	}
	if spec.AnyPortSecurity {
		spec.PortSecurity = n.PortSecurity
	}
	if ownedByNetwork(spec.DeviceOwner) && tx.Settings.PortSecurity {
		spec.PortSecurity = false
	}
	if err := cmp.Or(spec.checkSubnets(tx), spec.Choice.Check(tx, "", spec.Policy), qos.PolicyExists(tx, spec.Policy),
		checkSecured(tx, spec, network.PortRow{})); err != nil {
		return "", err
	}
	groups, err := groupsOfNewPort(tx, spec)
	if err != nil {
		return "", err
	}
	row := spec.PortRow
	tx.Fresh(&row.Common)
	row.Status, row.IPAllocation, row.Revision = network.PortDown, network.AllocationImmediate, 1
	if err := writePort(tx, &row, tx.Insert); err != nil {
		return "", err
	}
	if err := joinGroups(tx, row.ID, groups); err != nil {
		return "", err
	}
	if err := assignNew(tx, &row, spec); err != nil {
		return "", err
	}
	return row.ID, tx.Insert(&network.BindingRow{
		Port: row.ID, Active: true, VIF: network.VIFUnbound, VNIC: spec.VNIC,
		Profile: network.JSONObject(spec.Profile), Details: network.JSONObject(nil), Host: spec.Host,
	})
}

// checkSecured refuses security groups and address pairs on a port without port security, and too
// many address pairs; old is the port before the change, the zero row for a new one.
func checkSecured(tx *network.Tx, spec Spec, old network.PortRow) error {
	if most := tx.Settings.MaxAddressPairs; len(spec.AddressPairs) > max(most, len(old.AddressPairs)) {
		return network.Invalid("AllowedAddressPairExhausted",
			"The number of allowed address pair exceeds the maximum %d.", most)
	}
	pairs := make(map[network.AddressPair]bool, len(spec.AddressPairs))
	for _, pair := range spec.AddressPairs {
		if pairs[pair] {
			return network.Invalid("DuplicateAddressPairInRequest",
				"Request contains duplicate address pair: mac_address %s ip_address %s.",
				orPythonNone(pair.MAC), pair.IP)
		}
		pairs[pair] = true
	}
	switch {
	case spec.PortSecurity:
		return nil
	case len(spec.SecurityGroups) > 0 && old.PortSecurity:
		return network.Conflict("PortSecurityPortHasSecurityGroup",
			"Port has security group associated. Cannot disable port security "+
				"or IP address until security group is removed.")
	case len(spec.SecurityGroups) > 0:
		return network.Invalid("PortSecurityAndIPRequiredForSecurityGroups",
			"Port security must be enabled and port must have an IP address "+
				"in order to use security groups.")
	case len(spec.AddressPairs) > 0:
		return network.Conflict("AddressPairAndPortSecurityRequired",
			"Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// orPythonNone returns a text as Neutron's errors show it: None for nothing.
func orPythonNone(s string) string { return cmp.Or(s, "None") }

// readAndBind is bindIfRequested for a port that a draft has changed. When addresses, policy and
// groups are the same as before, only the row and the binding are read again.
func readAndBind(tx *network.Tx, d draft, bind bool) (network.Port, error) {
	p, spec := d.port, d.spec
	same := spec.AnyIPs && len(p.Addresses) > 0 && spec.MAC == p.MAC && spec.Policy == p.Policy &&
		slices.Equal(sorted(spec.SecurityGroups), p.SecurityGroups)
	if !same {
		all, err := network.Ports(tx, network.Where(network.ByID, p.ID))
		if err != nil {
			return network.Port{}, err
		}
		return bindIfRequested(tx, all[0], bind)
	}
	row, err := network.Find[network.PortRow](tx, "port", p.ID)
	if err != nil {
		return network.Port{}, err
	}
	bindings, err := network.Rows[network.BindingRow](tx, network.Where(network.ByPort, p.ID))
	if err != nil {
		return network.Port{}, err
	}
	p.PortRow = row
	p.SetBindings(bindings)
	return bindIfRequested(tx, p, bind)
}

// bindIfRequested binds a port if bind is set, and returns its new state. The port's row is written
// afterwards, as in Neutron: its revision is one higher than the returned one.
func bindIfRequested(tx *network.Tx, p network.Port, bind bool) (network.Port, error) {
	if err := qos.CheckPort(tx, p); err != nil {
		return p, err
	}
	if !bind {
		return p, nil
	}
	mac := p.MAC
	bound, err := bindPort(tx, &p)
	if err != nil || !bound {
		return p, err
	}
	row := p.PortRow
	tx.Touch(&row.Common)
	p.MAC = mac
	err = tx.Replace(&row)
	if errors.Is(err, network.ErrTaken) {
		err = macInUse(&row)
	}
	return p, err
}

// macTries is how often another MAC address is tried when one is taken: of sixteen
// million, few are.
const macTries = 16

// writePort adds or replaces a port, with a MAC address that it chooses if there is none.
func writePort(tx *network.Tx, row *network.PortRow, write func(row any) error) error {
	requested := row.MAC != ""
	for range macTries {
		if !requested {
			row.MAC = tx.Settings.MACBase + randomOctets()
		}
		err := write(row)
		if !errors.Is(err, network.ErrTaken) {
			return err
		}
		if requested {
			return macInUse(row)
		}
	}
	return fmt.Errorf("network: no free MAC address begins with %s", tx.Settings.MACBase)
}

func macInUse(row *network.PortRow) error {
	return network.Conflict("MacAddressInUse",
		"Unable to complete operation for network %s. The mac address %s is in use.", row.Network, row.MAC)
}

// Request returns the resource request of a port, as Rules.Request does.
func (s *Service) Request(p *network.Port) guarantee.Request { return s.db.Rules.Request(p) }
