package network

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/intents"
)

// UpdatePort changes a port. The function gets the current port; it may run more than once.
//
// When the policy of a server's port changes, its allocation follows; and when the port is bound
// with an allocation that is less than it needs, the difference is added (decision 18). Faults
// besides those of CreatePorts: PortBound, PortInUse for what KeepDevice refuses,
// QosPlacementAllocationUpdateConflict when there is not enough capacity,
// PlacementAllocationRemoved, PlacementAllocationRpNotExists,
// PlacementAllocationGenerationConflict, ResourceRequestChanged.
func (s *Service) UpdatePort(ctx context.Context, id ID, fn func(*PortSpec) error) (p Port, err error) {
	before := ""
	err = allocations.Retry(ctx, firstPause, func() (err error) {
		p, err = s.updateWithAllocation(ctx, id, func(spec *PortSpec) error {
			before = spec.Status // that of the run that was committed
			return fn(spec)
		})
		return err
	})
	if errors.Is(err, allocations.ErrGeneration) {
		err = intents.BeingChanged("The allocation of port %s or of others of its server is being changed by another request.", id)
	}
	if err == nil {
		s.events.status(p, before)
		s.events.port(networkChanged, p)
	}
	return p, err
}

// updateWithAllocation changes a port and its server's allocation. It fails with ErrGeneration when
// another request changes that allocation concurrently.
func (s *Service) updateWithAllocation(ctx context.Context, id ID, fn func(*PortSpec) error) (Port, error) {
	u := portUpdate{id: id, fn: fn}
	var err error
	if u.short, err = s.shortfall(ctx, id, fn); err != nil {
		return Port{}, err
	}
	err = s.changeGuarantees(ctx, &u)
	return u.port, err
}

// A portUpdate is the change of a port, which may change its guarantee.
type portUpdate struct {
	id    ID
	fn    func(*PortSpec) error
	short shortfall
	draft portDraft
	tx    *change // that the draft was read in
	port  Port    // after the commit
}

// read reads the draft, once in a transaction.
func (u *portUpdate) read(c *change) (err error) {
	if u.tx != c {
		u.tx = c
		u.draft, err = drafted(c, u.id, u.fn)
	}
	return err
}

// plan implements guaranteeChange.
func (u *portUpdate) plan(c *change) ([]allocationChange, error) {
	if err := u.read(c); err != nil {
		return nil, err
	}
	a, err := c.portChange(u.draft, u.short.missing)
	return []allocationChange{a}, err
}

// commit implements guaranteeChange.
func (u *portUpdate) commit(c *change, changes []allocationChange) error {
	if err := u.read(c); err != nil {
		return err
	}
	if err := c.revalidate(u.short, u.draft); err != nil {
		return err
	}
	var err error
	u.port, err = c.updatePort(u.draft, changes[0])
	return err
}

// A portDraft is a port and the state that is requested for it.
type portDraft struct {
	port Port
	spec PortSpec
}

// portChange returns how the allocation of a port changes: by another policy, or by what it lacks.
func (c *change) portChange(d portDraft, missing allocations.Amounts) (allocationChange, error) {
	p, spec := d.port, d.spec
	switch {
	case len(missing) > 0:
		p.DeviceID = spec.DeviceID
		return allocationChangeOf(p, guarantee.Plan{Differences: missing}), nil
	case spec.Policy == p.Policy || p.rebinds(spec):
		return allocationChange{port: p}, nil
	}
	next := p
	next.Policy = spec.Policy
	if next.EffectivePolicy() == p.EffectivePolicy() {
		return allocationChange{port: p}, nil
	}
	rules, err := Rows[RuleRow](c, Where(ByPolicy, next.EffectivePolicy()))
	if err != nil {
		return allocationChange{}, err
	}
	return c.policyChange(p, rules)
}

// drafted reads a port and makes the draft of a change.
func drafted(r Reader, id ID, fn func(*PortSpec) error) (portDraft, error) {
	all, err := ports(r, Where(ByID, id))
	if err == nil && len(all) == 0 {
		err = NotFound("port", id)
	}
	if err != nil {
		return portDraft{}, err
	}
	spec := all[0].spec()
	if err := fn(&spec); err != nil {
		return portDraft{}, err
	}
	return portDraft{all[0], spec}, firstError(spec.subnetsSeen(r), spec.Choice.allowed(r, all[0].Policy, spec.Policy), all[0].keepsDevice(spec))
}

// keepsDevice refuses to change the device of a port with an allocation for a caller without the
// right to allocations. The allocation follows the port's policy and is released with the port, for
// the consumer that the device names; the caller could name another project's server, or none. An
// inactive binding counts: its allocation is the port's once it is activated.
func (p *Port) keepsDevice(spec PortSpec) error {
	if !spec.KeepDevice || spec.DeviceID == p.DeviceID && spec.DeviceOwner == p.DeviceOwner {
		return nil
	}
	for _, b := range append([]BindingRow{p.Binding}, p.Inactive...) {
		if allocation, _ := b.allocation(); !allocation.Empty() { // what is no allocation serves nothing
			return conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
				p.ID, p.Network.ID, p.DeviceID)
		}
	}
	return nil
}

// rebinds reports whether a port must be bound again, or unbound. That its server is being moved, which compute notes in the
// profile for agents, has no part in how it is bound.
func (p *Port) rebinds(spec PortSpec) bool {
	return spec.Host != p.Binding.Host || spec.VNIC != p.Binding.VNIC ||
		!sameJSON(spec.Profile, p.Binding.Profile) && !sameJSON(withoutDestination(spec.Profile), withoutDestination(p.Binding.Profile))
}

