package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// services are network services of which any will do, tried in order from the one
// that answered last.
type services struct {
	all  []Service
	last int
	log  *slog.Logger
}

// ask calls one service after the other until one answers, and reports whether one did. What names
// the request in the log.
func (s *services) ask(ctx context.Context, what string, fn func(Service) error) bool {
	for range s.all {
		err := fn(s.all[s.last])
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.log.Warn("a request to the network service failed", "asked", what, "address", s.last+1, "of", len(s.all), "error", err)
		s.last = (s.last + 1) % len(s.all)
	}
	return false
}

// firstPause is how long to wait when no service answers, longer each time.
const firstPause = time.Second

// jitter is a duration between half of d and d, so that agents which lost a service at
// the same time do not come back at the same time.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
