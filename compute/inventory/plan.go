package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// A Tree is what placement has of a host; no providers when it has none yet.
type Tree struct {
	Providers []Provider
	// SharedDisk says that a provider outside of the tree shares its DISK_GB with
	// the host.
	SharedDisk bool
}

// A Provider is one of a Tree, as it is or as it should be.
type Provider struct {
	ID          placement.UUID
	Name        string
	Parent      placement.UUID // "" for the root
	Generation  int64          // 0 for one to create
	Inventories map[string]placement.Inventory
	Traits      []string // sorted
	// Used is the allocations of each class, nil when it was not read. A Plan needs it of the
	// providers that it removes, or removes a class of: see Plan.Unread.
	Used map[string]int64
}

// A Plan is the changes of a tree, in this order.
type Plan struct {
	// Make are providers to create, parents first.
	Make []Provider
	// Remove are providers of removed devices without allocations.
	Remove []Provider
	// Inventories and Traits are those of providers that differ in placement. Providers whose
	// device was removed come first, so that nothing new is allocated on them before other devices
	// offer the rest of their units; the root comes last.
	Inventories, Traits []Provider
	// Warnings are for the operator.
	Warnings []string
}

// Nothing reports whether the tree is as it should be.
func (p *Plan) Nothing() bool {
	return len(p.Make)+len(p.Remove)+len(p.Inventories)+len(p.Traits) == 0
}

// Unread returns the providers of a tree whose Used has to be read before the plan is carried out.
func (p *Plan) Unread(is Tree) (all []placement.UUID) {
	for _, gone := range p.Remove {
		if gone.Used == nil {
			all = append(all, gone.ID)
		}
	}
	for _, to := range p.Inventories {
		now, _ := is.find(to.ID)
		if now.Used == nil && len(leaving(now, to)) > 0 {
			all = append(all, to.ID)
		}
	}
	return all
}

// leaving are the classes that a provider has and is not to have, sorted.
func leaving(now, to Provider) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now.Inventories)), func(class string) bool {
		_, stays := to.Inventories[class]
		return stays
	})
}

// Plan computes the changes that a tree needs. Allocated resources stay, reserved, until they are
// released: the provider of a removed device, and a class that a provider does not have any more.
// An error is a mistake of the operator's: an Additional, or a host that has changed its name. Then
// nothing must be changed.
func (h *Host) Plan(is Tree) (Plan, error) {
	var p Plan
	root, there := is.find(placement.UUID(h.ID.String()))
	if there && root.Parent != "" {
		return p, fmt.Errorf("the provider %s of the host is a part of another one in placement: use another UUID", root.Name)
	}
	if there && root.Name != h.Name {
		return p, fmt.Errorf("the name of the host is %s, and its provider in placement is %s: restore the name, "+
			"or use another UUID once the old provider has no allocations", h.Name, root.Name)
	}
	want := h.wanted(is)
	own := map[placement.UUID]bool{}
	for _, to := range want {
		own[to.ID] = true
	}
	var gone []Provider
	for _, now := range is.Providers {
		switch {
		case own[now.ID]:
		case h.madeFor(now):
			gone = append(gone, now)
		default:
			want = append(want, clone(now))
		}
	}
	if err := h.add(want, own, &p); err != nil {
		return Plan{}, err
	}
	h.subtract(want, gone, is, &p)
	for i := range want {
		if now, there := is.find(want[i].ID); there && own[now.ID] {
			want[i].keepUsed(now, &p)
		}
	}
	want = slices.DeleteFunc(want, func(to Provider) bool {
		empty := own[to.ID] && to.Parent != "" && len(to.Inventories) == 0
		if now, there := is.find(to.ID); empty && there {
			gone = append(gone, now)
		}
		return empty
	})
	for _, now := range gone {
		switch {
		case len(now.used()) > 0:
			p.warn("the device of %s was removed and has allocations: the provider stays, with everything reserved, until they end", now.Name)
		case slices.ContainsFunc(is.Providers, func(p Provider) bool { return p.Parent == now.ID }):
			p.warn("the device of %s was removed and has providers below it: the provider stays, with everything reserved, until they are removed", now.Name)
		default:
			p.Remove = append(p.Remove, now)
			continue
		}
		want = append(want, now.reserved())
	}
	p.compare(is, want)
	return p, nil
}

