package compute

import (
	"context"

	"github.com/berthcloud/berth/watch"
)

// BeginPoll begins a poll of nothing.
func (s *Service) BeginPoll() *watch.Poll { return s.store.Begin() }

// ReadWanted is Wanted for a poll, which depends on the list from then on.
func (s *Service) ReadWanted(ctx context.Context, p *watch.Poll, host string) ([]Wanted, error) {
	return watch.Read(ctx, p, func(r Reader) ([]Wanted, error) { return s.wantedAt(r, host) })
}
