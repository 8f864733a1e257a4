package servers

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/compute"
)

// The first versions of hosts' services that know of ports with groups of requests (Nova's release
// Xena): when servers are created or moved, where all hosts must know of them, and when ports are
// attached.
const (
	createGroups = 58
	moveGroups   = 59
	attachGroups = 60
)

// mayMove refuses to move a server with ports that have resource requests where
// Settings.GuaranteedOperations does not allow the operation, which Nova calls action, and one with
// ports that have groups of requests while the service of some host does not know of them.
func (s *Service) mayMove(ctx context.Context, server compute.ID, operation, action string) error {
	if err := s.checkGuaranteed(ctx, server, operation, action, func(compute.Port) bool { return true }); err != nil {
		return err
	}
	known, err := s.hosts.AllKnow(ctx, moveGroups)
	if err != nil || known {
		return err
	}
	grouped, err := s.anyPort(ctx, server, func(p compute.Port) bool {
		return len(p.ResourceRequest.Groups) > 0 && !p.ResourceRequest.LegacyFormat
	})
	if err == nil && grouped {
		err = oldCompute()
	}
	return err
}

// checkGuaranteed refuses an operation, which Nova calls action, with a server of whose ports one
// that concerns it has a resource request, unless Settings.GuaranteedOperations allows that. Ports
// are read only where it does not.
func (s *Service) checkGuaranteed(
	ctx context.Context, server compute.ID, operation, action string, concerns func(compute.Port) bool,
) error {
	if s.rules.Settings.AllowGuaranteed(operation) {
		return nil
	}
	guaranteed, err := s.anyPort(ctx, server, func(p compute.Port) bool {
		return len(p.ResourceRequest.Groups) > 0 && concerns(p)
	})
	if err == nil && guaranteed {
		err = compute.RefuseGuaranteed(action)
	}
	return err
}

// anyPort reports whether a server has a port with a property in the network service.
func (s *Service) anyPort(ctx context.Context, server compute.ID, has func(compute.Port) bool) (bool, error) {
	if s.network == nil {
		return false, compute.NotConfigured("network")
	}
	ports, err := s.network.ServerPorts(ctx, server)
	return slices.ContainsFunc(ports, has), err
}

func oldCompute() error {
	return compute.Invalid("ExtendedResourceRequestOldCompute",
		"The port-resource-request-groups neutron API extension is not supported by old "+
			"nova compute service. Upgrade your compute services to Xena (24.0.0) or later.")
}

// mustBeUp refuses a move from a host that is down. The fault does not name the host, which users
// may not know.
func mustBeUp(rules compute.Rules, r compute.Reader, host string) error {
	up, err := rules.HostIsUp(r, host)
	if err == nil && !up {
		err = compute.Conflict("ServiceUnavailable", "Service is unavailable at this time.")
	}
	return err
}
