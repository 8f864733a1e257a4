package compute

import (
	"context"

	"github.com/berthcloud/berth/watch"
)

// Fenced returns clients whose changes are fenced.
func Fenced(p Placement, n Network) (Placement, Network) { return fencedPlacement{p}, fencedNetwork{n} }

// Database returns the service's rows, for the services that share them.
func (s *Service) Database() *Database { return s.store }

// BeginPoll begins a poll of nothing.
func (s *Service) BeginPoll() *watch.Poll { return s.store.Begin() }

// ReadWanted is Wanted for a poll, which depends on the list from then on.
func (s *Service) ReadWanted(ctx context.Context, p *watch.Poll, host string) ([]Wanted, error) {
	return watch.Read(ctx, p, func(r Reader) ([]Wanted, error) { return s.wantedAt(r, host) })
}

// Look looks for operations that are due, as RunOperations does again and again, and carries none out.
func (s *Service) Look(ctx context.Context) error {
	s.dueNow.mu.Lock()
	defer s.dueNow.mu.Unlock()
	return s.store.View(ctx, func(r Reader) error {
		_, err := s.lookForDue(r, true)
		return err
	})
}

// Recover carries out all operations that are due, one after the other, and returns how many are
// left: they wait for a host or for a neighbour, or another worker has them.
func (s *Service) Recover(ctx context.Context) (left int, err error) {
	s.dueNow.whole.Store(true)
	if err := s.runner.RunDue(ctx); err != nil {
		return 0, err
	}
	left, _, err = s.Operations(ctx)
	return left, err
}

// Work carries out the operations that are ready, as a worker does that was woken.
func (s *Service) Work(ctx context.Context) error { return s.runner.RunDue(ctx) }

// ConfirmOld confirms the resizes that have waited for Settings.ConfirmWindow.
func (s *Service) ConfirmOld(ctx context.Context) error { return s.confirmOld(ctx) }

// ActAsWorker lets requests wait for operations as they do while operations are carried out here: the test does that, by Change.
func (s *Service) ActAsWorker() { s.working.Add(1) }

// Change changes rows as the service does.
func (s *Service) Change(ctx context.Context, fn func(Writer) error) error {
	return s.update(ctx, func(c *change) error { return fn(c) })
}
