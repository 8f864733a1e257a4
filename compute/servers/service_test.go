package servers_test

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/watch"
)

// A cloudService is a compute service: its parts on one database.
type cloudService struct {
	*servers.Service
	*lifecycleService
	*fleetService
	*portService
	db *compute.Database
}

// Names under which the parts can be embedded together.
type (
	lifecycleService = lifecycle.Service
	fleetService     = fleet.Service
	portService      = serverports.Service
)

// newService returns a service on a database.
func newService(db *compute.Database, o computetest.Options) *cloudService {
	s := computetest.NewService(db, o)
	return &cloudService{
		Service: s.Servers, lifecycleService: s.Lifecycle, fleetService: s.Fleet, portService: s.Ports, db: db,
	}
}

// Done is what hosts send.
func (s *cloudService) Done(ctx context.Context, host string, results []fleet.Result) error {
	return s.fleetService.Done(ctx, host, results)
}

// RunWatches is the database's.
func (s *cloudService) RunWatches(ctx context.Context, due <-chan time.Time) {
	s.db.RunWatches(ctx, due)
}

// EndWatches is the database's.
func (s *cloudService) EndWatches() { s.db.EndWatches() }

// BeginPoll begins a poll of nothing.
func (s *cloudService) BeginPoll() *watch.Poll { return s.db.Begin() }

// ReadWanted is Wanted for a poll, which depends on the list from then on.
func (s *cloudService) ReadWanted(ctx context.Context, p *watch.Poll, host string) ([]fleet.Wanted, error) {
	return watch.Read(ctx, p, func(r compute.Reader) ([]fleet.Wanted, error) { return s.WantedIn(r, host) })
}

// Recover carries out all operations that are due, one after the other, and returns how many
// remain: they wait for a host or for a peer service, or another worker has them.
func (s *cloudService) Recover(ctx context.Context) (remaining int, err error) {
	if err := s.RunDue(ctx, true); err != nil {
		return 0, err
	}
	remaining, _, err = s.Operations(ctx)
	return remaining, err
}

// Work carries out the operations that are ready, as a worker does that was woken.
func (s *cloudService) Work(ctx context.Context) error { return s.RunDue(ctx, false) }

// Change changes rows as the service does.
func (s *cloudService) Change(ctx context.Context, fn func(compute.Writer) error) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error { return fn(tx) })
}

// InstanceName is what hypervisors call a server.
func (s *cloudService) InstanceName(row compute.ServerRow) string { return s.Service.InstanceName(row) }
