package daemon

import (
	"context"
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

// computePeers are the peer services of a compute service, nil where they are not configured.
type computePeers struct {
	placement compute.Placement
	trees     providertree.Placement
	network   compute.Network
	images    compute.Images
	supports  func(ctx context.Context, minor int) error // of placement's client
}

// newComputePeers returns clients of the services in the settings, and a function that closes
// them. It sends no requests yet, so that peer services may start in any order.
func newComputePeers(
	cfg *config.Compute, log *slog.Logger, tracer *tracing.Tracer, d Dependencies,
) (peers computePeers, end func(), err error) {
	clients := peerClients{log: log, tracer: tracer, given: d.Access}
	places, errPlacement := clients.options(&cfg.Placement, "placement", "placement")
	networks, errNetwork := clients.options(&cfg.Neutron, "neutron", "network")
	glance := cfg.ImageService()
	images, errImages := clients.options(&glance, "glance", "image")
	if err := errors.Join(errPlacement, errNetwork, errImages); err != nil {
		clients.end()
		return peers, nil, err
	}
	if places.Access != nil {
		p := placementclient.NewCompute(places)
		peers.placement, peers.trees, peers.supports, clients.ends = p, p, p.Supports, append(clients.ends, p.Close)
	}
	if networks.Access != nil {
		n := neutronclient.New(networks)
		peers.network, clients.ends = n, append(clients.ends, n.Close)
	}
	if images.Access != nil {
		i := glanceclient.New(images)
		peers.images, clients.ends = i, append(clients.ends, i.Close)
	}
	for _, peer := range []struct {
		name   string
		absent bool
	}{{"placement", peers.placement == nil}, {"network", peers.network == nil}, {"image", peers.images == nil}} {
		if peer.absent {
			log.Warn("a service is not configured; requests that need it are refused", "service", peer.name)
		}
	}
	return peers, clients.end, nil
}
