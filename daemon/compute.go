package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/sqlstore/rowtable"
	"github.com/berthcloud/berth/watch"
)

// A ComputeServer is a running compute service: its database is open and its listeners accept
// connections.
type ComputeServer struct {
	Server
	cfg       *config.Compute
	db        *compute.Database
	servers   *servers.Service
	lifecycle *lifecycle.Service
	ports     *serverports.Service
	catalog   *catalog.Service
	fleet     *fleet.Service
	check     placementCheck
}

// StartCompute opens the database and the listeners, and takes over the operations of an earlier
// run. The error is a [Failure], and everything that was opened is closed.
func StartCompute(
	ctx context.Context, p Process, cfg *config.Compute, log *slog.Logger, d Dependencies,
) (s *ComputeServer, err error) {
	s = &ComputeServer{cfg: cfg}
	s.Server = newServer(cfg, log, d, serviceOptions{
		service: "compute", trial: "the database is the embedded one", strategy: cfg.Nova.AuthStrategy,
		policy: policySource{defaults: computeapi.PolicyDefaults()}, kind: computeDatabase, database: &cfg.Database,
		format: computeapi.Problem, status: func() string { return "the Compute API" }, probe: s.alive,
	})
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	opts, err := s.begin(ctx, p)
	if err != nil {
		return s, err
	}
	settings, err := computeSettings(cfg)
	if err != nil {
		return s, Fail(WrongSettings, err)
	}
	peers, end, err := newComputePeers(cfg, log, s.tracer, d)
	if err != nil {
		return s, Fail(WrongSettings, err)
	}
	s.atEnd(end)
	opts.Empty = d.Empty
	store, err := rowtable.OpenCompute(ctx, opts)
	if err != nil {
		return s, databaseFailure(err)
	}
	s.closeAtEnd(store)
	s.assemble(compute.NewDatabase(store, compute.Rules{Settings: settings, Log: log}), peers)
	s.endWaits = s.db.EndWatches
	ended, rest := runEnded, requestRest
	if opts.Path != "" { // the file is locked: its previous process has ended
		ended = func(string) bool { return true }
	}
	if d.SingleProcess {
		rest = 0
	}
	if err := s.lifecycle.TakeOver(ctx, ended, rest); err != nil {
		return s, databaseFailure(err)
	}
	for _, run := range []func(context.Context){
		s.lifecycle.RunOperations, s.servers.RunConfirmations, s.ports.RunPorts, s.servers.RunHistory,
		ticking(watch.Interval, s.db.RunWatches), s.mirror,
	} {
		s.atEnd(Background(run))
	}
	if peers.supports != nil {
		s.check = placementCheck{
			supports: peers.supports, minor: computeMinor, purpose: "the hosts of new servers and of moves", log: s.log,
			extra: physicalsMinor, without: "a server with a guaranteed port that may have any of several physical networks",
		}
		s.atEnd(Background(s.check.run))
	}
	s.metrics.watchUnknown(s.fleet.UnknownServers)
	s.metrics.watchHosts(s.fleet.Services)
	s.metrics.watchOperations(s.lifecycle.Operations)
	s.wire()
	return s, nil
}

// assemble makes the parts of the service, on a database.
func (s *ComputeServer) assemble(db *compute.Database, peers computePeers) {
	hosts := scheduler.NewHosts(db)
	s.db, s.ports, s.catalog = db, serverports.New(db, peers.network), catalog.New(db, peers.placement)
	s.lifecycle = lifecycle.New(db, lifecycle.Options{
		Placement: peers.placement, Network: peers.network, Trees: peers.trees, Hosts: hosts, Run: thisRun(),
		Behalf: onBehalf,
	})
	s.servers = servers.New(db, servers.Options{
		Network: peers.network, Images: peers.images, Lifecycle: s.lifecycle, Hosts: hosts, Ports: s.ports,
	})
	s.fleet = fleet.New(db, s.lifecycle, peers.trees)
}

// onBehalf is the context of what is done for a caller: logs name the caller, and so do requests to
// peer services.
func onBehalf(ctx context.Context, caller compute.Caller) context.Context {
	return context.WithValue(ctx, logging.Key{}, &logging.Origin{
		RequestID: caller.Request, GlobalID: caller.Global, User: caller.User, Project: caller.Project,
	})
}

// requestRest is the pause before operations of an earlier run continue, since requests that it has
// sent may still arrive. A worker whose request was not answered pauses as long.
const requestRest = 5 * time.Second

// mirrorEvery is the interval of checks for host aggregates that placement does not have yet.
const mirrorEvery = 5 * time.Second

// mirror writes host aggregates to placement until ctx ends, as Nova's API does at each change.
func (s *ComputeServer) mirror(ctx context.Context) {
	repeat(ctx, mirrorEvery, func() {
		if _, err := s.catalog.Mirror(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("host aggregates cannot be mirrored", "error", err)
		}
	})
}

// wire assembles the handlers and opens the API.
func (s *ComputeServer) wire() {
	api := &computeapi.API{
		Servers: s.servers, Catalog: s.catalog, Fleet: s.fleet, Policy: s.rules, MaxLimit: s.cfg.Nova.MaxLimit,
		HostPoll: httpapi.LongPoll{Max: s.cfg.Berth.MaxRequests / 2},
	}
	s.identifyHosts()
	ready := s.check.ready(s.usable(s.alive))
	s.metrics.watchReady(ready)
	s.open(httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps,
		Routes: api.Routes(), Public: computeapi.Public, Problem: computeapi.Problem,
		Lists: httpapi.NewLists(s.cfg.Berth.MaxListsPerProject),
	}, computeapi.Handler, ready)
}

// Catalog returns the catalog, for use in the same process.
func (s *ComputeServer) Catalog() *catalog.Service { return s.catalog }

// alive reads from the database. It blocks while the database hangs, which the watchdog detects.
func (s *ComputeServer) alive(ctx context.Context) error {
	_, err := s.fleet.Services(ctx)
	return err
}

// ServeCompute runs the service until ctx ends, with the settings that read returns. A reload calls
// read again. The error is a [Failure].
func ServeCompute(ctx context.Context, p Process, read func() (*config.Compute, []string, error)) error {
	return serve(ctx, p, ComputeLog, read, func(cfg *config.Compute, log *slog.Logger) (*Server, error) {
		s, err := StartCompute(ctx, p, cfg, log, Dependencies{})
		return &s.Server, err
	})
}
