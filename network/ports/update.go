package ports

import (
	"cmp"
	"context"
	"errors"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/intents"
	"github.com/berthcloud/berth/network/qos"
	"github.com/berthcloud/berth/network/reallocation"
	"github.com/berthcloud/berth/network/security"
)

// UpdatePort changes a port. The function gets the current port; it may run more than once.
//
// When the policy of a server's port changes, its allocation follows; and when the port is bound
// with an allocation that is less than it needs, the difference is added (decision 18). Faults
// besides those of CreatePorts: PortBound, PortInUse for what KeepDevice refuses,
// QosPlacementAllocationUpdateConflict when there is not enough capacity,
// PlacementAllocationRemoved, PlacementAllocationRpNotExists,
// PlacementAllocationGenerationConflict, ResourceRequestChanged.
func (s *Service) UpdatePort(ctx context.Context, id network.ID, fn func(*Spec) error) (network.Port, error) {
	return s.update(ctx, id, nil, fn)
}

// UpdateReadPort is UpdatePort for a port that the caller has just read.
func (s *Service) UpdateReadPort(
	ctx context.Context, read *network.Port, fn func(*Spec) error,
) (network.Port, error) {
	return s.update(ctx, read.ID, read, fn)
}

// update is UpdatePort. Read is nil or the port as it was read before.
func (s *Service) update(
	ctx context.Context, id network.ID, read *network.Port, fn func(*Spec) error,
) (p network.Port, err error) {
	before := ""
	err = s.changes.Retry(ctx, func() (err error) {
		p, err = s.updateWithAllocation(ctx, id, read, func(spec *Spec) error {
			before = spec.Status // that of the run that was committed
			return fn(spec)
		})
		read = nil // it may be why the run failed
		return err
	})
	if errors.Is(err, allocations.ErrGeneration) {
		err = intents.BeingChanged(
			"The allocation of port %s or of others of its server is being changed by another request.", id)
	}
	if err == nil {
		s.events.status(p, before)
		s.events.port(networkChanged, p)
	}
	return p, err
}

// updateWithAllocation changes a port and its server's allocation. It fails with ErrGeneration when
// another request changes that allocation concurrently, or has changed the port since it was read.
func (s *Service) updateWithAllocation(
	ctx context.Context, id network.ID, read *network.Port, fn func(*Spec) error,
) (network.Port, error) {
	u := portUpdate{id: id, fn: fn}
	var err error
	u.short, err = s.changes.Shortfall(ctx, func(r network.Reader) (reallocation.BoundPort, error) {
		var d draft
		var err error
		if read != nil { // what is missing is validated again in the transaction
			d, err = makeDraft(r, *read, fn)
		} else {
			d, err = readDraft(r, id, fn)
		}
		if err != nil {
			return reallocation.BoundPort{}, err
		}
		return d.boundPort(r)
	})
	if err != nil {
		return network.Port{}, err
	}
	err = s.changes.ChangeGuarantees(ctx, &u)
	return u.port, err
}

// A portUpdate is the change of a port, which may change its guarantee.
type portUpdate struct {
	id    network.ID
	fn    func(*Spec) error
	short reallocation.Shortfall
	draft draft
	tx    *network.Tx  // that the draft was read in
	port  network.Port // after the commit
}

// read reads the draft, once in a transaction.
func (u *portUpdate) read(tx *network.Tx) (err error) {
	if u.tx != tx {
		u.tx = tx
		u.draft, err = readDraft(tx, u.id, u.fn)
	}
	return err
}

// Plan implements Cause.
func (u *portUpdate) Plan(tx *network.Tx) ([]reallocation.Change, error) {
	if err := u.read(tx); err != nil {
		return nil, err
	}
	a, err := portChange(tx, u.draft, u.short.Missing)
	return []reallocation.Change{a}, err
}