// compare brings into the plan what makes providers what they should be.
func (p *Plan) compare(is Tree, want []Provider) {
	for _, to := range want {
		if _, there := is.find(to.ID); !there {
			p.Make = append(p.Make, to)
		}
	}
	for _, to := range slices.Backward(want) {
		now, _ := is.find(to.ID)
		to.Generation = now.Generation
		if !maps.Equal(now.Inventories, to.Inventories) {
			p.Inventories = append(p.Inventories, to)
		}
		if !slices.Equal(sorted(now.Traits), to.Traits) {
			p.Traits = append(p.Traits, to)
		}
	}
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

func (t Tree) find(id placement.UUID) (Provider, bool) {
	i := slices.IndexFunc(t.Providers, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return Provider{}, false
	}
	return t.Providers[i], true
}

func clone(p Provider) Provider {
	p.Inventories, p.Traits = maps.Clone(p.Inventories), sorted(p.Traits)
	return p
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// wanted are the host's own providers, the root first.
func (h *Host) wanted(is Tree) []Provider {
	id := placement.UUID(h.ID.String())
	root, _ := is.find(id)
	all := []Provider{{ID: id, Name: h.Name, Inventories: h.inventories(root, is.SharedDisk), Traits: h.traits(root)}}
	for _, d := range h.Devices {
		if d.Total == 0 {
			continue
		}
		to := Provider{ID: h.DeviceID(d), Name: h.DeviceName(d), Parent: id, Traits: sorted(d.Traits)}
		now := Provider{}
		if i := slices.IndexFunc(is.Providers, func(p Provider) bool { return p.Name == to.Name }); i >= 0 {
			now = is.Providers[i]
			to.ID = now.ID // Nova gives them random ones
		}
		to.Inventories = map[string]placement.Inventory{d.Class: deviceInventory(d, now)}
		all = append(all, to)
	}
	return all
}

// deviceInventory is a device's, with what an operator has reserved of it.
func deviceInventory(d Device, now Provider) placement.Inventory {
	i, ok := now.Inventories[d.Class]
	if !ok {
		i = placement.Inventory{MinUnit: 1, StepSize: 1, AllocationRatio: 1}
	}
	if now.withdrawn(d.Class) {
		i.Reserved = 0 // the device is there again
	}
	return resized(i, d.Total)
}

// withdrawn reports whether all of a class is reserved because the device was removed, and not by
// an operator.
func (p *Provider) withdrawn(class string) bool {
	i := p.Inventories[class]
	return i.Reserved == i.Total && slices.Contains(p.Traits, TraitRemoved)
}

// resized is an inventory with another total.
func resized(i placement.Inventory, total int64) placement.Inventory {
	i.Total, i.MaxUnit, i.Reserved = total, total, min(i.Reserved, total)
	return i
}

// madeFor reports whether a provider was created for a device of the host, by Berth or by Nova.
func (h *Host) madeFor(p Provider) bool {
	if p.Parent != placement.UUID(h.ID.String()) || !strings.HasPrefix(p.Name, h.Name+"_") {
		return false
	}
	_, virtual := p.Inventories["VGPU"]
	return virtual || slices.Contains(p.Traits, TraitPCIDevice) || p.ID == placement.UUID(h.ID.Derive(p.Name).String()) ||
		slices.ContainsFunc(h.Devices, func(d Device) bool { return h.DeviceName(d) == p.Name })
}

// used are the classes of which something is allocated.
func (p *Provider) used() map[string]int64 {
	all := maps.Clone(p.Used)
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n <= 0 })
	return all
}

// reserved is a provider whose device was removed, with no capacity left.
func (p Provider) reserved() Provider {
	p = clone(p)
	for class, i := range p.Inventories {
		i.Reserved = i.Total
		p.Inventories[class] = i
	}
	p.Traits = sorted(append(p.Traits, TraitRemoved))
	return p
}

// keepUsed keeps the classes of a provider that would leave it while something of them is allocated, which
// placement refuses. Nothing more can be allocated of them.
func (p *Provider) keepUsed(now Provider, plan *Plan) {
	for _, class := range leaving(now, *p) {
		if now.Used[class] == 0 {
			continue
		}
		plan.warn("%s has no %s any more, and it has allocations: it stays, with everything reserved, until they end", p.Name, class)
		i := now.Inventories[class]
		i.Reserved = i.Total
		p.Inventories[class] = i
		if p.Parent != "" {
			p.Traits = sorted(append(p.Traits, TraitRemoved))
		}
	}
}

// A newDevice is a device of which placement may not offer all units yet.
type newDevice struct {
	Device
	to    *Provider // as it should be
	lacks int64     // units that placement does not offer
}

// subtract subtracts from devices the units that are allocated elsewhere, so that each unit is
// counted once: on the same provider in a class that the device had before, and on providers of
// removed devices. One of those may have been replaced by a device of the same class of which
// placement does not offer all units yet; the one with the most similar traits is assumed. A device
// without remaining units loses the class.
func (h *Host) subtract(want, gone []Provider, is Tree, p *Plan) {
	var devices []*newDevice
	for _, d := range h.Devices {
		i := slices.IndexFunc(want, func(to Provider) bool { return to.Name == h.DeviceName(d) })
		if i < 0 {
			continue // there are none of it
		}
		now, _ := is.find(want[i].ID)
		to := &newDevice{Device: d, to: &want[i], lacks: d.Total}
		if !now.withdrawn(d.Class) {
			to.lacks -= now.Inventories[d.Class].Total
		}
		for _, class := range leaving(now, want[i]) {
			to.subtract(now.Used[class], p, "of its "+class)
		}
		devices = append(devices, to)
	}
	for _, old := range gone {
		for _, class := range slices.Sorted(maps.Keys(old.used())) {
			left := old.Used[class]
			slices.SortStableFunc(devices, func(a, b *newDevice) int {
				return cmp.Or(cmp.Compare(a.differs(old), b.differs(old)), cmp.Compare(b.lacks, a.lacks))
			})
			for _, d := range devices {
				if d.Class == class {
					left -= d.subtract(left, p, "on "+old.Name)
				}
			}
		}
	}
}

