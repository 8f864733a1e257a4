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

// mayMoveGroups refuses to move a server with ports that have groups of requests while the service
// of some host does not know of them.
func (s *Service) mayMoveGroups(ctx context.Context, server compute.ID) error {
	all, err := s.hosts.AllKnow(ctx, moveGroups)
	if err != nil || all {
		return err
	}
	if s.network == nil {
		return compute.NotConfigured("network")
	}
	ports, err := s.network.ServerPorts(ctx, server)
	if err == nil && slices.ContainsFunc(ports, func(p compute.Port) bool {
		return len(p.ResourceRequest.Groups) > 0 && !p.ResourceRequest.LegacyFormat
	}) {
		err = oldCompute()
	}
	return err
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
