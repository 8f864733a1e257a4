package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// A placementServer is a running placement service: its database is open and
// its listeners take connections.
type placementServer struct {
	server
	cfg     *config.Placement
	store   *sqlstore.Store
	service *placement.Service

	endSweep   func() // nil before there is a service
	endHeap    func() // nil before there is a world
	endPrepare func() // nil before there is an API
}

// placementLog is the name of the service in its log.
const placementLog = "berth.placement"

func placementPolicy() policyOf { return policyOf{defaults: placementapi.PolicyDefaults()} }

// startPlacement opens the database, emptied when that is asked for, and the
// listeners. An error carries its exit code, and leaves nothing open.
func startPlacement(ctx context.Context, env environment, cfg *config.Placement, empty bool, log *slog.Logger) (s *placementServer, err error) {
	s = &placementServer{server: newServer(cfg, placementPolicy(), log), cfg: cfg}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	db, name, err := placementDatabase.options(env, &cfg.Database)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	rules, err := s.policy.read(&cfg.Service, log)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	s.announce(name)
	metrics := newPlacementMetrics()
	// The address first: it is cheaper to find taken than the database to
	// read.
	if err := s.listen(ctx, env, "berth-placement", cfg.API.AuthStrategy, rules, metrics.serviceMetrics); err != nil {
		return s, err
	}
	if err := s.read(ctx, db, empty, metrics); err != nil {
		return s, err
	}
	s.endHeap = keepHeapSmall(env.getenv)
	s.wire(metrics)
	return s, nil
}

// announce says with which settings the service starts, above all where they
// are those of a trial.
func (s *placementServer) announce(database string) {
	s.log.Info("Berth's placement service starts", "version", currentVersion().Version, "database", database, "listen", s.cfg.Berth.Listen)
	if len(s.cfg.Files) == 0 {
		s.log.Info("no settings were given: the database is the embedded one")
	}
}

// read opens the database, emptied when that is asked for, and reads the world.
func (s *placementServer) read(ctx context.Context, opts sqlstore.Options, empty bool, m *placementMetrics) (err error) {
	begin := time.Now()
	opts.Empty, opts.Logger, opts.Metrics = empty, s.log, m.database.hooks()
	opts.Trace = s.tracer.SQL(tracedSystem(opts))
	opts.Progress = s.reading()
	s.store, err = sqlstore.Open(ctx, opts)
	if err != nil {
		return databaseFailure(err)
	}
	s.service, err = placement.NewService(ctx, s.store, s.settings(m))
	if err != nil {
		return fail(exitDatabase, err)
	}
	s.sweep(m)
	w, _ := s.service.Ready()
	s.log.Info("the world is read", "providers", w.Len(), "trees", w.TreeCount(), "seconds", time.Since(begin).Seconds())
	return nil
}

// sweep starts the comparisons with the database; close ends them.
func (s *placementServer) sweep(m *placementMetrics) {
	s.endSweep = background(func(ctx context.Context) {
		sweepEvery(ctx, s.service, s.cfg.Berth.SweepInterval, m.sharing, s.log)
	})
}

func (s *placementServer) settings(m *placementMetrics) placement.Settings {
	set := placement.DefaultSettings()
	set.IncompleteProject = s.cfg.Placement.IncompleteConsumerProjectID
	set.IncompleteUser = s.cfg.Placement.IncompleteConsumerUserID
	set.ConflictRetries = s.cfg.Placement.AllocationConflictRetryCount
	set.Observe = m.claim
	set.ObserveOthers = m.sharing.followed
	return set
}

// wire puts the handlers together and opens the API.
func (s *placementServer) wire(m *placementMetrics) {
	api := &placementapi.API{
		Placement:  s.service,
		Policy:     s.rules,
		Now:        time.Now,
		Candidates: candidateSettings(s.cfg),
		Searched:   m.searched,
	}
	m.watch(s.service)
	s.endPrepare = background(func(ctx context.Context) {
		api.Prepare(ctx)
		if s.cfg.Berth.HugePages {
			keepOnHugePages(ctx, s.log)
		}
	})
	s.open(httpapi.Config{
		Service:       "placement",
		History:       microversion.Placement,
		Routes:        api.Routes(),
		CodeSince:     23,
		UndefinedCode: placement.CodeUndefined,
	}, m.serviceMetrics, s.ready)
}

// ready says whether requests can be answered truthfully.
func (s *placementServer) ready() (bool, string) {
	w, ok := s.service.Ready()
	if !ok {
		return false, "the database cannot be read"
	}
	return true, fmt.Sprintf("ok, %d providers", w.Len())
}

// candidateSettings turns the settings into what the API needs. Upstream bounds
// the candidates after it has added one, so that 0 means 1; below is no bound.
func candidateSettings(cfg *config.Placement) placementapi.CandidateSettings {
	bound := max(1, cfg.Placement.MaxAllocationCandidates)
	if cfg.Placement.MaxAllocationCandidates < 0 {
		bound = 0
	}
	c := placementapi.CandidateSettings{
		Max:          bound,
		BreadthFirst: cfg.Placement.AllocationCandidatesGenerationStrategy == config.BreadthFirst,
	}
	if cfg.Placement.RandomizeAllocationCandidates {
		c.Seed = rand.Uint64
	}
	return c
}

// run serves until ctx ends or a listener fails, and closes everything.
func (s *placementServer) run(ctx context.Context) error {
	defer s.close()
	return s.server.run(ctx, s.status, s.alive)
}

// status says for systemd what the service serves.
func (s *placementServer) status() string {
	w, _ := s.service.Ready()
	return fmt.Sprintf("%d providers", w.Len())
}

// alive returns when a read has come past everything that it may have to wait
// for, with or without success. That it does not return is what the watchdog is
// for; that the database is away is not.
func (s *placementServer) alive(ctx context.Context) error {
	_, _ = s.service.World(ctx)
	return nil
}

// close releases what was opened; it may be called more than once.
func (s *placementServer) close() {
	s.server.close(func() {
		for _, end := range []func(){s.endPrepare, s.endSweep, s.endHeap} {
			if end != nil {
				end()
			}
		}
		if s.store != nil {
			if err := s.store.Close(); err != nil {
				s.log.Error("closing the database", "error", err)
			}
			s.store = nil
		}
	})
}
