package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network/binding"
)

// Bindings returns the bindings of a server's port that match, the active one included. Faults:
// PortNotFound, and BadRequest for a port without a device owner of compute.
func (s *Service) Bindings(ctx context.Context, port ID, where ...Match) (rows []BindingRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err := byID[PortRow](r, "port", port)
		if err := firstError(err, onlyCompute(row)); err != nil {
			return err
		}
		rows, err = Rows[BindingRow](r, append([]Match{Where(ByPort, port)}, where...)...)
		return err
	})
	return rows, err
}

// onlyCompute refuses ports that are not of servers.
func onlyCompute(p PortRow) error {
	if ofCompute(p.DeviceOwner) {
		return nil
	}
	return badPort("Invalid port %s. Operation only valid on compute ports", p.ID)
}

// badPort is Neutron's BadRequest about a port.
func badPort(format string, args ...any) error {
	return invalid("BadRequest", "Bad port request: "+format+".", args...)
}

// A BindingSpec is what may be said of a binding.
type BindingSpec struct {
	Host    string
	VNIC    string
	Profile []byte // a JSON object; nil empties it
}

// CreateBinding binds a port to a second host; the binding is inactive while the port is active on
// the first. Faults: PortNotFound, BadRequest for a port without a device owner of compute,
// PortBindingAlreadyExists, PortBindingError when no driver can bind it there, ResourceRequestChanged
// when its allocation is for other request groups than the port's.
func (s *Service) CreateBinding(ctx context.Context, port ID, spec BindingSpec) (row BindingRow, err error) {
	err = s.update(ctx, func(c *change) error {
		p, err := c.portOf(port)
		if err != nil {
			return err
		}
		row = BindingRow{Port: port, Host: spec.Host, VNIC: spec.VNIC, Profile: orEmpty(spec.Profile), Details: orEmpty(nil), VIF: VIFUnbound}
		err = c.Insert(&row)
		if errors.Is(err, ErrTaken) {
			return bindingExists(port, spec.Host)
		}
		return firstError(err, c.rebind(p, &row))
	})
	return row, err
}

func bindingExists(port ID, host string) error {
	return conflict("PortBindingAlreadyExists", "Binding for port %s on host %s already exists.", string(port), host)
}

// portOf returns a server's port.
func (c *change) portOf(id ID) (Port, error) {
	all, err := ports(c, Where(ByID, id))
	switch {
	case err != nil:
		return Port{}, err
	case len(all) == 0:
		return Port{}, NotFound("port", id)
	}
	return all[0], onlyCompute(all[0].PortRow)
}

// rebind plugs a port in as one of its bindings says. The port is counted once for
// that, and once more for an active binding, with which it is down until it is wired.
func (c *change) rebind(p Port, row *BindingRow) error {
	c.touch(&p.Common)
	port := p.PortRow
	p.Binding = *row
	if c.inPlacement {
		if _, err := c.guaranteed(&p); err != nil {
			return err
		}
	}
	if _, err := c.bind(&p); err != nil {
		return err
	}
	*row = p.Binding
	if row.VIF == VIFFailed {
		return c.bindingFailed(&p)
	}
	if row.Active {
		c.touch(&p.Common)
		port = p.PortRow
	}
	return c.Replace(&port)
}

// bindingFailed is the fault of a binding that failed; for the log it says why.
func (c *change) bindingFailed(p *Port) error {
	agents, err := c.agentsOn(p.Binding.Host)
	if err != nil {
		return err
	}
	_, why := c.plugIn(p, agents)
	failed := fault.New(fault.Failed, "PortBindingError", "Binding for port %s on host %s could not be created or updated.", p.ID, p.Binding.Host)
	return fmt.Errorf("%w: %w", failed, why)
}