// Commit implements Cause.
func (u *portUpdate) Commit(tx *network.Tx, changes []reallocation.Change) error {
	if err := u.read(tx); err != nil {
		return err
	}
	bound, err := u.draft.boundPort(tx)
	if err != nil {
		return err
	}
	if err := reallocation.Revalidate(tx, u.short, bound); err != nil {
		return err
	}
	u.port, err = updatePort(tx, u.draft, changes[0])
	return err
}

// A draft is a port and the state that is requested for it.
type draft struct {
	port network.Port
	spec Spec
}

// boundPort returns the port as it is to be bound; its server is "" when it is not bound by the
// change, or has none.
func (d draft) boundPort(r network.Reader) (a reallocation.BoundPort, err error) {
	a.Port = d.port
	if !binds(&d.port, d.spec) {
		return a, nil
	}
	a.Server = d.spec.DeviceID
	a.Port.Binding.Profile, a.Port.Binding.VNIC, a.Port.Policy = d.spec.Profile, d.spec.VNIC, d.spec.Policy
	if a.Port.EffectivePolicy() != d.port.EffectivePolicy() {
		a.Port.Rules, err = network.Rows[network.RuleRow](r, network.Where(network.ByPolicy, a.Port.EffectivePolicy()))
	}
	return a, err
}

// portChange returns how the allocation of a port changes: by another policy, or by what it lacks.
func portChange(tx *network.Tx, d draft, missing allocations.Amounts) (reallocation.Change, error) {
	p, spec := d.port, d.spec
	switch {
	case len(missing) > 0:
		p.DeviceID = spec.DeviceID
		return reallocation.Claiming(p, missing), nil
	case spec.Policy == p.Policy || rebinds(&p, spec):
		return reallocation.Change{Port: p}, nil
	}
	next := p
	next.Policy = spec.Policy
	if next.EffectivePolicy() == p.EffectivePolicy() {
		return reallocation.Change{Port: p}, nil
	}
	rules, err := network.Rows[network.RuleRow](tx, network.Where(network.ByPolicy, next.EffectivePolicy()))
	if err != nil {
		return reallocation.Change{}, err
	}
	return reallocation.PolicyChange(tx, p, rules)
}

// readDraft reads a port and makes the draft of a change.
func readDraft(r network.Reader, id network.ID, fn func(*Spec) error) (draft, error) {
	all, err := network.Ports(r, network.Where(network.ByID, id))
	if err == nil && len(all) == 0 {
		err = network.NotFound("port", id)
	}
	if err != nil {
		return draft{}, err
	}
	return makeDraft(r, all[0], fn)
}

// makeDraft makes the draft of a change of a port.
func makeDraft(r network.Reader, p network.Port, fn func(*Spec) error) (draft, error) {
	spec := specOf(&p)
	if err := fn(&spec); err != nil {
		return draft{}, err
	}
	return draft{p, spec}, cmp.Or(spec.checkSubnets(r), spec.Choice.Check(r, p.Policy, spec.Policy),
		checkDevice(&p, spec))
}

func updatePort(tx *network.Tx, d draft, a reallocation.Change) (network.Port, error) {
	p, spec := d.port, d.spec
	row := spec.PortRow
	if row.Policy != p.Policy {
		if err := qos.PolicyExists(tx, row.Policy); err != nil {
			return p, err
		}
	}
	if err := cmp.Or(security.EnsureDefaultGroup(tx, p.Project), checkSecured(tx, spec, p.PortRow),
		changeGroups(tx, p, spec)); err != nil {
		return p, err
	}
	if err := cmp.Or(updateAddresses(tx, row, p, spec), dropInactive(tx, p, spec)); err != nil {
		return p, err
	}
	var err error
	if rebinds(&p, spec) {
		row.Status = network.PortDown
		err = setBinding(tx, p.Binding, spec)
	} else {
		err = reallocation.WriteProfile(tx, a, spec.Profile)
	}
	if err != nil {
		return p, err
	}
	if row.MAC != p.MAC && p.Binding.Bound() {
		return p, network.Conflict("PortBound", "Unable to complete operation on port %s, port is already bound, "+
			"port type: %s, old_mac %s, new_mac %s.", p.ID, p.Binding.VIF, p.MAC, cmp.Or(row.MAC,
			tx.Settings.MACBase+randomOctets()))
	}
	tx.Touch(&row.Common)
	if err := writePort(tx, &row, tx.Replace); err != nil {
		return p, err
	}
	next, err := readAndBind(tx, d, binds(&p, spec))
	if err != nil {
		return p, err
	}
	if err := tx.MarkPort(p, next); err != nil {
		return p, err
	}
	if onlyProfile(&p, spec) {
		next.Revision--
	}
	if p.Status == next.Status && p.Binding.VIF == next.Binding.VIF && p.Binding.Host == next.Binding.Host {
		return next, nil
	}
	return next, followParent(tx, p, next)
}

