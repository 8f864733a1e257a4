package ports

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/binding"
	"github.com/berthcloud/berth/network/reallocation"
)

// Bindings returns the bindings of a server's port that match, the active one included. Faults:
// PortNotFound, and BadRequest for a port without a device owner of compute.
func (s *Service) Bindings(
	ctx context.Context, port network.ID, where ...network.Match,
) (rows []network.BindingRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		row, err := network.Find[network.PortRow](r, "port", port)
		if err := cmp.Or(err, checkServerPort(row)); err != nil {
			return err
		}
		rows, err = network.Rows[network.BindingRow](r,
			append([]network.Match{network.Where(network.ByPort, port)}, where...)...)
		return err
	})
	return rows, err
}

// checkServerPort refuses ports that are not of servers.
func checkServerPort(p network.PortRow) error {
	if network.OwnedByServer(p.DeviceOwner) {
		return nil
	}
	return badPort("Invalid port %s. Operation only valid on compute ports", p.ID)
}

// badPort is Neutron's BadRequest about a port.
func badPort(format string, args ...any) error {
	return network.Invalid("BadRequest", "Bad port request: "+format+".", args...)
}

// A BindingSpec is a request for a binding.
type BindingSpec struct {
	Host    string
	VNIC    string
	Profile []byte // a JSON object; nil empties it
}

// CreateBinding binds a port to a second host; the binding is inactive while the port is active on
// the first. Faults: PortNotFound, BadRequest for a port without a device owner of compute,
// PortBindingAlreadyExists, PortBindingError when no driver can bind it there,
// ResourceRequestChanged when its allocation is for other request groups than the port's.
func (s *Service) CreateBinding(
	ctx context.Context, port network.ID, spec BindingSpec,
) (row network.BindingRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		p, err := serverPort(tx, port)
		if err != nil {
			return err
		}
		row = network.BindingRow{
			Port: port, Host: spec.Host, VNIC: spec.VNIC,
			Profile: network.JSONObject(spec.Profile), Details: network.JSONObject(nil), VIF: network.VIFUnbound,
		}
		err = tx.Insert(&row)
		if errors.Is(err, network.ErrTaken) {
			return bindingExists(port, spec.Host)
		}
		return cmp.Or(err, rebind(tx, p, &row))
	})
	return row, err
}

func bindingExists(port network.ID, host string) error {
	return network.Conflict("PortBindingAlreadyExists", "Binding for port %s on host %s already exists.",
		string(port), host)
}

// serverPort returns a server's port.
func serverPort(tx *network.Tx, id network.ID) (network.Port, error) {
	all, err := network.Ports(tx, network.Where(network.ByID, id))
	switch {
	case err != nil:
		return network.Port{}, err
	case len(all) == 0:
		return network.Port{}, network.NotFound("port", id)
	}
	return all[0], checkServerPort(all[0].PortRow)
}

// rebind binds a port as one of its bindings requests. The port's revision rises once for that, and
// once more for an active binding, with which it is DOWN until it is plugged in.
func rebind(tx *network.Tx, p network.Port, row *network.BindingRow) error {
	tx.Touch(&p.Common)
	port := p.PortRow
	p.Binding = *row
	if tx.InPlacement {
		if _, err := reallocation.Guaranteed(tx.Rules, &p); err != nil {
			return err
		}
	}
	if _, err := bindPort(tx, &p); err != nil {
		return err
	}
	*row = p.Binding
	if row.VIF == network.VIFFailed {
		return bindingFailed(tx, &p)
	}
	if row.Active {
		tx.Touch(&p.Common)
		port = p.PortRow
	}
	return tx.Replace(&port)
}

// bindingFailed is the fault of a binding that failed; for the log it has the reason.
func bindingFailed(tx *network.Tx, p *network.Port) error {
	agents, err := agents.On(tx, p.Binding.Host)
	if err != nil {
		return err
	}
	_, why := attach(tx.Rules, p, agents)
	failed := fault.New(fault.Failed, "PortBindingError",
		"Binding for port %s on host %s could not be created or updated.", p.ID, p.Binding.Host)
	return fmt.Errorf("%w: %w", failed, why)
}

