package network

import (
	"errors"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// guaranteedTo returns the guarantees of the bound ports of a server, with one of them in its new
// state.
func (s *Service) guaranteedTo(r Reader, server string, p Port) (allocations.Amounts, error) {
	others, err := ports(r, Where(ByDevice, server))
	if err != nil {
		return nil, err
	}
	sum := allocations.Amounts{}
	for _, o := range others {
		if o.ID == p.ID {
			continue
		}
		amounts, err := s.promised(&o)
		if errors.As(err, new(*RequestChanged)) {
			continue // its request is unknown
		}
		if err != nil {
			return nil, err
		}
		sum = sum.Plus(amounts)
	}
	own, err := s.promised(&p)
	return sum.Plus(own), err
}

// promised returns the guarantees of a port by the provider that serves it: none without an
// allocation, and RequestChanged when the allocation is not for its request groups.
func (s *Service) promised(p *Port) (allocations.Amounts, error) {
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
	for _, g := range s.Request(p).Groups {
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

// intendRelease stores an intent to release the allocation of a port, if it is a server's and may
// have one.
func (c *change) intendRelease(p Port) (IntentRow, error) {
	if c.placement == nil || c.settings.KeepDeleted || !ofCompute(p.DeviceOwner) || p.DeviceID == "" {
		return IntentRow{}, nil
	}
	amounts, err := c.promised(&p)
	if errors.As(err, new(*RequestChanged)) || err == nil && len(amounts) == 0 {
		return IntentRow{}, nil
	}
	if err != nil {
		return IntentRow{}, err
	}
	return c.newIntent(intentRelease, p.ID, adjustment{Consumer: p.DeviceID, Differences: amounts.Negated()})
}

// noAllocations reports whether there is nothing to release: the server has no allocations.
func noAllocations(err error) bool {
	return errors.Is(err, allocations.ErrNotAllocated) || errors.As(err, new(*allocations.ProviderMissing))
}
