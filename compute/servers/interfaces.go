package servers

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/compute"
)

// Interfaces returns the ports of a server as the network service shows them. Fault:
// InstanceNotFound.
func (s *Service) Interfaces(ctx context.Context, server compute.ID) ([]compute.ServerPort, error) {
	one, err := s.Server(ctx, server)
	if err == nil && s.network == nil {
		err = compute.NotConfigured("network")
	}
	if err != nil {
		return nil, err
	}
	ports, err := s.network.ServerPorts(ctx, server)
	all := make([]compute.ServerPort, len(ports))
	for i, p := range ports {
		all[i] = compute.ServerPort{PortRow: compute.PortRow{Port: p.ID, Server: server, Network: p.Network}, Shown: p}
		for _, row := range one.Ports {
			if row.Port == p.ID {
				all[i].PortRow = row.PortRow
			}
		}
	}
	return all, err
}

// Interface returns a port of a server. Only a caller who may see a port learns that it exists and
// is not the server's. Faults: InstanceNotFound, PortNotFound.
func (s *Service) Interface(
	ctx context.Context, by compute.Caller, server, port compute.ID,
) (compute.ServerPort, error) {
	one, err := s.Server(ctx, server)
	if err == nil && s.network == nil {
		err = compute.NotConfigured("network")
	}
	if err != nil {
		return compute.ServerPort{}, err
	}
	p, err := s.network.Port(ctx, port)
	others := err == nil && p.Server != string(server)
	if errors.Is(err, compute.ErrNoPort) || others && p.Project != by.Project && !by.Admin {
		return compute.ServerPort{}, compute.NotFound("PortNotFound", "Port id %s could not be found.", port)
	}
	if others {
		err = compute.NotFound("PortNotFound", "Instance %s does not have a port with id %s", server, port)
	}
	sp := compute.ServerPort{PortRow: compute.PortRow{Port: p.ID, Server: server, Network: p.Network}, Shown: p}
	for _, row := range one.Ports {
		if row.Port == port {
			sp.PortRow = row.PortRow
		}
	}
	return sp, err
}
