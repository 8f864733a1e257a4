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
)

// A placementServer is a running placement service: its database is open and
// its listeners take connections.
type placementServer struct {
	cfg     *config.Placement
	log     *slog.Logger
	store   *sqlstore.Store
	service *placement.Service
	api     http.Handler
	ops     http.Handler
	ln      net.Listener
	opsLn   net.Listener // nil when metrics are off
}

// startPlacement opens the database, emptied when that is asked for, and the
// listeners. An error carries its exit code, and leaves nothing open.
func startPlacement(ctx context.Context, env environment, cfg *config.Placement, empty bool, log *slog.Logger) (s *placementServer, err error) {
	s = &placementServer{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if cfg.API.AuthStrategy != config.StrategyNoAuth2 {
		return s, fail(exitUsage, errors.New("[api] auth_strategy: this version of Berth cannot ask Keystone yet; only noauth2 works"))
	}
	path, err := databasePath(env, cfg)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	rules, err := newPolicy(cfg, log)
	if err != nil {
		return s, fail(exitUsage, fmt.Errorf("[oslo_policy]: %w", err))
	}
	s.announce(path)
	// The address first: it is cheaper to find taken than the database to
	// read.
	if err := s.listen(ctx); err != nil {
		return s, err
	}
	metrics := newPlacementMetrics()
	if err := s.open(ctx, path, empty, metrics); err != nil {
		return s, err
	}
	s.wire(rules, metrics)
	return s, nil
}

// announce says with which settings the service starts, above all where they
// are those of a trial.
func (s *placementServer) announce(path string) {
	s.log.Info("Berth's placement service starts", "version", currentVersion().Version, "database", path, "listen", s.cfg.Berth.Listen)
	if len(s.cfg.Files) == 0 {
		s.log.Info("no settings were given: the database is the embedded one")
	}
	s.log.Warn("auth_strategy is noauth2: tokens are believed, whoever sends them")
}

// open opens the database, emptied when that is asked for, and reads the world.
func (s *placementServer) open(ctx context.Context, path string, empty bool, m *placementMetrics) (err error) {
	begin := time.Now()
	s.store, err = sqlstore.Open(ctx, sqlstore.Options{
		Path:    path,
		Sync:    s.cfg.Database.SyncOnStartup,
		Empty:   empty,
		Logger:  s.log,
		Metrics: m.store(),
	})
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
	w, _ := s.service.Ready()
	s.log.Info("the world is read", "providers", w.Len(), "trees", w.TreeCount(), "seconds", time.Since(begin).Seconds())
	return nil
}

func (s *placementServer) settings(m *placementMetrics) placement.Settings {
	set := placement.DefaultSettings()
	set.IncompleteProject = s.cfg.Placement.IncompleteConsumerProjectID
	set.IncompleteUser = s.cfg.Placement.IncompleteConsumerUserID
	set.ConflictRetries = s.cfg.Placement.AllocationConflictRetryCount
	set.Observe = m.claim
	return set
}

func (s *placementServer) listen(ctx context.Context) (err error) {
	if s.ln, err = listenOn(ctx, s.cfg.Berth.Listen); err != nil {
		return err
	}
	if s.cfg.Berth.MetricsListen != "" {
		s.opsLn, err = listenOn(ctx, s.cfg.Berth.MetricsListen)
	}
	return err
}

// wire puts the handlers together.
func (s *placementServer) wire(rules *policy.Enforcer, m *placementMetrics) {
	api := &placementapi.API{
		Placement:  s.service,
		Policy:     rules,
		Now:        time.Now,
		Candidates: candidateSettings(s.cfg),
		Searched:   m.searched,
	}
	m.watch(s.service)
	s.api = httpapi.New(httpapi.Config{
		Service:       "placement",
		History:       microversion.Placement,
		Routes:        api.Routes(),
		Authenticate:  httpapi.NoAuth,
		CodeSince:     23,
		UndefinedCode: placement.CodeUndefined,
		MaxBody:       int64(s.cfg.Berth.MaxBodySize),
		CORS:          corsOf(s.cfg.CORS),
		Log:           s.log,
		Metrics:       m.http,
	})
	s.ops = httpapi.NewOps(httpapi.OpsConfig{Metrics: m.registry, Ready: s.ready, Profile: s.cfg.Berth.PProf})
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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	opts := serveOptions(s.cfg.Berth, s.log)
	s.log.Info("ready", "address", s.ln.Addr().String())
	running := 1
	ended := make(chan error, 2)
	go func() { ended <- httpapi.Serve(ctx, s.ln, s.api, opts) }()
	if s.opsLn != nil {
		running++
		go func() { ended <- httpapi.Serve(ctx, s.opsLn, s.ops, opts) }()
	}
	var err error
	for range running {
		err = errors.Join(err, <-ended)
		stop()
	}
	s.log.Info("stopped")
	return fail(exitFailure, err)
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
	}
}

// close releases what was opened; it may be called more than once.
func (s *placementServer) close() {
	for _, ln := range []net.Listener{s.ln, s.opsLn} {
		if ln != nil {
			ln.Close()
		}
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.log.Error("closing the database", "error", err)
		}
		s.store = nil
	}
}
