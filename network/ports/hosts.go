package ports

import (
	"context"
	"time"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/watch"
)

// HostPorts returns the ports that are bound to a host: those whose active binding is
// there and did not fail.
func (s *Service) HostPorts(ctx context.Context, host string) (all []network.Port, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = OnHost(r, host)
		return err
	})
	return all, err
}

// OnHost reads the ports that are bound to a host, as HostPorts does.
func OnHost(r network.Reader, host string) ([]network.Port, error) {
	rows, err := network.Rows[network.BindingRow](r, network.Where(network.ByHost, host))
	if err != nil {
		return nil, err
	}
	bound := make([]network.ID, 0, len(rows))
	for _, b := range rows {
		if b.Active && b.Bound() {
			bound = append(bound, b.Port)
		}
	}
	if len(bound) == 0 {
		return nil, nil
	}
	return network.Ports(r, network.Where(network.ByID, bound...))
}

// AwaitHostPorts returns what HostPorts does as soon as that differs from what the caller has, and
// in any case after wait or when the service stops. It reads again after changes of ports of the
// host, their bindings, networks and rules. Changes by other instances are seen within
// watch.Interval.
func (s *Service) AwaitHostPorts(
	ctx context.Context, host string, wait time.Duration, changed func([]network.Port) bool,
) ([]network.Port, error) {
	return watch.Await(ctx, s.db.Store, wait, func(r network.Reader) ([]network.Port, error) { return OnHost(r, host) },
		changed)
}

// RunWatches wakes callers that wait for a host's ports when other instances change them, until ctx
// ends. It reads the change log whenever due has a value, which should be every watch.Interval.
func (s *Service) RunWatches(ctx context.Context, due <-chan time.Time) {
	s.db.RunFollow(ctx, due, nil, s.db.Rules.Log)
}

// EndWatches answers all callers that wait for a host's ports, now and later, so that a service
// that stops does not wait for them. It may be called more than once.
func (s *Service) EndWatches() { s.db.End() }
