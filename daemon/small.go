package daemon

import (
	"context"
	"log/slog"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
)

// A SmallServer serves an API without a database: the identity and the image service of "berth up".
type SmallServer struct {
	Server
	name string // of the API
}

// StartSmall begins to serve an API. listen sets the address in settings that are otherwise the
// defaults. The error is a [Failure].
func StartSmall(
	ctx context.Context, p Process, listen func(*config.Berth), name string, api httpapi.Config, log *slog.Logger,
	d Dependencies,
) (*SmallServer, error) {
	cfg := config.DefaultPlacement() // of which only the settings that all services share apply
	listen(&cfg.Berth)
	s := &SmallServer{newServer(cfg, policyOf{}, log, d), name}
	metrics := newServiceMetrics()
	if err := s.listen(ctx, p, startOptions{service: api.Service, format: api.Problem}, metrics); err != nil {
		return s, err
	}
	s.open(api, metrics, func() (bool, string) { return true, "ok" })
	return s, nil
}

// Run serves until ctx ends or a listener fails.
func (s *SmallServer) Run(ctx context.Context) error {
	defer s.Close()
	return s.Server.run(ctx, func() string { return "the " + s.name + " API" }, func(context.Context) error { return nil })
}
