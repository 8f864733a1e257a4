package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/tracing"
)

// networkPeers are the peer services of a network service, nil where they are not configured.
type networkPeers struct {
	service.Peers
	trees    providertree.Placement
	supports func(ctx context.Context, minor int) error // of placement's client
}

// newNetworkPeers returns clients of the services in the settings, and a function that closes
// them. It sends no requests yet, so that peer services may start in any order.
func newNetworkPeers(
	cfg *config.Network, log *slog.Logger, tracer *tracing.Tracer, d Dependencies,
) (n networkPeers, end func(), err error) {
	n.Log = log
	clients := peerClients{log: log, tracer: tracer, given: d.Access}
	placement, errPlacement := clients.options(&cfg.Placement, "placement", "placement")
	compute, errCompute := clients.options(&cfg.Nova, "nova", "compute")
	if cfg.Neutron.Has(config.PluginPlacement) && placement.Access == nil && errPlacement == nil {
		errPlacement = errors.New(
			"[placement] auth_type: set it, and the credentials with it, for the service plugin placement")
	}
	if err := errors.Join(errPlacement, errCompute); err != nil {
		clients.end()
		return n, nil, err
	}
	segments := cfg.Neutron.Has(config.PluginSegments) && placement.Access != nil && compute.Access != nil
	if placement.Access != nil {
		p := placementclient.New(placement)
		if segments {
			n.Segments = p
		}
		n.Placement, n.trees, n.supports, clients.ends = p, p, p.Supports, append(clients.ends, p.Close)
	}
	notify := cfg.Neutron.NotifyNovaOfStatus || cfg.Neutron.NotifyNovaOfData
	if compute.Access != nil && (notify || segments) {
		c := novaclient.New(compute)
		clients.ends = append(clients.ends, c.Close)
		if notify {
			n.Compute = c
		}
		if segments {
			n.Aggregates = c
		}
	}
	return n, clients.end, nil
}

// peerClients builds the clients of a service's peer services, and closes them.
type peerClients struct {
	log    *slog.Logger
	tracer *tracing.Tracer
	given  map[string]client.Access // by type, instead of those in the settings
	ends   []func()
}

// end closes the clients that were made, also when making a further one has failed.
func (a *peerClients) end() {
	for _, end := range a.ends {
		end()
	}
}

// queryRetries is the number of times that a request is sent again: to a peer service where that is
// safe, and to Keystone.
const queryRetries = 3

// options returns the options of a client, for the peer service in a group of the settings. kind is
// its type in Keystone's catalogue. Without credentials in the settings the result has no Access,
// and there is no client.
func (a *peerClients) options(n *config.Peer, group, kind string) (o client.Options, err error) {
	o = client.Options{
		Retries: queryRetries, Log: a.log, Timeout: time.Duration(max(0, orInt(n.Timeout, 0))) * time.Second,
		RequestID: logging.GlobalID,
	}
	if o.Access = a.given[kind]; o.Access != nil {
		return o, nil
	}
	named := cmp.Or(n.AuthSection, group) // where the mistakes are
	switch n.AuthType {
	case "":
		return o, nil
	case config.AuthNone, config.AuthNoAuth:
		named = group
		o.Access, err = client.Fixed(fixedEndpoint(n), client.NoAuth)
	case config.AuthAdminToken:
		o.Access, err = client.Fixed(fixedEndpoint(n), n.Token.Reveal())
	default:
		err = a.login(&o, n, group, kind)
	}
	if err != nil {
		return o, fmt.Errorf("[%s] %w", named, err)
	}
	a.log.Info("another service is used", "service", kind, "auth_type", n.AuthType, "endpoint", fixedEndpoint(n))
	return o, nil
}

// fixedEndpoint is the address of a peer service that is not looked up in Keystone's catalogue.
func fixedEndpoint(n *config.Peer) string { return cmp.Or(n.EndpointOverride, n.Endpoint) }

// login sets up requests to a peer service with a token from Keystone.
func (a *peerClients) login(o *client.Options, n *config.Peer, group, kind string) error {
	session, err := keystone.NewSession(keystone.Options{
		Credentials: keystone.Credentials{Type: n.AuthType, Auth: keystone.Auth(n.Auth)},
		Section:     cmp.Or(n.AuthSection, group),
		Region:      n.RegionName,
		CAFile:      n.CAFile,
		CertFile:    n.CertFile,
		KeyFile:     n.KeyFile,
		Insecure:    n.Insecure,
		Timeout:     o.Timeout,
		Retries:     queryRetries,
		Log:         a.log,
		Wrap:        a.tracer.Transport,
	}, keystone.Target{Type: kind, Interfaces: n.Interfaces(), Region: n.RegionName, Endpoint: n.EndpointOverride})
	if err != nil {
		return err
	}
	a.ends = append(a.ends, session.Close)
	o.Access, o.HTTP = session, session.HTTP()
	return nil
}
