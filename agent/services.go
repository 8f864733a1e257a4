package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/berthcloud/berth/agent/failover"
)

// services are equivalent network services.
type services struct {
	failover.Services[Service]
	log *slog.Logger
}

func newServices(all []Service, log *slog.Logger) *services {
	s := &services{log: log}
	s.All = all
	return s
}

// request calls fn with one service after the other until a call succeeds, and reports whether one
// did. Each failure is logged with the name of the request.
func (s *services) request(ctx context.Context, name string, fn func(Service) error) bool {
	return s.Do(ctx, func(service Service) error {
		err := fn(service)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("a request to the network service failed", "request", name, "error", err)
		}
		return err
	}) == nil
}

// firstPause is the wait after the first failure; it doubles with each further one.
const firstPause = time.Second

// jitter returns a random duration between d/2 and d, so that agents that lost a service at the
// same time do not all return to it at the same time.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
