package main

import (
	"context"
	"log/slog"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
)

// A smallServer serves an API that has no database, and that only "berth up" has.
type smallServer struct {
	server
	name string // of the API
}

// startSmall begins to serve an API with the given authentication. An error has its exit code.
func startSmall(ctx context.Context, env environment, listen func(*config.Berth), name string, api httpapi.Config, log *slog.Logger, g given) (*smallServer, error) {
	cfg := config.DefaultPlacement() // of which only the settings that all services share apply
	listen(&cfg.Berth)
	s := &smallServer{newServer(cfg, policyOf{}, log, g), name}
	metrics := newServiceMetrics()
	if err := s.listen(ctx, env, beginning{service: api.Service, format: api.Problem}, metrics); err != nil {
		return s, err
	}
	s.open(api, metrics, func() (bool, string) { return true, "ok" })
	return s, nil
}

// run serves until ctx ends or a listener fails.
func (s *smallServer) run(ctx context.Context) error {
	defer s.close()
	return s.server.run(ctx, func() string { return "the " + s.name + " API" }, func(context.Context) error { return nil })
}