// differs is how many traits a device and a provider do not share.
func (d *newDevice) differs(p Provider) (n int) {
	for _, name := range sorted(slices.Concat(d.Traits, p.Traits)) {
		if slices.Contains(d.Traits, name) != slices.Contains(p.Traits, name) && name != TraitRemoved {
			n++
		}
	}
	return n
}

// subtract takes up to n units from a device, and returns how many.
func (d *newDevice) subtract(n int64, p *Plan, where string) int64 {
	n = min(n, d.lacks)
	if n <= 0 {
		return 0
	}
	p.warn("%s offers less %s than it has: the allocations %s are subtracted until they end", d.to.Name, d.Class, where)
	d.lacks -= n
	i := resized(d.to.Inventories[d.Class], d.to.Inventories[d.Class].Total-n)
	if d.to.Inventories[d.Class] = i; i.Total == 0 {
		delete(d.to.Inventories, d.Class)
	}
	return n
}

// inventories are the root's. What placement has of other classes goes.
func (h *Host) inventories(now Provider, sharedDisk bool) map[string]placement.Inventory {
	all := map[string]placement.Inventory{}
	for class, a := range map[string]Amount{VCPU: h.VCPU, PCPU: h.PCPU, MemoryMB: h.MemoryMB, DiskGB: h.DiskGB} {
		if a.Total == 0 || class == DiskGB && sharedDisk {
			continue
		}
		ratio := a.Initial
		if i, ok := now.Inventories[class]; ok {
			ratio = i.AllocationRatio
		}
		all[class] = placement.Inventory{
			Total: a.Total, Reserved: a.Reserved, MinUnit: 1, MaxUnit: a.Total, StepSize: 1, AllocationRatio: or(a.Ratio, ratio),
		}
	}
	return all
}

// traits are the root's: its own, and those that others gave it.
func (h *Host) traits(now Provider) []string {
	all := slices.DeleteFunc(slices.Clone(now.Traits), func(name string) bool {
		return strings.HasPrefix(name, "COMPUTE_") || h.KnowsCPU && strings.HasPrefix(name, "HW_CPU_")
	})
	all = append(append(all, h.Traits...), TraitComputeNode)
	if h.Disabled {
		all = append(all, TraitDisabled)
	}
	return sorted(all)
}

// add applies the operator's additions to the providers. Own are the host's.
func (h *Host) add(want []Provider, own map[placement.UUID]bool, p *Plan) error {
	done := map[placement.UUID]string{} // by which file
	for _, explicit := range []bool{true, false} {
		for _, a := range h.Additional {
			if explicit == (a.ID == ComputeNode) {
				continue
			}
			i := slices.IndexFunc(want, func(to Provider) bool { return h.names(a, to) })
			if i < 0 {
				p.warn("%s: there is no provider %s below the host; the additions to it wait", a.File, cmp.Or(string(a.ID), a.Name))
				continue
			}
			to := &want[i]
			other, twice := done[to.ID]
			switch {
			case twice && !explicit:
				continue
			case twice:
				return fmt.Errorf("%s and %s add to the same provider, %s (%s)", other, a.File, to.Name, to.ID)
			}
			done[to.ID] = a.File
			if err := a.addTo(to, own[to.ID]); err != nil {
				return err
			}
		}
	}
	return nil
}

// names reports whether what is added is for a provider.
func (h *Host) names(a Additional, p Provider) bool {
	switch a.ID {
	case ComputeNode:
		return p.Parent == ""
	case "":
		return a.Name == p.Name
	}
	return a.ID == p.ID
}

// addTo adds to a provider. What the host reports of its own cannot be overridden.
func (a Additional) addTo(p *Provider, own bool) error {
	for _, class := range slices.Sorted(maps.Keys(a.Inventories)) {
		if _, there := p.Inventories[class]; there && own {
			return fmt.Errorf("%s: the host reports the inventory of %s of %s itself; it must not be in the file", a.File, class, p.Name)
		}
		if p.Inventories == nil {
			p.Inventories = map[string]placement.Inventory{}
		}
		p.Inventories[class] = a.Inventories[class].inventory()
	}
	for _, name := range a.Traits {
		if slices.Contains(p.Traits, name) && !strings.HasPrefix(name, "CUSTOM_") {
			return fmt.Errorf("%s: the trait %s of %s is there already, from the host or from others; it must not be in the file", a.File, name, p.Name)
		}
	}
	p.Traits = sorted(append(p.Traits, a.Traits...))
	return nil
}
