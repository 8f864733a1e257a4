package service

import (
	"context"
	"time"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/watch"
)

// Concurrent changes in tests are done at once.
func init() { firstPause /= 10 }

// SetClock makes a service use another clock.
func (s *Service) SetClock(now func() time.Time) { s.db.Rules.Now = now }

// BeginPoll begins a poll of nothing.
func (s *Service) BeginPoll() *watch.Poll { return s.db.Begin() }

// ReadHostPorts is HostPorts for a poll, which depends on them from then on.
func (s *Service) ReadHostPorts(ctx context.Context, p *watch.Poll, host string) ([]network.Port, error) {
	return watch.Read(ctx, p, func(r network.Reader) ([]network.Port, error) { return ports.OnHost(r, host) })
}
