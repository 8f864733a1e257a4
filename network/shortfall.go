package network

import (
	"context"
	"errors"
	"reflect"

	"github.com/berthcloud/berth/allocations"
)

// A shortfall is what a server's allocations lack for the guarantees of its ports once one of them
// is changed. The zero value is that of a port that is not bound with an allocation; nothing is
// checked for it.
type shortfall struct {
	server  string
	want    allocations.Amounts // the guarantees of the ports
	missing allocations.Amounts
}

// shortfall returns what is missing when a change binds a port with an allocation. An excess is
// left: it may be for ports that are not bound yet. So is a provider without an allocation of the
// server: the claim is compute's to make, and Neutron does not check it.
//
// It is a fault when the allocation is for other request groups than the port's: its policy has
// changed since the server was scheduled. It is ErrGeneration while another request changes the
// server's allocations.
func (s *Service) shortfall(ctx context.Context, id ID, fn func(*PortSpec) error) (f shortfall, err error) {
	if s.placement == nil {
		return f, nil
	}
	var others []IntentRow
	err = s.store.View(ctx, func(r Reader) error {
		d, err := drafted(r, id, fn)
		if err != nil {
			return err
		}
		if f, err = s.wanted(r, d); err == nil && len(f.want) > 0 {
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
	f.missing = held.Amounts.Lacking(f.want)
	return f, nil
}

// wanted returns a shortfall without what the server's allocations have.
func (rs *rules) wanted(r Reader, d portDraft) (f shortfall, err error) {
	p, spec := d.port, d.spec
	if !p.binds(spec) || spec.DeviceID == "" {
		return f, err
	}
	p.Binding.Profile, p.Binding.VNIC, p.Policy = spec.Profile, spec.VNIC, spec.Policy
	if p.Rules, err = Rows[RuleRow](r, Where(ByPolicy, p.EffectivePolicy())); err != nil {
		return f, err
	}
	if own, err := rs.promised(&p); err != nil || len(own) == 0 {
		return f, err
	}
	f.server = spec.DeviceID
	f.want, err = rs.guaranteedTo(r, f.server, p)
	return f, err
}

// disturbing returns the unfinished intents for other ports of a server: while there are any, the
// server's allocations do not match its ports. A lost attempt disturbs nothing.
func disturbing(r Reader, port ID, server string) (others []IntentRow, err error) {
	rows, err := Rows[IntentRow](r)
	for _, row := range rows {
		a, unreadable := row.adjustment() // Recover logs it
		lost := a.Attempt != nil && a.Attempt.Lost
		if unreadable == nil && !lost && row.About != port && a.Consumer == server {
			others = append(others, row)
		}
	}
	return others, err
}

// await fails with ErrGeneration, so that the caller retries, after it has completed the intents
// that can only be completed: their makers may have ended.
func (s *Service) await(ctx context.Context, others []IntentRow) error {
	for _, row := range others {
		if row.Kind != intentRelease {
			continue
		}
		if err := s.release(ctx, row.ID); err != nil && !errors.Is(err, allocations.ErrGeneration) && !errors.Is(err, allocations.ErrUnsettled) {
			return err
		}
	}
	return allocations.ErrGeneration
}

// stands fails with ErrGeneration when a shortfall was computed for another state than the one to
// be written.
func (c *change) stands(f shortfall, d portDraft) error {
	if !c.inPlacement {
		return nil
	}
	now, err := c.wanted(c, d)
	if err != nil || len(now.want) == 0 && len(f.want) == 0 {
		return err
	}
	others, err := disturbing(c, d.port.ID, now.server)
	if err == nil && (len(others) > 0 || now.server != f.server || !reflect.DeepEqual(now.want, f.want)) {
		err = allocations.ErrGeneration
	}
	return err
}
