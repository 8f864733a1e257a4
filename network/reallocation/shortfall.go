package reallocation

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/intents"
)

// Guaranteed returns the guarantees of a port by the provider that serves it: none without an
// allocation, and RequestChanged when the allocation is not for its request groups.
func Guaranteed(rules network.Rules, p *network.Port) (allocations.Amounts, error) {
	allocation, _ := p.Allocation() // what is no allocation serves nothing
	if allocation.Empty() {
		return nil, nil
	}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil {
		return nil, err
	}
	amounts, own := allocations.Amounts{}, network.GuaranteeRules(p.Rules)
	served := 0
	for _, g := range rules.Request(p).Groups {
		provider, ok := allocation.ProviderOf(id, g.Type, own)
		if !ok {
			return nil, &network.RequestChanged{Port: p.ID}
		}
		served++
		amounts = amounts.Plus(allocations.Amounts{provider.String(): g.Resources})
	}
	if served < len(allocation.Groups) {
		return nil, &network.RequestChanged{Port: p.ID}
	}
	return amounts, nil
}

// A BoundPort is a port as a change binds it to a server; without a Server it does not.
type BoundPort struct {
	Port   network.Port // with the policy, its rules, the VNIC type and the profile that it gets
	Server string
}

// A Shortfall is what a server's allocations lack for the guarantees of its ports once one of them
// is changed. The zero value is that of a port that is not bound with an allocation; nothing is
// checked for it.
type Shortfall struct {
	server  string
	want    allocations.Amounts // the guarantees of the ports
	Missing allocations.Amounts
}

// Shortfall returns what is missing when a change binds a port with an allocation. An excess stays:
// it may be for ports that are not bound yet. So does a provider without an allocation of the
// server: the claim is compute's to make, and Neutron does not check it.
//
// It is a fault when the allocation is for other request groups than the port's: its policy has
// changed since the server was scheduled. It is ErrGeneration while another request changes the
// server's allocations.
func (s *Service) Shortfall(
	ctx context.Context, read func(network.Reader) (BoundPort, error),
) (f Shortfall, err error) {
	if !s.db.Rules.InPlacement {
		return f, nil
	}
	var pending []intents.Row
	err = s.db.View(ctx, func(r network.Reader) error {
		a, err := read(r)
		if err != nil {
			return err
		}
		if f, err = wanted(s.db.Rules, r, a); err == nil && len(f.want) > 0 {
			pending, err = intents.Pending(r, string(a.Port.ID), f.server)
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
	f.Missing = allocated.Amounts.Lacking(f.want)
	return f, nil
}

// wanted returns a shortfall without what the server's allocations have.
func wanted(rules network.Rules, r network.Reader, a BoundPort) (f Shortfall, err error) {
	if a.Server == "" {
		return f, err
	}
	p := a.Port
	own, err := Guaranteed(rules, &p)
	if err != nil || len(own) == 0 {
		return f, err
	}
	rows, err := network.Rows[network.PortRow](r, network.Where(network.ByDevice, a.Server))
	if err != nil {
		return f, err
	}
	others, err := network.GuaranteedPorts(r,
		slices.DeleteFunc(rows, func(row network.PortRow) bool { return row.ID == p.ID }))
	if err != nil {
		return f, err
	}
	f.server, f.want = a.Server, own
	for _, o := range others {
		amounts, err := Guaranteed(rules, &o)
		if errors.As(err, new(*network.RequestChanged)) {
			continue // its request is unknown
		}
		if err != nil {
			return f, err
		}
		f.want = f.want.Plus(amounts)
	}
	return f, nil
}

// Revalidate fails with ErrGeneration when a shortfall was computed for another state than the one
// to be written.
func Revalidate(tx *network.Tx, f Shortfall, a BoundPort) error {
	if !tx.InPlacement {
		return nil
	}
	current, err := wanted(tx.Rules, tx, a)
	if err != nil || len(current.want) == 0 && len(f.want) == 0 {
		return err
	}
	pending, err := intents.Pending(tx, string(a.Port.ID), current.server)
	if err == nil && (len(pending) > 0 || current.server != f.server || !reflect.DeepEqual(current.want, f.want)) {
		err = allocations.ErrGeneration
	}
	return err
}

// RecordReleases records that the allocations of a port are to be released, if it is a server's and
// may have some: at the providers of its binding, and at those of a binding that it is being moved
// to. While a server moves it has allocations at one of the two, and the consumer of its migration
// has those at the other; what a server does not have is not released. It returns the intents.
func RecordReleases(tx *network.Tx, to intents.Recorder, p network.Port) (recorded []string, err error) {
	if !tx.InPlacement || tx.Settings.KeepDeleted || !network.OwnedByServer(p.DeviceOwner) || p.DeviceID == "" {
		return nil, nil
	}
	for _, b := range append([]network.BindingRow{p.Binding}, destinations(&p)...) {
		p.Binding = b
		amounts, err := Guaranteed(tx.Rules, &p)
		if errors.As(err, new(*network.RequestChanged)) || err == nil && len(amounts) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		intent, err := to.RecordRelease(tx, tx.At, string(p.ID), p.DeviceID, amounts)
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, intent)
	}
	return recorded, nil
}

// destinations returns the inactive bindings with an allocation that can be activated. One that was
// active is none of them.
func destinations(p *network.Port) []network.BindingRow {
	return slices.DeleteFunc(slices.Clone(p.Inactive), func(b network.BindingRow) bool {
		allocation, _ := b.Allocation() // what is no allocation serves nothing
		return !b.Bound() || allocation.Empty()
	})
}
