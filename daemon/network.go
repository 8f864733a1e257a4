package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ovnagents"
	"github.com/berthcloud/berth/network/routed"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/sqlstore/rowtable"
	"github.com/berthcloud/berth/watch"
)

// A NetworkServer is a running network service: its database is open and its listeners accept
// connections.
type NetworkServer struct {
	Server
	cfg     *config.Network
	service *service.Service
	tracker *tracking.Tracker // nil without the plugin placement
	check   placementCheck
}

// StartNetwork opens the database and the listeners. The error is a [Failure], and everything that
// was opened is closed.
func StartNetwork(
	ctx context.Context, p Process, cfg *config.Network, log *slog.Logger, d Dependencies,
) (s *NetworkServer, err error) {
	s = &NetworkServer{cfg: cfg}
	s.Server = newServer(cfg, log, d, serviceOptions{
		service: "network", trial: "the database is the embedded one, and there is one physical network, physnet0",
		strategy: cfg.Neutron.AuthStrategy, kind: networkDatabase, database: &cfg.Database, format: networkapi.Problem,
		// Neutron's rules may compare fields of the request's body (field:networks:shared=True).
		policy: policySource{defaults: networkapi.PolicyDefaults(), networking: true},
		status: func() string { return "the Networking API" }, probe: s.alive,
	})
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	set, err := networkSettings(cfg)
	chassis, errOVN := ovnagents.Southbound(cfg, log)
	if err := errors.Join(err, errOVN); err != nil {
		return s, Fail(WrongSettings, err)
	}
	opts, err := s.begin(ctx, p)
	if err != nil {
		return s, err
	}
	if len(cfg.ML2.MechanismDrivers) == 0 {
		log.Warn("[ml2] mechanism_drivers is empty: no port can be bound")
	}
	peers, end, err := newNetworkPeers(cfg, log, s.tracer, d)
	if err != nil {
		return s, Fail(WrongSettings, err)
	}
	s.atEnd(end)
	opts.Empty = d.Empty
	store, err := rowtable.OpenNetwork(ctx, opts)
	if err != nil {
		return s, databaseFailure(err)
	}
	s.closeAtEnd(store)
	set.Instance, set.AgentID = s.instance(), d.AgentID
	s.work(service.New(store, set, peers.Peers), peers, opts.Server == nil)
	if chassis != nil {
		s.watchChassis(chassis, set.AgentDownTime)
	}
	s.wire()
	return s, nil
}

// work starts the service's background tasks. alone is true when no other process uses the
// database.
func (s *NetworkServer) work(service *service.Service, n networkPeers, single bool) {
	s.service = service
	s.endWaits = s.service.EndWatches
	s.atEnd(Background(s.service.RunEvents), Background(ticking(watch.Interval, s.service.RunWatches)))
	if n.Placement != nil && s.cfg.Neutron.Has(config.PluginPlacement) {
		s.tracker = s.newTracker(n.trees)
		s.atEnd(Background(s.tracker.Run))
	}
	if n.Segments != nil {
		s.atEnd(Background(ticking(routed.Interval, s.service.RunSegments)))
	}
	if n.Placement != nil {
		s.check = placementCheck{
			supports: n.supports, minor: networkMinor, purpose: "the providers and guarantees of ports", log: s.log,
		}
		if s.cfg.Promises.Alternatives {
			s.check.minor, s.check.purpose = physicalsMinor, "[berth] any_physical_network"
		}
		s.atEnd(Background(s.check.run), Background(func(ctx context.Context) { s.recover(ctx, single) }))
	}
}

// watchChassis reports the chassis in OVN's southbound database as agents, in place of Neutron's
// ovn agents.
func (s *NetworkServer) watchChassis(db *ovsdb.Client, down time.Duration) {
	reported := s.reported
	if s.tracker == nil {
		reported = nil
	}
	r := ovnagents.New(s.service, reported, down, s.log)
	s.service.OnPorts(r.PortsWritten)
	s.atEnd(Background(func(ctx context.Context) { r.Run(ctx, db) }))
}

// instance identifies this service by its machine and its addresses, which no other process can
// listen on at the same time, and which a restarted service has again. It is "" when the machine
// has no name: then no operation of an earlier run is recognized as its own.
func (s *NetworkServer) instance() string {
	machine, err := os.Hostname()
	if err != nil {
		return ""
	}
	return machine + " " + s.apiListeners.addresses()
}

const (
	// recoverEvery is the interval of checks for unfinished operations of other processes, and
	// abandonedAfter their age at which they count as abandoned: requests to peer services with all
	// retries have mostly ended before. A process that still works on one is refused.
	recoverEvery   = time.Minute
	abandonedAfter = 3 * time.Minute
)

// recover completes or rolls back changes in placement that earlier processes have left unfinished,
// until ctx ends. When no other process uses the database, those of the last run are recovered at
// once.
func (s *NetworkServer) recover(ctx context.Context, single bool) {
	age := abandonedAfter
	if single {
		age = 0
	}
	repeat(ctx, recoverEvery, func() {
		if _, err := s.service.Recover(ctx, age); err != nil && ctx.Err() == nil {
			s.log.Error("unfinished changes cannot be read", "error", err)
		}
		age = abandonedAfter
	})
}

// wire builds the handlers and opens the API, without the extensions whose drivers are not enabled.
func (s *NetworkServer) wire() {
	api := &networkapi.API{
		Network: s.service, Policy: s.rules, OldRequests: s.cfg.Promises.OldRequests,
		HostPoll: httpapi.LongPoll{Max: s.cfg.Berth.MaxRequests / 2}, MaxLimit: s.cfg.Neutron.PageLimit(),
		LinkPrefix: s.cfg.Neutron.LinkPrefix,
	}
	for _, plugin := range networkapi.ServicePlugins {
		if !s.cfg.Neutron.Has(plugin) {
			api.Without = append(api.Without, plugin)
		}
	}
	for _, driver := range networkapi.ExtensionDrivers {
		if !s.cfg.ML2.Extends(driver) {
			api.Without = append(api.Without, driver)
		}
	}
	if s.tracker != nil {
		api.Reported, api.Removed = s.reported, s.removed
	}
	s.identifyHosts()
	ready := s.check.ready(s.usable(s.alive))
	s.metrics.watchReady(ready)
	s.metrics.watchUnfinished(s.service.Unfinished)
	s.metrics.watchSegments(s.service.UnsyncedSegments)
	s.metrics.watchAgents(func(ctx context.Context) ([]agents.Agent, error) { return s.service.Agents(ctx) })
	s.open(httpapi.Config{
		Service: "network",
		Routes:  api.Routes(),
		Public:  networkapi.Public,
		Problem: networkapi.Problem,
		Lists:   httpapi.NewLists(s.cfg.Berth.MaxListsPerProject),
	}, networkapi.Handler, ready)
}

// Network returns the service, for use in the same process.
func (s *NetworkServer) Network() *service.Service { return s.service }

// alive reads from the database. It does not return while the database hangs, which the watchdog
// detects.
func (s *NetworkServer) alive(ctx context.Context) error {
	_, err := s.service.Agents(ctx, network.Where(network.ByID, network.ID("")))
	return err
}

// ServeNetwork runs the service until ctx ends, with the settings that read returns. A reload calls
// read again. The error is a [Failure].
func ServeNetwork(ctx context.Context, p Process, read func() (*config.Network, []string, error)) error {
	return serve(ctx, p, NetworkLog, read, func(cfg *config.Network, log *slog.Logger) (*Server, error) {
		s, err := StartNetwork(ctx, p, cfg, log, Dependencies{})
		return &s.Server, err
	})
}
