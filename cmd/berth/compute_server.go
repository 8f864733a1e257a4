package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/sqlstore"
)

// A computeServer is a running compute service: its database is open and its
// listeners take connections.
type computeServer struct {
	server
	cfg     *config.Compute
	service *compute.Service
}

func computePolicy() policyOf { return policyOf{defaults: computeapi.PolicyDefaults()} }

// startCompute opens the database and the listeners. An error has its exit code, and everything
// opened before is closed.
func startCompute(ctx context.Context, env environment, cfg *config.Compute, log *slog.Logger, g given) (s *computeServer, err error) {
	s = &computeServer{server: newServer(cfg, computePolicy(), log, g), cfg: cfg}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	metrics := newServiceMetrics()
	opts, err := s.begin(ctx, env, beginning{
		service: "compute", trial: "the database is the embedded one",
		strategy: cfg.Nova.AuthStrategy, kind: computeDatabase, database: &cfg.Database, format: computeapi.Problem,
	}, metrics)
	if err != nil {
		return s, err
	}
	neighbours, end, err := computeNeighbours(cfg, log, s.tracer, g)
	if err != nil {
		return s, fail(exitUsage, err)
	}
	s.ends = append(s.ends, end)
	neighbours.Run = thisRun()
	opts.Empty = g.empty
	store, err := sqlstore.OpenCompute(ctx, opts)
	if err != nil {
		return s, databaseFailure(err)
	}
	s.keep(store)
	s.service = compute.NewService(store, computeSettings(cfg), neighbours)
	s.serving.leave = s.service.EndWatches
	ended, rest := runEnded, requestRest
	if opts.Path != "" { // the file is locked: its previous process has ended
		ended = func(string) bool { return true }
	}
	if g.alone {
		rest = 0
	}
	if err := s.service.TakeOver(ctx, ended, rest); err != nil {
		return s, databaseFailure(err)
	}
	s.ends = append(s.ends, background(s.service.RunOperations), background(s.service.RunWatches), background(s.mirror))
	metrics.watchUnknown(s.service.UnknownServers)
	metrics.watchHosts(s.service.Services)
	metrics.watchOperations(s.service.Operations)
	s.wire(metrics)
	return s, nil
}

// requestRest is the pause before operations of an ended earlier run continue, since requests that
// it sent may still arrive. A worker without an answer pauses as long.
const requestRest = 5 * time.Second

// mirrorEvery is the interval of checks for host aggregates that are not in placement yet.
const mirrorEvery = 5 * time.Second

// mirror writes host aggregates to placement until ctx ends.
func (s *computeServer) mirror(ctx context.Context) {
	next := time.NewTicker(mirrorEvery)
	defer next.Stop()
	for {
		if _, err := s.service.Mirror(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("host aggregates cannot be mirrored", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// wire assembles the handlers and opens the API.
func (s *computeServer) wire(m *serviceMetrics) {
	api := &computeapi.API{Compute: s.service, Policy: s.rules, MaxLimit: s.cfg.Nova.MaxLimit, MaxWaits: s.cfg.Berth.MaxRequests / 2}
	m.watchReady(s.ready)
	s.openBehind(computeapi.Handler, httpapi.Config{
		Service: "compute", History: microversion.Compute, Compute: true,
		Routes: api.Routes(), Public: computeapi.Public, Problem: computeapi.Problem,
	}, m, s.ready)
}

// ready reports whether the database answers.
func (s *computeServer) ready() (bool, string) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := s.alive(ctx); err != nil {
		return false, unreadable(err)
	}
	return true, "ok"
}

// alive reads from the database. It blocks while the database hangs, which the watchdog detects.
func (s *computeServer) alive(ctx context.Context) error {
	_, err := s.service.Services(ctx)
	return err
}

// run serves until ctx ends or a listener fails, and closes everything.
func (s *computeServer) run(ctx context.Context) error {
	defer s.close()
	return s.server.run(ctx, func() string { return "the Compute API" }, func(ctx context.Context) error {
		_ = s.alive(ctx) // an unavailable database does not end the service
		return nil
	})
}
