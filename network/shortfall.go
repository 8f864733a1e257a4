package network

import (
	"context"
	"errors"
	"reflect"

	"github.com/berthcloud/berth/network/guarantee"
)

// A shortfall is what a server holds too little of, for its ports to have what they
// promise once one of them is changed. The zero value is that of a port that is not bound
// with an allocation, about which nothing is asked.
type shortfall struct {
	server  string
	want    guarantee.Amounts // what the ports promise
	missing guarantee.Amounts
}

// shortfall returns what is missing when a change binds a port with an allocation.
// What a server holds too much of may be for ports that are not bound yet, and is left. So
// is a provider that it holds nothing on: the claim is compute's to make, and Neutron does
// not look for it.
//
// It is a fault when the allocation is for other groups than those that the port
// asks for: its policy is not the one any more that the server was scheduled with. It is
// ErrGeneration while somebody else is changing what the server holds.
func (s *Service) shortfall(ctx context.Context, id ID, fn func(*PortSpec) error) (f shortfall, err error) {
	if s.placement == nil {
		return f, nil
	}
	var others []IntentRow
	err = s.store.View(ctx, func(r Reader) error {
		if f, err = s.wanted(r, id, fn); err == nil && len(f.want) > 0 {
			others, err = disturbing(r, id, f.server)
		}
		return err
	})
	if err == nil && len(others) > 0 {
		err = s.await(ctx, others)
	}
	if err != nil || len(f.want) == 0 {
		return f, err
	}
	held, err := s.placement.Allocations(ctx, f.server)
	if err != nil {
		return f, err
	}
	f.missing = less(held.Providers, f.want)
	return f, nil
}

// wanted is a shortfall before it is known what the server holds.
func (s *Service) wanted(r Reader, id ID, fn func(*PortSpec) error) (f shortfall, err error) {
	p, spec, err := drafted(r, id, fn)
	if err != nil || !p.binds(spec) || spec.DeviceID == "" {
		return f, err
	}
	p.Binding.Profile, p.Binding.VNIC, p.Policy = spec.Profile, spec.VNIC, spec.Policy
	if p.Rules, err = Rows[RuleRow](r, Where(ByPolicy, p.EffectivePolicy())); err != nil {
		return f, err
	}
	if own, err := s.promised(&p); err != nil || len(own) == 0 {
		return f, err
	}
	f.server = spec.DeviceID
	f.want, err = s.promisedTo(r, f.server, p)
	return f, err
}

// disturbing are the changes for other ports of a server than one that are under way: what
// it holds is then not for its ports as they are. What nobody can tell of is in nobody's
// way.
func disturbing(r Reader, port ID, server string) (others []IntentRow, err error) {
	rows, err := Rows[IntentRow](r)
	for _, row := range rows {
		a, unreadable := row.adjustment() // Recover says so
		lost := a.Attempt != nil && a.Attempt.Lost
		if unreadable == nil && !lost && row.About != port && a.Consumer == server {
			others = append(others, row)
		}
	}
	return others, err
}

// await fails with ErrGeneration, so that it is looked again, after it has completed what
// can only be completed: who was to do it may be gone.
func (s *Service) await(ctx context.Context, others []IntentRow) error {
	for _, row := range others {
		if row.Kind != intentRelease {
			continue
		}
		if err := s.release(ctx, row.ID); err != nil && !errors.Is(err, ErrGeneration) && !errors.Is(err, errUnsettled) {
			return err
		}
	}
	return ErrGeneration
}

// stands fails with ErrGeneration when a shortfall was about something else than what is
// to be made now.
func (c *change) stands(f shortfall, id ID, fn func(*PortSpec) error) error {
	if c.placement == nil {
		return nil
	}
	now, err := c.wanted(c, id, fn)
	if err != nil || len(now.want) == 0 && len(f.want) == 0 {
		return err
	}
	others, err := disturbing(c, id, now.server)
	if err == nil && (len(others) > 0 || now.server != f.server || !reflect.DeepEqual(now.want, f.want)) {
		err = ErrGeneration
	}
	return err
}

// less returns what is missing of some amounts. Providers on which nothing is held are
// passed over.
func less(held map[string]map[string]int64, want guarantee.Amounts) guarantee.Amounts {
	missing := guarantee.Amounts{}
	for provider, classes := range want {
		if held[provider] == nil {
			continue
		}
		for class, n := range classes {
			if d := n - held[provider][class]; d > 0 {
				addTo(missing, guarantee.Amounts{provider: {class: d}})
			}
		}
	}
	return missing
}