// withoutDestination returns a profile without the host that the port is being moved to. What is no object is
// returned as it is.
func withoutDestination(profile []byte) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(orEmpty(profile), &all) != nil {
		return profile
	}
	delete(all, "migrating_to")
	text, _ := json.Marshal(all) // it was JSON
	return text
}

// binds reports whether a port must be bound: again, or because it could not be before.
func (p *Port) binds(spec PortSpec) bool {
	return spec.Host != "" && (p.rebinds(spec) || p.Binding.VIF == VIFFailed)
}

// quiet reports whether a change is of the binding only and plugs nothing in. Neutron
// answers it before it counts it.
func (p *Port) quiet(spec PortSpec) bool {
	return spec.Rebind && !p.binds(spec) && spec.AnyIPs && reflect.DeepEqual(spec.PortRow, p.PortRow) &&
		slices.Equal(spec.SecurityGroups, p.SecurityGroups)
}

func (c *change) updatePort(d portDraft, a allocationChange) (Port, error) {
	p, spec := d.port, d.spec
	row := spec.PortRow
	if row.Policy != p.Policy {
		if err := c.policyExists(row.Policy); err != nil {
			return p, err
		}
	}
	if err := firstError(c.ensureDefaultGroup(p.Project), c.secured(spec, p.PortRow), c.changeGroups(p, spec)); err != nil {
		return p, err
	}
	if err := firstError(c.moveAddresses(row, p, spec), c.dropInactive(p, spec)); err != nil {
		return p, err
	}
	var err error
	if p.rebinds(spec) {
		row.Status = PortDown
		err = c.setBinding(p.Binding, spec)
	} else {
		err = c.writeProfile(a, spec.Profile)
	}
	if err != nil {
		return p, err
	}
	if row.MAC != p.MAC && p.Binding.bound() {
		return p, conflict("PortBound", "Unable to complete operation on port %s, port is already bound, "+
			"port type: %s, old_mac %s, new_mac %s.", p.ID, p.Binding.VIF, p.MAC, cmp.Or(row.MAC, c.settings.MACBase+randomOctets()))
	}
	c.touch(&row.Common)
	if err := c.writePort(&row, c.Replace); err != nil {
		return p, err
	}
	next, err := c.rebound(d, p.binds(spec))
	if err != nil {
		return p, err
	}
	if p.quiet(spec) {
		next.Revision--
	}
	if p.Status == next.Status && p.Binding.VIF == next.Binding.VIF && p.Binding.Host == next.Binding.Host {
		return next, nil
	}
	return next, c.followParent(p, next)
}

// dropInactive removes the inactive bindings of a port that gets another device, or none: they are for
// a move of the server that had the port, and so are their allocations.
func (c *change) dropInactive(p Port, spec PortSpec) error {
	if spec.DeviceID == p.DeviceID || len(p.Inactive) == 0 {
		return nil
	}
	hosts := make([]string, len(p.Inactive))
	for i, b := range p.Inactive {
		hosts[i] = b.Host
	}
	_, err := c.Remove(&BindingRow{}, Where(ByPort, p.ID), Where(ByHost, hosts...))
	return err
}

// spec is what the port says now.
func (p *Port) spec() PortSpec {
	s := PortSpec{PortRow: p.PortRow, AnyIPs: true, SecurityGroups: p.SecurityGroups, Host: p.Binding.Host, VNIC: p.Binding.VNIC, Profile: p.Binding.Profile}
	for _, a := range p.Addresses {
		s.FixedIPs = append(s.FixedIPs, FixedIP{a.Subnet, a.IP})
	}
	return s
}

// setBinding writes the requested attributes of a binding; binding the port comes after.
func (c *change) setBinding(now BindingRow, spec PortSpec) error {
	next := now
	next.Host, next.VNIC, next.Profile = spec.Host, spec.VNIC, orEmpty(spec.Profile)
	next.VIF, next.Details, next.Driver, next.Segment = VIFUnbound, orEmpty(nil), "", ""
	if next.Host == now.Host {
		return c.Replace(&next)
	}
	// The host is part of the key, and another binding may have it already.
	_, old := c.Remove(&BindingRow{}, Where(ByPort, now.Port), Where(ByHost, now.Host, next.Host))
	return firstError(old, c.Insert(&next))
}

// sameJSON reports whether two objects are the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(orEmpty(a), &x) != nil || json.Unmarshal(orEmpty(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // they were decoded from JSON
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}

// DeletePort removes a port and its dependents, and releases its allocation (bug 1820588), of a port
// that is being moved also the one at its destination; a release that fails is retried. Faults: PortNotFound, PortInUseAsTrunkParent, PortInUseAsSubPort.
func (s *Service) DeletePort(ctx context.Context, id ID, only ...Condition) error {
	var p Port
	var releases []string
	err := s.update(ctx, func(c *change) (err error) {
		all, err := ports(c, Where(ByID, id))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return NotFound("port", id)
		}
		p = all[0]
		if err := firstError(c.notOnTrunk(id), met(only, &p.Common)); err != nil {
			return err
		}
		if releases, err = c.recordReleases(s.intents, p); err != nil {
			return err
		}
		_, addresses := c.Remove(&AddressRow{}, Where(ByPort, id))
		_, bindings := c.Remove(&BindingRow{}, Where(ByPort, id))
		_, groups := c.Remove(&PortGroupRow{}, Where(ByPort, id))
		_, port := c.Remove(&PortRow{}, Where(ByID, id))
		return firstError(addresses, bindings, groups, port)
	})
	if err != nil {
		return err
	}
	s.events.port(vifDeleted, p)
	for _, intent := range releases {
		if err := s.intents.Release(context.WithoutCancel(ctx), intent); err != nil {
			s.log.WarnContext(ctx, "the allocation of a deleted port is not released yet; the release is retried", "port", id, "server", p.DeviceID, "error", err)
		}
	}
	return nil
}
