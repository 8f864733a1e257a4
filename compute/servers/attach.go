package servers

import (
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// attachStates are those in which a server may get and lose ports.
var attachStates = []string{compute.Active, compute.Paused, compute.Stopped}

// Attach attaches a port to a server, or creates one in a network, and returns it when its host has
// plugged it in. When that fails, everything done for it is undone. Faults are Nova's:
// InstanceNotFound, PortNotFound, NetworkNotFound, InstanceIsLocked, InvalidState, PortInUse,
// FixedIpAlreadyInUse, InterfaceAttachResourceAllocationFailed, NetworksWithQoSPolicyNotSupported,
// AttachInterfaceWithQoSPolicyNotSupported, ExtendedResourceRequestOldCompute,
// InterfaceAttachFailed and others.
func (s *Service) Attach(
	ctx context.Context, by compute.Caller, server compute.ID, n compute.NetworkSpec,
) (compute.ServerPort, error) {
	if s.network == nil {
		return compute.ServerPort{}, compute.NotConfigured("network")
	}
	host, err := s.mayAttach(ctx, by, server) // faults of the server come before those of the port
	if err != nil {
		return compute.ServerPort{}, err
	}
	p, err := s.attachable(ctx, by, &n)
	if err != nil {
		return compute.ServerPort{}, err
	}
	if err := s.checkResourceRequest(p, server, host); err != nil {
		return compute.ServerPort{}, err
	}
	attached, err := s.lifecycle.AttachPort(ctx, lifecycle.Attachment{
		By: by, Server: server, Network: n, Port: p,
		May: func(c *lifecycle.Change) (compute.ServerRow, error) {
			return s.attachableTo(c, by, server, lifecycle.AttachAction)
		},
	})
	if err != nil {
		return compute.ServerPort{}, err
	}
	return s.attached(context.WithoutCancel(ctx), by, server, attached)
}

// attached returns a port that was attached to a server.
func (s *Service) attached(
	ctx context.Context, by compute.Caller, server, port compute.ID,
) (compute.ServerPort, error) {
	attached, err := s.Interface(ctx, by, server, port)
	if !compute.IsUnavailable(err) {
		return attached, err
	}
	current, err := s.Server(ctx, server) // the port is attached: it is shown as it was seen last
	for _, row := range current.Ports {
		if row.Port == port {
			attached = row
		}
	}
	return attached, err
}

// attachable validates what a request attaches. It returns no port when one must be created.
func (s *Service) attachable(
	ctx context.Context, by compute.Caller, n *compute.NetworkSpec,
) (p compute.Port, err error) {
	if n.Port != "" {
		p, err = s.port(ctx, by, n.Port)
		if err == nil && p.Server != "" {
			err = compute.PortInUse(p.ID)
		}
		return p, err
	}
	if n.Network == "" {
		all, err := s.network.Networks(ctx, by.Project)
		switch {
		case err != nil:
			return p, err
		case len(all) == 0:
			return p, compute.Invalid("InterfaceAttachFailedNoNetwork",
				"No specific network was requested and none are available for project '%s'.", by.Project)
		case len(all) > 1:
			return p, compute.Invalid("NetworkAmbiguous",
				"More than one possible network found. Specify network ID(s) to select which one(s) to connect to.")
		}
		n.Network = all[0].ID
	}
	if err := s.mayUse(ctx, by, n.Network); err != nil {
		return p, err
	}
	if err = s.addressesFree(ctx, by, []compute.NetworkSpec{*n}); compute.Code(err) == "FixedIpAlreadyInUse" {
		err = compute.Conflict("FixedIpAlreadyInUse", "Fixed IP %s is already in use.", n.Address)
	}
	return p, err
}

// attachableTo returns a server, and refuses to attach to it, or to detach from it, in another
// state.
func (s *Service) attachableTo(
	r compute.Reader, by compute.Caller, server compute.ID, action string,
) (compute.ServerRow, error) {
	row, err := compute.OneOr[compute.ServerRow](r, compute.NoServer(server), compute.Where(compute.ByID, server))
	if err != nil {
		return row, err
	}
	if err := row.CheckUnlocked(by); err != nil {
		return row, err
	}
	if err := row.CheckState(action, attachStates...); err != nil {
		return row, err
	}
	if err := s.lifecycle.Idle(r, row, action); err != nil {
		return row, err
	}
	return row, row.CheckLaunched(action)
}

// mayAttach is attachableTo without the checks of the port. It returns the server's host.
func (s *Service) mayAttach(
	ctx context.Context, by compute.Caller, server compute.ID,
) (host compute.HostService, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, err := s.attachableTo(r, by, server, lifecycle.AttachAction)
		if err != nil {
			return err
		}
		all, err := servicesOf(s.rules, r, []compute.ServerRow{row})
		host = all[row.Host]
		return err
	})
	return host, err
}

// checkResourceRequest refuses a port with a resource request where attaching it is not supported.
func (s *Service) checkResourceRequest(p compute.Port, server compute.ID, host compute.HostService) error {
	switch {
	case len(p.ResourceRequest.Groups) == 0:
		return nil
	case !s.rules.Settings.AllowAttachGuaranteed():
		return compute.Invalid("AttachInterfaceWithQoSPolicyNotSupported",
			"Attaching interfaces with QoS policy is not supported for instance %s.", server)
	case !p.ResourceRequest.LegacyFormat && host.Version < attachGroups:
		return oldCompute()
	}
	return nil
}

// Detach begins to detach a port from a server. One that was created for it is deleted. Faults:
// InstanceNotFound, PortNotFound, InstanceIsLocked, InvalidState, and the refusal of
// Settings.GuaranteedOperations.
func (s *Service) Detach(ctx context.Context, by compute.Caller, server, port compute.ID) error {
	err := s.checkGuaranteed(ctx, server, compute.GuaranteedDetach, "detach_interface",
		func(p compute.Port) bool { return p.ID == port })
	if err != nil {
		return err
	}
	return s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := s.attachableTo(c, by, server, "detach_interface")
		if err != nil {
			return err
		}
		p, err := compute.OneOr[compute.PortRow](c, compute.NotFound("PortNotFound", "Port id %s could not be found.", port),
			compute.Where(compute.ByPort, port), compute.Where(compute.ByServer, server))
		if err != nil {
			return err
		}
		action, err := c.RecordAction(by, server, "detach_interface")
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_detach_interface", row.Host)
		if err != nil {
			return err
		}
		return c.NewOperation(server, lifecycle.KindDetach, &lifecycle.PortData{
			Common: lifecycle.Common{Action: action.ID, Event: event.ID}, Port: port, Own: p.Own, Bound: true, Settled: true,
		})
	})
}
