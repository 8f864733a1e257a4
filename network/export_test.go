package network

import (
	"context"
	"time"

	"github.com/berthcloud/berth/watch"
)

// Concurrent changes in tests are done at once.
func init() { firstPause /= 10 }

// SetClock makes a service use another clock.
func (s *Service) SetClock(now func() time.Time) { s.now = now }

// BeginPoll begins a poll of nothing.
func (s *Service) BeginPoll() *watch.Poll { return s.store.Begin() }

// ReadHostPorts is HostPorts for a poll, which depends on them from then on.
func (s *Service) ReadHostPorts(ctx context.Context, p *watch.Poll, host string) ([]Port, error) {
	return watch.Read(ctx, p, func(r Reader) ([]Port, error) { return hostPorts(r, host) })
}
