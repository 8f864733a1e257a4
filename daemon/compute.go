package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/fleet"
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
	cfg     *config.Compute
	service *compute.Service
	catalog *catalog.Service
	fleet   *fleet.Service
}

func computePolicy() policyOf { return policyOf{defaults: computeapi.PolicyDefaults()} }

// StartCompute opens the database and the listeners, and takes over the operations of an earlier
// run. The error is a [Failure], and everything that was opened is closed.
func StartCompute(ctx context.Context, p Process, cfg *config.Compute, log *slog.Logger, d Dependencies) (s *ComputeServer, err error) {
	s = &ComputeServer{Server: newServer(cfg, computePolicy(), log, d), cfg: cfg}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	metrics := newServiceMetrics()
	opts, err := s.begin(ctx, p, startOptions{
		service: "compute", trial: "the database is the embedded one",
		strategy: cfg.Nova.AuthStrategy, kind: computeDatabase, database: &cfg.Database, format: computeapi.Problem,
	}, metrics)
	if err != nil {
		return s, err
	}
	neighbours, trees, end, err := computeNeighbours(cfg, log, s.tracer, d)
	if err != nil {
		return s, Fail(WrongSettings, err)
	}
	s.ends = append(s.ends, end)
	neighbours.Run = thisRun()
	neighbours.Behalf = func(ctx context.Context, caller compute.Caller) context.Context { // for logs, and for what peer services are reported
		return context.WithValue(ctx, logging.Key{}, &logging.Origin{RequestID: caller.Request, GlobalID: caller.Global, User: caller.User, Project: caller.Project})
	}
	opts.Empty = d.Empty
	store, err := rowtable.OpenCompute(ctx, opts)
	if err != nil {
		return s, databaseFailure(err)
	}
	s.keep(store)
	db := compute.NewDatabase(store, compute.Rules{Settings: computeSettings(cfg), Log: log})
	s.service, s.catalog = compute.NewService(db, neighbours), catalog.New(db, neighbours.Placement)
	s.fleet = fleet.New(db, s.service, trees)
	s.serving.leave = s.service.EndWatches
	ended, rest := runEnded, requestRest
	if opts.Path != "" { // the file is locked: its previous process has ended
		ended = func(string) bool { return true }
	}
	if d.Alone {
		rest = 0
	}
	if err := s.service.TakeOver(ctx, ended, rest); err != nil {
		return s, databaseFailure(err)
	}
	s.ends = append(s.ends, Background(s.service.RunOperations), Background(s.service.RunPorts), Background(s.service.RunHistory), Background(ticking(watch.Interval, s.service.RunWatches)), Background(s.mirror))
	metrics.watchUnknown(s.fleet.UnknownServers)
	metrics.watchHosts(s.fleet.Services)
	metrics.watchOperations(s.service.Operations)
	s.wire(metrics)
	return s, nil
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
func (s *ComputeServer) wire(m *serviceMetrics) {
	api := &computeapi.API{Compute: s.service, Catalog: s.catalog, Fleet: s.fleet, Policy: s.rules, MaxLimit: s.cfg.Nova.MaxLimit, HostPoll: httpapi.LongPoll{Max: s.cfg.Berth.MaxRequests / 2}}
	s.identifyHosts()
	ready := s.usable(s.alive)
	m.watchReady(ready)
	s.openWithFront(computeapi.Handler, httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps,
		Routes: api.Routes(), Public: computeapi.Public, Problem: computeapi.Problem,
		Lists: httpapi.NewLists(s.cfg.Berth.MaxListsPerProject),
	}, m, ready)
}

// Catalog returns the catalog, for use in the same process.
func (s *ComputeServer) Catalog() *catalog.Service { return s.catalog }

// alive reads from the database. It blocks while the database hangs, which the watchdog detects.
func (s *ComputeServer) alive(ctx context.Context) error {
	_, err := s.fleet.Services(ctx)
	return err
}

// Run serves until ctx ends or a listener fails, and closes everything. The error is a [Failure].
func (s *ComputeServer) Run(ctx context.Context) error {
	defer s.Close()
	return s.Server.run(ctx, func() string { return "the Compute API" }, s.alive)
}

// ServeCompute runs the service until ctx ends, with the settings that read returns. A reload calls
// read again. The error is a [Failure].
func ServeCompute(ctx context.Context, p Process, read func() (*config.Compute, []string, error)) error {
	return serve(ctx, p, ComputeLog, read, func(cfg *config.Compute, log *slog.Logger) (apiServer, error) {
		return StartCompute(ctx, p, cfg, log, Dependencies{})
	})
}