// UpdateBinding changes a binding and binds it again; it may move to another host. Faults:
// PortNotFound, BadRequest for a port without a device owner of compute, PortBindingNotFound,
// PortBindingAlreadyExists, PortBindingError, ResourceRequestChanged.
func (s *Service) UpdateBinding(ctx context.Context, port ID, host string, fn func(*BindingSpec) error) (row BindingRow, err error) {
	err = s.update(ctx, func(c *change) error {
		p, found, err := c.bindingOn(port, host)
		if err != nil {
			return err
		}
		spec := BindingSpec{Host: found.Host, VNIC: found.VNIC}
		if err := fn(&spec); err != nil {
			return err
		}
		row = found
		row.Host, row.VNIC, row.Profile = spec.Host, spec.VNIC, orEmpty(spec.Profile)
		if row.Host != host {
			err = c.moveBinding(found, row)
		}
		return firstError(err, c.rebind(p, &row))
	})
	return row, err
}

// moveBinding brings a binding to another host, which is part of its key.
func (c *change) moveBinding(from, to BindingRow) error {
	_, old := c.Remove(&BindingRow{}, Where(ByPort, from.Port), Where(ByHost, from.Host))
	err := c.Insert(&to)
	if errors.Is(err, ErrTaken) {
		err = bindingExists(to.Port, to.Host)
	}
	return firstError(old, err)
}

// BindingNotFound is the fault of a binding that a port does not have.
func BindingNotFound(port ID, host string) error {
	return fault.New(fault.NotFound, "PortBindingNotFound", "Binding for port %s for host %s could not be found.", string(port), host)
}

// bindingOn returns a server's port and its binding on a host.
func (c *change) bindingOn(port ID, host string) (Port, BindingRow, error) {
	p, err := c.portOf(port)
	if err != nil {
		return p, BindingRow{}, err
	}
	row, err := One[BindingRow](c, Where(ByPort, port), Where(ByHost, host))
	if errors.Is(err, ErrNoRow) {
		err = BindingNotFound(port, host)
	}
	return p, row, err
}

// ActivateBinding makes a binding the active one; the previous one becomes inactive, and is not bound
// again when it is activated. The port is down until it is wired there. Faults: PortNotFound, BadRequest
// for a port without a device owner of compute, PortBindingNotFound, PortBindingAlreadyActive,
// MacAddressInUse for a whole device with the address of another port.
func (s *Service) ActivateBinding(ctx context.Context, port ID, host string) (row BindingRow, err error) {
	var p Port
	before := ""
	err = s.update(ctx, func(c *change) (err error) {
		var found BindingRow
		if p, found, err = c.bindingOn(port, host); err != nil {
			return err
		}
		before = p.Status
		row = found
		if row.Active {
			return conflict("PortBindingAlreadyActive", "Binding for port %s on host %s is already active.", port, host)
		}
		old := p.Binding
		old.Active, old.VIF, old.Details, old.Driver, old.Segment = false, VIFUnbound, orEmpty(nil), "", ""
		row.Active = true
		p.Status = PortDown
		if row.VNIC == binding.DirectPhysical {
			p.MAC = c.deviceMAC(row)
		}
		p.Revision++ // for the binding that was active
		c.touch(&p.Common)
		err = firstError(c.Replace(&old), c.Replace(&row), c.Replace(&p.PortRow))
		if errors.Is(err, ErrTaken) {
			err = macInUse(&p.PortRow)
		}
		if err != nil {
			return err
		}
		from := p
		p.Binding = row
		return c.followParent(from, p)
	})
	if err == nil {
		s.events.status(p, before)
	}
	return row, err
}

// DeleteBinding removes an inactive binding. Faults: PortNotFound, PortBindingNotFound, and
// BadRequest for the active one or a port without a device owner of compute.
func (s *Service) DeleteBinding(ctx context.Context, port ID, host string) error {
	return s.update(ctx, func(c *change) error {
		p, row, err := c.bindingOn(port, host)
		if err != nil {
			return err
		}
		if row.Active {
			return badPort("Unable to delete the active binding of port %s", port)
		}
		_, err = c.Remove(&BindingRow{}, Where(ByPort, port), Where(ByHost, host))
		c.touch(&p.Common)
		return firstError(err, c.Replace(&p.PortRow))
	})
}
