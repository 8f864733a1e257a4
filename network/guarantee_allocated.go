package network

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/intents"
)

// guaranteed returns the guarantees of a port by the provider that serves it: none without an
// allocation, and RequestChanged when the allocation is not for its request groups.
func (rs *rules) guaranteed(p *Port) (allocations.Amounts, error) {
	allocation, _ := p.allocation() // what is no allocation serves nothing
	if allocation.Empty() {
		return nil, nil
	}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil {
		return nil, err
	}
	amounts, rules := allocations.Amounts{}, rulesFor(p.Rules)
	served := 0
	for _, g := range rs.Request(p).Groups {
		provider, ok := allocation.ProviderOf(id, g.Type, rules)
		if !ok {
			return nil, &RequestChanged{Port: p.ID}
		}
		served++
		amounts = amounts.Plus(allocations.Amounts{provider.String(): g.Resources})
	}
	if served < len(allocation.Groups) {
		return nil, &RequestChanged{Port: p.ID}
	}
	return amounts, nil
}

// A shortfall is what a server's allocations lack for the guarantees of its ports once one of them
// is changed. The zero value is that of a port that is not bound with an allocation; nothing is
// checked for it.
type shortfall struct {
	server  string
	want    allocations.Amounts // the guarantees of the ports
	missing allocations.Amounts
}

// shortfall returns what is missing when a change binds a port with an allocation. An excess stays:
// it may be for ports that are not bound yet. So does a provider without an allocation of the
// server: the claim is compute's to make, and Neutron does not check it.
//
// It is a fault when the allocation is for other request groups than the port's: its policy has
// changed since the server was scheduled. It is ErrGeneration while another request changes the
// server's allocations.
func (s *Service) shortfall(ctx context.Context, id ID, fn func(*PortSpec) error) (f shortfall, err error) {
	if !s.inPlacement {
		return f, nil
	}
	var pending []intents.Row
	err = s.store.View(ctx, func(r Reader) error {
		d, err := drafted(r, id, fn)
		if err != nil {
			return err
		}
		if f, err = s.wanted(r, d); err == nil && len(f.want) > 0 {
			pending, err = intents.Pending(r, string(id), f.server)
		}
		return err
	})
	if err == nil {
		err = s.intents.Await(ctx, pending)
	}
	if err != nil || len(f.want) == 0 {
		return f, err
	}
	allocated, err := s.placement.Allocations(ctx, f.server)
	if err != nil {
		return f, err
	}
	f.missing = allocated.Amounts.Lacking(f.want)
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
	own, err := rs.guaranteed(&p)
	if err != nil || len(own) == 0 {
		return f, err
	}
	others, err := ports(r, Where(ByDevice, spec.DeviceID))
	if err != nil {
		return f, err
	}
	f.server, f.want = spec.DeviceID, own
	for _, o := range others {
		if o.ID == p.ID {
			continue
		}
		amounts, err := rs.guaranteed(&o)
		if errors.As(err, new(*RequestChanged)) {
			continue // its request is unknown
		}
		if err != nil {
			return f, err
		}
		f.want = f.want.Plus(amounts)
	}
	return f, nil
}

// revalidate fails with ErrGeneration when a shortfall was computed for another state than the one to
// be written.
func (c *change) revalidate(f shortfall, d portDraft) error {
	if !c.inPlacement {
		return nil
	}
	current, err := c.wanted(c, d)
	if err != nil || len(current.want) == 0 && len(f.want) == 0 {
		return err
	}
	pending, err := intents.Pending(c, string(d.port.ID), current.server)
	if err == nil && (len(pending) > 0 || current.server != f.server || !reflect.DeepEqual(current.want, f.want)) {
		err = allocations.ErrGeneration
	}
	return err
}

// recordReleases records that the allocations of a port are to be released, if it is a server's and
// may have some: at the providers of its binding, and at those of a binding that it is being moved to.
// While a server moves it has allocations at one of the two, and the consumer of its migration has
// those at the other; what a server does not have is not released. It returns the intents.
func (c *change) recordReleases(to *intents.Intents, p Port) (recorded []string, err error) {
	if !c.inPlacement || c.settings.KeepDeleted || !ofCompute(p.DeviceOwner) || p.DeviceID == "" {
		return nil, nil
	}
	for _, b := range append([]BindingRow{p.Binding}, p.destinations()...) {
		p.Binding = b
		amounts, err := c.guaranteed(&p)
		if errors.As(err, new(*RequestChanged)) || err == nil && len(amounts) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		intent, err := to.RecordRelease(c, c.at, string(p.ID), p.DeviceID, amounts)
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, intent)
	}
	return recorded, nil
}

// destinations returns the inactive bindings with an allocation that can be activated. One that was
// active is none of them.
func (p *Port) destinations() []BindingRow {
	return slices.DeleteFunc(slices.Clone(p.Inactive), func(b BindingRow) bool {
		allocation, _ := b.allocation() // what is no allocation serves nothing
		return !b.bound() || allocation.Empty()
	})
}
