package daemon

import (
	"errors"
	"log/slog"

	"github.com/berthcloud/berth/client/glanceclient"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/tracing"
)

// computeNeighbours returns clients of the services in the settings, and a function that closes
// them. It sends no requests yet, so that peer services may start in any order.
func computeNeighbours(cfg *config.Compute, log *slog.Logger, tracer *tracing.Tracer, d Dependencies) (o compute.Options, trees providertree.Placement, end func(), err error) {
	clients := neighbourClients{log: log, tracer: tracer, given: d.Access}
	places, errPlacement := clients.options(&cfg.Placement, "placement", "placement")
	networks, errNetwork := clients.options(&cfg.Neutron, "neutron", "network")
	glance := cfg.ImageService()
	images, errImages := clients.options(&glance, "glance", "image")
	if err := errors.Join(errPlacement, errNetwork, errImages); err != nil {
		clients.end()
		return o, nil, nil, err
	}
	if places.Access != nil {
		p := placementclient.NewCompute(places)
		o.Placement, trees, clients.ends = p, p, append(clients.ends, p.Close)
	}
	if networks.Access != nil {
		n := neutronclient.New(networks)
		o.Network, clients.ends = n, append(clients.ends, n.Close)
	}
	if images.Access != nil {
		i := glanceclient.New(images)
		o.Images, clients.ends = i, append(clients.ends, i.Close)
	}
	for _, neighbour := range []struct {
		name   string
		absent bool
	}{{"placement", o.Placement == nil}, {"network", o.Network == nil}, {"image", o.Images == nil}} {
		if neighbour.absent {
			log.Warn("a service is not configured; requests that need it are refused", "service", neighbour.name)
		}
	}
	return o, trees, clients.end, nil
}
