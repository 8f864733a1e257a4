package network

import (
	"errors"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// guaranteedTo returns the guarantees of the bound ports of a server, with one of them in its new
// state.
func (rs *rules) guaranteedTo(r Reader, server string, p Port) (allocations.Amounts, error) {
	others, err := ports(r, Where(ByDevice, server))
	if err != nil {
		return nil, err
	}
	sum := allocations.Amounts{}
	for _, o := range others {
		if o.ID == p.ID {
			continue
		}
		amounts, err := rs.promised(&o)
		if errors.As(err, new(*RequestChanged)) {
			continue // its request is unknown
		}
		if err != nil {
			return nil, err
		}
		sum = sum.Plus(amounts)
	}
	own, err := rs.promised(&p)
	return sum.Plus(own), err
}

// promised returns the guarantees of a port by the provider that serves it: none without an
// allocation, and RequestChanged when the allocation is not for its request groups.
func (rs *rules) promised(p *Port) (allocations.Amounts, error) {
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

// intendReleases stores intents to release the allocations of a port, if it is a server's and may have
// some: at the providers of its binding, and at those of a binding that it is being moved to. While a
// server moves it has allocations at one of the two, and the consumer of its migration has those at the
// other; what a server does not have is not released (noAllocations).
func (c *change) intendReleases(p Port) (intents []IntentRow, err error) {
	if !c.inPlacement || c.settings.KeepDeleted || !ofCompute(p.DeviceOwner) || p.DeviceID == "" {
		return nil, nil
	}
	for _, b := range append([]BindingRow{p.Binding}, p.destinations()...) {
		p.Binding = b
		amounts, err := c.promised(&p)
		if errors.As(err, new(*RequestChanged)) || err == nil && len(amounts) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		intent, err := c.newIntent(intentRelease, p.ID, adjustment{Consumer: p.DeviceID, Differences: amounts.Negated()})
		if err != nil {
			return nil, err
		}
		intents = append(intents, intent)
	}
	return intents, nil
}

// destinations returns the inactive bindings with an allocation that can be activated. One that was
// active is none of them.
func (p *Port) destinations() []BindingRow {
	return slices.DeleteFunc(slices.Clone(p.Inactive), func(b BindingRow) bool {
		allocation, _ := b.allocation() // what is no allocation serves nothing
		return !b.bound() || allocation.Empty()
	})
}

// noAllocations reports whether there is nothing to release: the server has no allocations.
func noAllocations(err error) bool {
	return errors.Is(err, allocations.ErrNotAllocated) || errors.As(err, new(*allocations.ProviderMissing))
}
