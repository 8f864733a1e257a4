package daemon

import (
	"context"
	"log/slog"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
)

// StartAPI begins to serve an API without a database: the identity and the image service of
// "berth up". name is that of the API; listen sets the address in settings that are otherwise the
// defaults. The error is a [Failure].
func StartAPI(
	ctx context.Context, p Process, listen func(*config.Berth), name string, api httpapi.Config, log *slog.Logger,
	d Dependencies,
) (*Server, error) {
	cfg := config.DefaultService()
	listen(&cfg.Berth)
	s := newServer(cfg, log, d, serviceOptions{
		service: api.Service, format: api.Problem,
		status: func() string { return "the " + name + " API" },
		probe:  func(context.Context) error { return nil },
	})
	if err := s.listen(ctx, p); err != nil {
		return &s, err
	}
	s.open(api, nil, func() (bool, string) { return true, "ok" })
	return &s, nil
}
