package network

import (
	"context"
	"time"

	"github.com/berthcloud/berth/watch"
)

// HostPorts returns the ports that are bound to a host: those whose active binding is
// there and did not fail.
func (s *Service) HostPorts(ctx context.Context, host string) (all []Port, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = hostPorts(r, host)
		return err
	})
	return all, err
}

func hostPorts(r Reader, host string) ([]Port, error) {
	rows, err := Rows[BindingRow](r, Where(ByHost, host))
	if err != nil {
		return nil, err
	}
	bound := make([]ID, 0, len(rows))
	for _, b := range rows {
		if b.Active && b.bound() {
			bound = append(bound, b.Port)
		}
	}
	if len(bound) == 0 {
		return nil, nil
	}
	return ports(r, Where(ByID, bound...))
}

// bound reports whether the port is plugged in somewhere.
func (b *BindingRow) bound() bool { return b.VIF != VIFUnbound && b.VIF != VIFFailed && b.VIF != "" }

// watched are the rows that the ports of a host are made of, as far as agents see them, by their keys: hosts, ports,
// networks, segments, policies and rules.
var watched = watch.Rules{
	watch.Row(watch.By(ByID, func(r *PortRow) ID { return r.ID })),
	watch.Row(
		watch.By(ByPort, func(r *BindingRow) ID { return r.Port }),
		watch.By(ByHost, func(r *BindingRow) string { return r.Host }),
	),
	watch.Row(
		watch.By(ByID, func(r *RuleRow) ID { return r.ID }),
		watch.By(ByPolicy, func(r *RuleRow) ID { return r.Policy }),
	),
	watch.Row(watch.By(ByID, func(r *NetworkRow) ID { return r.ID })),
	watch.Row(
		watch.By(ByID, func(r *SegmentRow) ID { return r.ID }),
		watch.By(ByNetwork, func(r *SegmentRow) ID { return r.Network }),
	),
}

// AwaitHostPorts returns what HostPorts does as soon as that differs from what the caller has, and
// in any case after wait or when the service stops. It looks again after changes of ports of the host, their
// bindings, networks and rules. Changes by other instances are seen within watch.Interval.
func (s *Service) AwaitHostPorts(ctx context.Context, host string, wait time.Duration, changed func([]Port) bool) ([]Port, error) {
	return watch.Await(ctx, s.store, wait, func(r Reader) ([]Port, error) { return hostPorts(r, host) }, changed)
}

// RunWatches wakes callers that wait for a host's ports when other instances change them, until ctx
// ends. It looks whenever due has a value, which should be every watch.Interval.
func (s *Service) RunWatches(ctx context.Context, due <-chan time.Time) {
	s.store.RunFollow(ctx, due, nil, s.log)
}

// EndWatches answers all callers that wait for a host's ports, now and later, so that a service
// that stops does not wait for them. It may be called more than once.
func (s *Service) EndWatches() { s.store.End() }
