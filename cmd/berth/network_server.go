package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/sqlstore"
)

// A networkServer is a running network service: its database is open and its
// listeners take connections.
type networkServer struct {
	server
	cfg     *config.Network
	store   *sqlstore.NetworkStore // nil before it is open
	service *network.Service
	tracker *tracking.Tracker // nil without the plugin placement
	ends    []func()          // of what runs beside the requests, the last first
}

func networkPolicy() policyOf {
	return policyOf{defaults: networkapi.PolicyDefaults(), networking: true}
}

// startNetwork opens the database and the listeners. An error carries its exit code,
// and leaves nothing open.
func startNetwork(ctx context.Context, env environment, cfg *config.Network, log *slog.Logger) (s *networkServer, err error) {
	s = &networkServer{server: newServer(cfg, networkPolicy(), log), cfg: cfg}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	set, err := networkSettings(cfg)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	db, name, err := networkDatabase.options(env, &cfg.Database)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	rules, err := s.policy.read(&cfg.Service, log)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	s.announce(name)
	metrics := newServiceMetrics()
	if err := s.listen(ctx, env, "berth-network", cfg.Neutron.AuthStrategy, rules, metrics); err != nil {
		return s, err
	}
	neighbours, end, err := networkNeighbours(cfg, log, s.tracer)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	s.ends = append(s.ends, end)
	if err := s.openStore(ctx, db, metrics); err != nil {
		return s, err
	}
	s.work(set, neighbours, db.Server == nil)
	s.wire(metrics)
	return s, nil
}

// announce says with which settings the service starts, above all where they are
// those of a trial.
func (s *networkServer) announce(database string) {
	s.log.Info("Berth's network service starts", "version", currentVersion().Version, "database", database, "listen", s.cfg.Berth.Listen)
	if len(s.cfg.Files) == 0 {
		s.log.Info("no settings were given: the database is the embedded one, and there is one physical network, physnet0")
	}
	if len(s.cfg.ML2.MechanismDrivers) == 0 {
		s.log.Warn("[ml2] mechanism_drivers is empty: no port can be bound")
	}
}

func (s *networkServer) openStore(ctx context.Context, opts sqlstore.Options, m *serviceMetrics) (err error) {
	opts.Logger, opts.Metrics = s.log, m.database.hooks()
	opts.Trace = s.tracer.SQL(tracedSystem(opts))
	if s.store, err = sqlstore.OpenNetwork(ctx, opts); err != nil {
		return databaseFailure(err)
	}
	return nil
}

// work makes the service and starts what it does beside answering requests. Alone
// says that no other process has the database.
func (s *networkServer) work(set network.Settings, n network.Neighbours, alone bool) {
	s.service = network.NewService(s.store, set, n)
	s.ends = append(s.ends, background(s.service.RunEvents))
	if n.Placement != nil && s.cfg.Neutron.Has(config.PluginPlacement) {
		s.tracker = s.newTracker(n.Placement)
		s.ends = append(s.ends, background(s.tracker.Run))
	}
	if n.Placement != nil {
		s.ends = append(s.ends, background(func(ctx context.Context) { s.recover(ctx, alone) }))
	}
}

const (
	// recoverEvery is how often it is looked for what others left half done, and
	// abandonedAfter when they cannot be at it any more: requests to neighbours
	// have ended long before, with all that are sent again.
	recoverEvery   = time.Minute
	abandonedAfter = 10 * time.Minute
)

// recover carries out or takes back what earlier processes left half done, until ctx
// ends. Who is alone need not wait for others at the start.
func (s *networkServer) recover(ctx context.Context, alone bool) {
	age := abandonedAfter
	if alone {
		age = 0
	}
	next := time.NewTicker(recoverEvery)
	defer next.Stop()
	for {
		if _, err := s.service.Recover(ctx, age); err != nil && ctx.Err() == nil {
			s.log.Error("what was left half done cannot be looked at", "error", err)
		}
		age = abandonedAfter
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// wire puts the handlers together and opens the API.
func (s *networkServer) wire(m *serviceMetrics) {
	api := &networkapi.API{Network: s.service, Policy: s.rules, OldRequests: s.cfg.Promises.OldRequests}
	for _, plugin := range []string{networkapi.PluginQoS, networkapi.PluginTrunk, networkapi.PluginSegments} {
		if !s.cfg.Neutron.Has(plugin) {
			api.Without = append(api.Without, plugin)
		}
	}
	if s.tracker != nil {
		api.Reported = s.reported
	}
	m.watchReady(s.ready)
	s.open(httpapi.Config{
		Service: "network",
		Routes:  api.Routes(),
		Public:  networkapi.Public,
		Problem: networkapi.Problem,
	}, m, s.ready)
}

// readyTime bounds the question whether the database answers.
const readyTime = 5 * time.Second

// ready says whether the database answers.
func (s *networkServer) ready() (bool, string) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := s.alive(ctx); err != nil {
		return false, "the database cannot be read"
	}
	return true, "ok"
}

// alive reads from the database. That it does not return is what the watchdog is for.
func (s *networkServer) alive(ctx context.Context) error {
	_, err := s.service.Agents(ctx, network.Where(network.ByID, network.ID("")))
	return err
}

// run serves until ctx ends or a listener fails, and closes everything.
func (s *networkServer) run(ctx context.Context) error {
	defer s.close()
	return s.server.run(ctx, func() string { return "the Networking API" }, func(ctx context.Context) error {
		_ = s.alive(ctx) // a database that is away is no reason to end the service
		return nil
	})
}

// close releases what was opened; it may be called more than once.
func (s *networkServer) close() {
	s.server.close(func() {
		for len(s.ends) > 0 {
			last := len(s.ends) - 1
			s.ends[last]()
			s.ends = s.ends[:last]
		}
		if s.store != nil {
			if err := s.store.Close(); err != nil {
				s.log.Error("closing the database", "error", err)
			}
			s.store = nil
		}
	})
}
