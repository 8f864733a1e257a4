package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/tracing"
)

// A placementServer is a running placement service: its database is open and
// its listeners take connections.
type placementServer struct {
	cfg     *config.Placement
	log     *slog.Logger
	store   *sqlstore.Store
	service *placement.Service

	endSweep   func() // nil before there is a service
	endHeap    func() // nil before there is a world
	endPrepare func() // nil before there is an API
	endAuth    func() // nil before callers are checked

	authenticate httpapi.Authenticator

	api     http.Handler
	ops     http.Handler
	ln      net.Listener // the first one of the API
	serving *serving
	tracer  *tracing.Tracer // nil when tracing is off

	rules   *livePolicy
	reloads *reloadMetrics
	source  source            // where a reload finds the settings
	loaded  *config.Placement // what was read last
}

// startPlacement opens the database, emptied when that is asked for, and the
// listeners. An error carries its exit code, and leaves nothing open.
func startPlacement(ctx context.Context, env environment, cfg *config.Placement, empty bool, log *slog.Logger) (s *placementServer, err error) {
	s = &placementServer{cfg: cfg, log: log, loaded: cfg}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	db, name, err := databaseOptions(env, cfg)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	rules, err := newPolicy(cfg, log)
	if err != nil {
		return s, fail(exitUsage, fmt.Errorf("[oslo_policy]: %w", err))
	}
	s.announce(name)
	metrics := newPlacementMetrics()
	s.tracer = startTracing(ctx, env, metrics.registry, log)
	if s.authenticate, s.endAuth, err = newAuthenticator(cfg, log, metrics.keystone, s.tracer); err != nil {
		return s, fail(exitUsage, err)
	}
	// The address first: it is cheaper to find taken than the database to
	// read.
	if err := s.listen(ctx, metrics); err != nil {
		return s, err
	}
	if err := s.open(ctx, db, empty, metrics); err != nil {
		return s, err
	}
	s.endHeap = keepHeapSmall(env.getenv)
	s.wire(rules, metrics)
	s.serving.open(s.api, s.ops)
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

// open opens the database, emptied when that is asked for, and reads the world.
func (s *placementServer) open(ctx context.Context, opts sqlstore.Options, empty bool, m *placementMetrics) (err error) {
	begin := time.Now()
	opts.Empty, opts.Logger, opts.Metrics = empty, s.log, m.store()
	opts.Trace = s.tracer.SQL(tracedSystem(opts))
	opts.Progress = s.reading()
	s.store, err = sqlstore.Open(ctx, opts)
	if err != nil {
		if errors.Is(err, sqlstore.ErrInUse) {
			return fail(exitInUse, err)
		}
		return fail(exitDatabase, err)
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

// background runs fn until the function it returns is called, which waits for fn
// to return.
func background(fn func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
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

// listen opens the listeners, which answer from now on that the service is
// starting.
func (s *placementServer) listen(ctx context.Context, m *placementMetrics) (err error) {
	if s.serving, err = newServing(ctx, s.cfg, s.log, m.registry, m.http); err != nil {
		return err
	}
	s.ln, s.reloads = s.serving.apiServers.listeners[0], m.reloads
	return nil
}

// wire puts the handlers together.
func (s *placementServer) wire(rules *policy.Enforcer, m *placementMetrics) {
	s.rules = newLivePolicy(rules)
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
	s.api = httpapi.New(httpapi.Config{
		Service:       "placement",
		History:       microversion.Placement,
		Routes:        api.Routes(),
		Authenticate:  s.authenticate,
		CodeSince:     23,
		UndefinedCode: placement.CodeUndefined,
		MaxBody:       int64(s.cfg.Berth.MaxBodySize),
		CORS:          corsOf(s.cfg.CORS),
		Log:           s.log,
		Metrics:       m.http,
	})
	s.api = s.tracer.Handler(s.api, routeNames(api.Routes()))
	s.ops = httpapi.NewOps(httpapi.OpsConfig{Metrics: m.registry, Ready: s.serving.ready(s.ready), Profile: s.cfg.Berth.PProf})
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
	s.log.Info("ready", "address", addressText(s.ln.Addr()), "all", s.serving.apiServers.addresses(), "tls", s.serving.certs != nil)
	reload := s.reload
	if s.source.reread == nil { // nothing to read again: a terminal that closes ends it
		reload = nil
	}
	err := s.serving.run(ctx, s.status, reload, s.alive)
	s.log.Info("stopped")
	return fail(exitFailure, err)
}

// status says for systemd what the service does.
func (s *placementServer) status() string {
	w, _ := s.service.Ready()
	return s.serving.status(w.Len())
}

// alive returns when a read has come past everything that it may have to wait
// for, with or without success. That it does not return is what the watchdog is
// for; that the database is away is not.
func (s *placementServer) alive(ctx context.Context) error {
	_, _ = s.service.World(ctx)
	return nil
}

// serveOptions turns the settings into what the listeners need. In the settings
// 0 is no bound; there it would be a default.
func serveOptions(b config.Berth, log *slog.Logger) httpapi.ServeOptions {
	bound := func(d, unbounded time.Duration) time.Duration {
		if d == 0 {
			return unbounded
		}
		return d
	}
	return httpapi.ServeOptions{
		ReadHeaderTimeout: bound(b.ReadHeaderTimeout, -1),
		ReadTimeout:       bound(b.ReadTimeout, -1),
		WriteTimeout:      bound(b.WriteTimeout, -1),
		IdleTimeout:       bound(b.IdleTimeout, -1),
		StopTimeout:       bound(b.ShutdownTimeout, 365*24*time.Hour),
		Log:               log,
		HTTP2:             b.HTTP2,
		MaxStreams:        b.HTTP2MaxStreams,
	}
}

// close releases what was opened; it may be called more than once.
func (s *placementServer) close() {
	if s.serving != nil {
		if err := s.serving.stop(); err != nil {
			s.log.Error("closing the listeners", "error", err)
		}
	}
	if s.endPrepare != nil {
		s.endPrepare()
	}
	if s.endSweep != nil {
		s.endSweep()
	}
	if s.endHeap != nil {
		s.endHeap()
	}
	if s.endAuth != nil {
		s.endAuth()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Error("closing the database", "error", err)
		}
		s.store = nil
	}
	stopTracing(s.tracer, s.log)
}