// UpdateBinding changes a binding and binds it again; it may move to another host. Faults:
// PortNotFound, BadRequest for a port without a device owner of compute, PortBindingNotFound,
// PortBindingAlreadyExists, PortBindingError, ResourceRequestChanged.
func (s *Service) UpdateBinding(
	ctx context.Context, port network.ID, host string, fn func(*BindingSpec) error,
) (row network.BindingRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		p, found, err := bindingOn(tx, port, host)
		if err != nil {
			return err
		}
		spec := BindingSpec{Host: found.Host, VNIC: found.VNIC}
		if err := fn(&spec); err != nil {
			return err
		}
		row = found
		row.Host, row.VNIC, row.Profile = spec.Host, spec.VNIC, network.JSONObject(spec.Profile)
		if row.Host != host {
			err = moveBinding(tx, found, row)
		}
		return cmp.Or(err, rebind(tx, p, &row))
	})
	return row, err
}

// moveBinding brings a binding to another host, which is part of its key.
func moveBinding(tx *network.Tx, from, to network.BindingRow) error {
	_, old := tx.Remove(&network.BindingRow{}, network.Where(network.ByPort, from.Port),
		network.Where(network.ByHost, from.Host))
	err := tx.Insert(&to)
	if errors.Is(err, network.ErrTaken) {
		err = bindingExists(to.Port, to.Host)
	}
	return cmp.Or(old, err)
}

// BindingNotFound is the fault of a binding that a port does not have.
func BindingNotFound(port network.ID, host string) error {
	return fault.New(fault.NotFound, "PortBindingNotFound", "Binding for port %s for host %s could not be found.",
		string(port), host)
}

// bindingOn returns a server's port and its binding on a host.
func bindingOn(tx *network.Tx, port network.ID, host string) (network.Port, network.BindingRow, error) {
	p, err := serverPort(tx, port)
	if err != nil {
		return p, network.BindingRow{}, err
	}
	row, err := network.One[network.BindingRow](tx, network.Where(network.ByPort, port),
		network.Where(network.ByHost, host))
	if errors.Is(err, network.ErrNoRow) {
		err = BindingNotFound(port, host)
	}
	return p, row, err
}

// ActivateBinding makes a binding the active one; the previous one becomes inactive, and is not
// bound again when it is activated. The port is DOWN until it is plugged in there. Faults:
// PortNotFound, BadRequest for a port without a device owner of compute, PortBindingNotFound,
// PortBindingAlreadyActive, MacAddressInUse for a whole device with the address of another port.
func (s *Service) ActivateBinding(
	ctx context.Context, port network.ID, host string,
) (row network.BindingRow, err error) {
	var p network.Port
	before := ""
	err = s.db.Update(ctx, func(tx *network.Tx) (err error) {
		var found network.BindingRow
		if p, found, err = bindingOn(tx, port, host); err != nil {
			return err
		}
		before = p.Status
		row = found
		if row.Active {
			return network.Conflict("PortBindingAlreadyActive", "Binding for port %s on host %s is already active.",
				port, host)
		}
		old := p.Binding
		old.Active, old.VIF, old.Details, old.Driver, old.Segment = false, network.VIFUnbound, network.JSONObject(nil), "", ""
		row.Active = true
		p.Status = network.PortDown
		if row.VNIC == binding.DirectPhysical {
			p.MAC = deviceMAC(tx, row)
		}
		p.Revision++ // for the binding that was active
		tx.Touch(&p.Common)
		err = cmp.Or(tx.Replace(&old), tx.Replace(&row), tx.Replace(&p.PortRow))
		if errors.Is(err, network.ErrTaken) {
			err = macInUse(&p.PortRow)
		}
		if err != nil {
			return err
		}
		from := p
		p.Binding = row
		return followParent(tx, from, p)
	})
	if err == nil {
		s.events.status(p, before)
	}
	return row, err
}

// DeleteBinding removes an inactive binding. Faults: PortNotFound, PortBindingNotFound, and
// BadRequest for the active one or a port without a device owner of compute.
func (s *Service) DeleteBinding(ctx context.Context, port network.ID, host string) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		p, row, err := bindingOn(tx, port, host)
		if err != nil {
			return err
		}
		if row.Active {
			return badPort("Unable to delete the active binding of port %s", port)
		}
		_, err = tx.Remove(&network.BindingRow{}, network.Where(network.ByPort, port),
			network.Where(network.ByHost, host))
		tx.Touch(&p.Common)
		return cmp.Or(err, tx.Replace(&p.PortRow))
	})
}