// dropInactive removes the inactive bindings of a port that gets another device, or none: they are
// for a move of the server that had the port, and so are their allocations.
func dropInactive(tx *network.Tx, p network.Port, spec Spec) error {
	if spec.DeviceID == p.DeviceID || len(p.Inactive) == 0 {
		return nil
	}
	hosts := make([]string, len(p.Inactive))
	for i, b := range p.Inactive {
		hosts[i] = b.Host
	}
	_, err := tx.Remove(&network.BindingRow{}, network.Where(network.ByPort, p.ID),
		network.Where(network.ByHost, hosts...))
	return err
}

// setBinding writes the requested attributes of a binding; binding the port comes after.
func setBinding(tx *network.Tx, now network.BindingRow, spec Spec) error {
	next := now
	next.Host, next.VNIC, next.Profile = spec.Host, spec.VNIC, network.JSONObject(spec.Profile)
	next.VIF, next.Details, next.Driver, next.Segment = network.VIFUnbound, network.JSONObject(nil), "", ""
	if next.Host == now.Host {
		return tx.Replace(&next)
	}
	// The host is part of the key, and another binding may have it already.
	_, old := tx.Remove(&network.BindingRow{}, network.Where(network.ByPort, now.Port),
		network.Where(network.ByHost, now.Host, next.Host))
	return cmp.Or(old, tx.Insert(&next))
}

// DeletePort removes a port and its dependents, and releases its allocation (bug 1820588), of a
// port that is being moved also the one at its destination; a release that fails is retried.
// Faults: PortNotFound, PortInUseAsTrunkParent, PortInUseAsSubPort.
func (s *Service) DeletePort(ctx context.Context, id network.ID, only ...network.Condition) error {
	var p network.Port
	var releases []string
	recorder := s.changes.Recorder()
	err := s.db.Update(ctx, func(tx *network.Tx) (err error) {
		all, err := network.Ports(tx, network.Where(network.ByID, id))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return network.NotFound("port", id)
		}
		p = all[0]
		if err := cmp.Or(checkNotOnTrunk(tx, id), network.CheckConditions(only, &p.Common)); err != nil {
			return err
		}
		if releases, err = reallocation.RecordReleases(tx, recorder, p); err != nil {
			return err
		}
		_, addresses := tx.Remove(&network.AddressRow{}, network.Where(network.ByPort, id))
		_, bindings := tx.Remove(&network.BindingRow{}, network.Where(network.ByPort, id))
		_, groups := tx.Remove(&network.PortGroupRow{}, network.Where(network.ByPort, id))
		_, port := tx.Remove(&network.PortRow{}, network.Where(network.ByID, id))
		return cmp.Or(addresses, bindings, groups, port, tx.MarkPort(p, network.Port{}))
	})
	if err != nil {
		return err
	}
	s.events.port(vifDeleted, p)
	s.changes.Release(ctx, p, releases, "the allocation of a deleted port is not released yet; the release is retried")
	return nil
}
