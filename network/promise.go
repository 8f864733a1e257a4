package network

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/network/guarantee"
)

// missing returns what a server holds too little of, for its ports to have what
// they promise once one of them is changed: nothing, unless that binds the port
// with an allocation. What it holds too much of may be for ports that are not
// bound yet, and is left. So is a provider that it holds nothing on: the claim is
// compute's to make, and Neutron does not look for it.
//
// It is a fault when the allocation is for other groups than those that the port
// asks for: its policy is not the one any more that the server was scheduled with.
func (s *Service) missing(ctx context.Context, id ID, fn func(*PortSpec) error) (guarantee.Amounts, error) {
	if s.placement == nil {
		return nil, nil
	}
	var want guarantee.Amounts
	var server string
	err := s.store.View(ctx, func(r Reader) error {
		p, spec, err := drafted(r, id, fn)
		if err != nil || !p.rebinds(spec) || spec.Host == "" || spec.DeviceID == "" {
			return err
		}
		p.Binding.Profile, p.Binding.VNIC = spec.Profile, spec.VNIC
		if own, err := s.promised(&p); err != nil || len(own) == 0 {
			return err
		}
		server = spec.DeviceID
		want, err = s.promisedTo(r, server, p)
		return err
	})
	if err != nil || len(want) == 0 {
		return nil, err
	}
	held, err := s.placement.Allocations(ctx, server)
	if err != nil {
		return nil, err
	}
	return less(held.Providers, want), nil
}

// promisedTo is what the bound ports of a server promise, one of them as it is
// going to be.
func (s *Service) promisedTo(r Reader, server string, p Port) (guarantee.Amounts, error) {
	others, err := ports(r, Where(ByDevice, server))
	if err != nil {
		return nil, err
	}
	sum := guarantee.Amounts{}
	for _, o := range others {
		if o.ID == p.ID {
			continue
		}
		amounts, err := s.promised(&o)
		if errors.As(err, new(*RequestChanged)) {
			continue // nothing is known of what it was to have
		}
		if err != nil {
			return nil, err
		}
		addTo(sum, amounts)
	}
	own, err := s.promised(&p)
	addTo(sum, own)
	return sum, err
}

func addTo(sum, more guarantee.Amounts) {
	for provider, classes := range more {
		if sum[provider] == nil {
			sum[provider] = map[string]int64{}
		}
		for class, n := range classes {
			sum[provider][class] += n
		}
	}
}

// promised is what a port promises, by the provider that serves it; nothing
// without an allocation, and RequestChanged when that is not for what it asks.
func (s *Service) promised(p *Port) (guarantee.Amounts, error) {
	allocation, err := p.allocation()
	if err != nil || allocation.Empty() {
		return nil, err
	}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil {
		return nil, err
	}
	amounts, rules := guarantee.Amounts{}, rulesFor(p.Rules)
	served := 0
	for _, g := range s.Request(p).Groups {
		provider, ok := allocation.ProviderOf(id, g.Type, rules)
		if !ok {
			return nil, &RequestChanged{Port: p.ID}
		}
		served++
		addTo(amounts, guarantee.Amounts{provider.String(): g.Resources})
	}
	if served < len(allocation.Groups) {
		return nil, &RequestChanged{Port: p.ID}
	}
	return amounts, nil
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

// intendRelease writes down that what a port holds is to be freed, if it is a
// server's and is known to hold something.
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
	return c.newIntent(intentRelease, p.ID, adjustment{Consumer: p.DeviceID, Differences: inverse(amounts)})
}

// gone reports whether there is nothing to free: the server holds nothing any more.
func gone(err error) bool {
	return errors.Is(err, guarantee.ErrNotAllocated) || errors.As(err, new(*guarantee.ProviderMissing))
}
