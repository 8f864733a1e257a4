package network

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/fault"
)

// Bindings returns the bindings of a port that match, the active one included.
// Fault: PortNotFound.
func (s *Service) Bindings(ctx context.Context, port ID, where ...Match) (rows []BindingRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		if _, err := byID[PortRow](r, "port", port); err != nil {
			return err
		}
		rows, err = Rows[BindingRow](r, append([]Match{Where(ByPort, port)}, where...)...)
		return err
	})
	return rows, err
}

// A BindingSpec is what may be said of a binding.
type BindingSpec struct {
	Host    string
	VNIC    string
	Profile []byte // a JSON object
}

// CreateBinding binds a port to another host, where it is inactive while it is at
// its old one. Faults: PortNotFound, PortBindingAlreadyExists, PortBindingError
// when no driver can bind it there.
func (s *Service) CreateBinding(ctx context.Context, port ID, spec BindingSpec) (row BindingRow, err error) {
	err = s.update(ctx, func(c *change) error {
		all, err := ports(c, Where(ByID, port))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return NotFound("port", port)
		}
		if !ofCompute(all[0].DeviceOwner) {
			return badPort("Invalid port %s. Operation only valid on compute ports", port)
		}
		row = BindingRow{Port: port, Host: spec.Host, VNIC: spec.VNIC, Profile: orEmpty(spec.Profile), Details: orEmpty(nil), VIF: VIFUnbound}
		if err := c.Insert(&row); errors.Is(err, ErrTaken) {
			return conflict("PortBindingAlreadyExists", "Binding for port %s on host %s already exists.", port, spec.Host)
		} else if err != nil {
			return err
		}
		return c.bindAside(all[0], &row)
	})
	return row, err
}

// badPort is Neutron's BadRequest about a port.
func badPort(format string, args ...any) error {
	return invalid("BadRequest", "Bad port request: "+format+".", args...)
}

// bindAside binds an inactive binding; the port stays as it is.
func (c *change) bindAside(p Port, row *BindingRow) error {
	p.Binding = *row
	if err := c.bind(&p); err != nil {
		return err
	}
	*row = p.Binding
	if row.VIF == VIFFailed {
		return fault.New(fault.Failed, "PortBindingError", "Binding for port %s on host %s could not be created or updated.", p.ID, row.Host)
	}
	return nil
}

// UpdateBinding changes an inactive binding and binds it anew. Faults:
// PortNotFound, PortBindingNotFound, PortBindingError.
func (s *Service) UpdateBinding(ctx context.Context, port ID, host string, fn func(*BindingSpec) error) (row BindingRow, err error) {
	err = s.update(ctx, func(c *change) error {
		p, found, err := c.bindingOn(port, host)
		if err != nil {
			return err
		}
		row = found
		spec := BindingSpec{Host: row.Host, VNIC: row.VNIC, Profile: row.Profile}
		if err := fn(&spec); err != nil {
			return err
		}
		row.VNIC, row.Profile = spec.VNIC, orEmpty(spec.Profile)
		return c.bindAside(p, &row)
	})
	return row, err
}

// BindingNotFound is the fault of a binding that a port does not have.
func BindingNotFound(port ID, host string) error {
	return fault.New(fault.NotFound, "PortBindingNotFound", "Binding for port %s for host %s could not be found.", string(port), host)
}

// bindingOn returns a port and its binding on a host.
func (c *change) bindingOn(port ID, host string) (Port, BindingRow, error) {
	all, err := ports(c, Where(ByID, port))
	if err != nil {
		return Port{}, BindingRow{}, err
	}
	if len(all) == 0 {
		return Port{}, BindingRow{}, NotFound("port", port)
	}
	row, err := One[BindingRow](c, Where(ByPort, port), Where(ByHost, host))
	if errors.Is(err, ErrNoRow) {
		err = BindingNotFound(port, host)
	}
	return all[0], row, err
}

// ActivateBinding makes a binding the active one; the one that was becomes
// inactive. Faults: PortNotFound, PortBindingNotFound, PortBindingAlreadyActive.
func (s *Service) ActivateBinding(ctx context.Context, port ID, host string) (row BindingRow, err error) {
	var p Port
	err = s.update(ctx, func(c *change) error {
		if p, row, err = c.bindingOn(port, host); err != nil {
			return err
		}
		if row.Active {
			return conflict("PortBindingAlreadyActive", "Binding for port %s on host %s is already active.", port, host)
		}
		old := p.Binding
		old.Active, old.VIF, old.Details, old.Driver, old.Segment = false, VIFUnbound, orEmpty(nil), "", ""
		row.Active = true
		p.Status = PortDown
		c.touch(&p.Common)
		return firstError(c.Replace(&old), c.Replace(&row), c.Replace(&p.PortRow))
	})
	return row, err
}

// DeleteBinding removes an inactive binding. Faults: PortNotFound,
// PortBindingNotFound, and BadRequest for the active one.
func (s *Service) DeleteBinding(ctx context.Context, port ID, host string) error {
	return s.update(ctx, func(c *change) error {
		_, row, err := c.bindingOn(port, host)
		if err != nil {
			return err
		}
		if row.Active {
			return badPort("Unable to delete the active binding of port %s", port)
		}
		_, err = c.Remove(&BindingRow{}, Where(ByPort, port), Where(ByHost, host))
		return err
	})
}
