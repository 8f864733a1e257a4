package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Plan is the changes that the tree of a host needs.
type Plan struct {
	providertree.Plan
	Warnings []string // for the operator
	// Added is what files have added to the tree when the plan was carried out. It has to be stored
	// before that, together with Host.Added, and can replace it after that.
	Added Additions
}

// Plan computes the changes that a tree needs. What is allocated of a class or device that leaves
// is moved to where the host has it now (see moves), once the tree has its allocations. The
// provider of a device that vanished stays, reserved, until its units are released. What is in
// Added and not in the files any more is removed, of any provider of the tree. An error is a
// mistake of the operator's, a host that has changed its name, or an allocation whose destination
// is not known. Then nothing must be changed.
func (h *Host) Plan(actual providertree.Tree) (Plan, error) {
	var p Plan
	root, exists := actual.Find(placement.UUID(h.ID.String()))
	if exists && root.Parent != "" {
		return p, fmt.Errorf("the provider %s of the host is a part of another one in placement: use another UUID", root.Name)
	}
	if exists && root.Name != h.Name {
		return p, fmt.Errorf("the name of the host is %s, and its provider in placement is %s: restore the name, "+
			"or use another UUID once the old provider has no allocations", h.Name, root.Name)
	}
	want := h.desired(actual)
	own := map[placement.UUID]bool{}
	for _, to := range want {
		own[to.ID] = true
	}
	if err := h.keepsPCI(actual); err != nil {
		return p, err
	}
	if unread := h.unreadOnce(actual); unread != nil {
		return Plan{Plan: providertree.Plan{NeedsUsage: unread}}, nil
	}
	var removed []providertree.Provider
	for _, cur := range actual.Providers {
		switch {
		case own[cur.ID]:
		case h.madeFor(cur):
			removed = append(removed, cur)
		default:
			want = append(want, h.Added.strip(cur)) // foreign: only an Additional changes it
		}
	}
	if err := h.add(want, own, &p); err != nil {
		return Plan{}, err
	}
	moves, err := h.moves(want, removed, actual)
	var unread unreadUsage
	switch {
	case errors.As(err, &unread):
		return Plan{Plan: providertree.Plan{NeedsUsage: unread}}, nil
	case errors.Is(err, errUnread):
		return Plan{Plan: providertree.Plan{NeedsAllocations: true}}, nil
	case err != nil:
		return Plan{}, err
	}
	moved := map[providerClass]int64{}
	for _, m := range moves {
		moved[providerClass{m.From, m.FromClass}] += m.Amount
	}
	for i := range want {
		if cur, exists := actual.Find(want[i].ID); exists {
			h.keepUsed(&want[i], cur, own[cur.ID], moved, &p)
		}
	}
	// Providers that stay reserved come last: they shrink before other devices offer their units.
	// Memory is below its node, which goes after it.
	var remove []providertree.Provider
	slices.SortStableFunc(removed, func(a, b providertree.Provider) int {
		return cmp.Compare(h.depth(b), h.depth(a))
	})
	for _, cur := range removed {
		switch {
		case remains(cur, moved):
			p.warn("the device of %s vanished and has allocations: the provider stays, with everything reserved, "+
				"until its servers are moved or deleted; berth audit names them (vanished-device)", cur.Name)
		case hasOthers(actual, cur.ID, remove):
			p.warn("the device of %s was removed and has providers below it: the provider stays, with everything reserved, "+
				"until they are removed", cur.Name)
		default:
			remove = append(remove, cur)
			continue
		}
		want = append(want, reserved(cur))
		p.Added = p.Added.with(cur.ID, h.Added[cur.ID].Classes, h.Added[cur.ID].Traits)
	}
	p.Plan = providertree.Compare(actual, want, remove)
	p.Atomic = shifts(actual, p.Plan)
	return p, p.Move(actual, moves)
}

// hasOthers reports whether a provider has others below it than those that are removed.
func hasOthers(actual providertree.Tree, id placement.UUID, removed []providertree.Provider) bool {
	return slices.ContainsFunc(actual.Providers, func(p providertree.Provider) bool {
		return p.Parent == id && !slices.ContainsFunc(removed, func(cur providertree.Provider) bool { return cur.ID == p.ID })
	})
}

// shifts reports whether a provider gets a class that another one loses.
func shifts(actual providertree.Tree, p providertree.Plan) bool {
	lost, gained := map[string]bool{}, map[string]bool{}
	for _, cur := range p.Remove {
		for class := range cur.Inventories {
			lost[class] = true
		}
	}
	for _, want := range p.Inventories {
		cur, _ := actual.Find(want.ID)
		for _, class := range providertree.RemovedClasses(cur, want) {
			lost[class] = true
		}
		for _, class := range providertree.RemovedClasses(want, cur) {
			gained[class] = true
		}
	}
	for class := range lost {
		if gained[class] {
			return true
		}
	}
	return false
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// desired are the host's own providers, the root first.
func (h *Host) desired(actual providertree.Tree) []providertree.Provider {
	id := placement.UUID(h.ID.String())
	root, _ := actual.Find(id)
	root = h.Added.strip(root)
	all := []providertree.Provider{
		{ID: id, Name: h.Name, Inventories: h.inventories(root, actual), Traits: h.traits(root)},
	}
	all = append(all, h.nodes(actual, root)...)
	for _, d := range h.Devices {
		if d.Total == 0 {
			continue
		}
		to := providertree.Provider{
			ID: h.DeviceID(d), Name: h.DeviceName(d), Parent: id,
		}
		cur, exists := named(actual, to.Name)
		if exists {
			to.ID = cur.ID // Nova gives them random ones
		}
		to.Inventories = map[string]placement.Inventory{d.Class: deviceInventory(d, cur)}
		to.Traits = h.deviceTraits(d, cur)
		all = append(all, to)
	}
	return all
}

// deviceTraits are a device's, with those that an operator has added: Nova's guides have operators
// say by traits which type the mediated devices of a card are. The traits of PCI devices are those
// of [pci] device_spec alone, as in Nova.
func (h *Host) deviceTraits(d Device, cur providertree.Provider) []string {
	traits := slices.Clone(d.Traits)
	if !slices.Contains(traits, TraitPCIDevice) {
		for _, trait := range h.Added.strip(cur).Traits {
			if trait != TraitRemoved && trait != TraitPCIDevice {
				traits = append(traits, trait)
			}
		}
	}
	return providertree.SortedSet(traits)
}

// named returns the provider with a name.
func named(actual providertree.Tree, name string) (providertree.Provider, bool) {
	i := slices.IndexFunc(actual.Providers, func(p providertree.Provider) bool { return p.Name == name })
	if i < 0 {
		return providertree.Provider{}, false
	}
	return actual.Providers[i], true
}

// deviceInventory is a device's, with what an operator has reserved of it.
func deviceInventory(d Device, cur providertree.Provider) placement.Inventory {
	i, ok := cur.Inventories[d.Class]
	if !ok {
		i = placement.Inventory{MinUnit: 1, StepSize: 1, AllocationRatio: 1}
	}
	once := slices.Contains(d.Traits, TraitOneTimeUse)
	if withdrawn(cur, d.Class) && !once {
		i.Reserved = 0 // the device is there again
	}
	if i = resized(i, d.Total); once && cur.Used[d.Class] > 0 {
		i.Reserved = i.Total
	}
	return i
}

// withdrawn reports whether all of a class is reserved because the device was removed, and not by
// an operator.
func withdrawn(p providertree.Provider, class string) bool {
	i := p.Inventories[class]
	return i.Reserved == i.Total && slices.Contains(p.Traits, TraitRemoved)
}

// resized is an inventory with another total.
func resized(i placement.Inventory, total int64) placement.Inventory {
	i.Total, i.MaxUnit, i.Reserved = total, total, min(i.Reserved, total)
	return i
}

// madeFor reports whether a provider was created for a NUMA node of the host or for a device, by
// Berth or by Nova.
func (h *Host) madeFor(p providertree.Provider) bool {
	if h.isNode(p) || h.isPages(p) {
		return true
	}
	if p.Parent != placement.UUID(h.ID.String()) || !strings.HasPrefix(p.Name, h.Name+"_") {
		return false
	}
	_, virtual := p.Inventories["VGPU"]
	return virtual || slices.Contains(p.Traits, TraitPCIDevice) || p.ID == placement.UUID(h.ID.Derive(p.Name).String()) ||
		slices.ContainsFunc(h.Devices, func(d Device) bool { return h.DeviceName(d) == p.Name })
}

// reserved returns the provider of a removed device without free capacity.
func reserved(p providertree.Provider) providertree.Provider {
	p = p.Clone()
	for class, i := range p.Inventories {
		i.Reserved = i.Total
		p.Inventories[class] = i
	}
	p.Traits = providertree.SortedSet(append(p.Traits, TraitRemoved))
	return p
}

// keepUsed keeps the classes of a provider that would leave it while something of them remains
// allocated, which placement refuses. Nothing more can be allocated of them. Own says that the
// provider is the host's.
func (h *Host) keepUsed(
	p *providertree.Provider, cur providertree.Provider, own bool, moved map[providerClass]int64, plan *Plan,
) {
	for _, class := range providertree.RemovedClasses(cur, *p) {
		if cur.Used[class] <= moved[providerClass{cur.ID, class}] {
			continue
		}
		plan.warn("%s has no %s any more, and it has allocations: it stays, with everything reserved, until they end",
			p.Name, class)
		i := cur.Inventories[class]
		i.Reserved = i.Total
		if p.Inventories == nil {
			p.Inventories = map[string]placement.Inventory{}
		}
		p.Inventories[class] = i
		if slices.Contains(h.Added[p.ID].Classes, class) {
			plan.Added = plan.Added.with(p.ID, []string{class}, nil)
		}
		if own && p.Parent != "" {
			p.Traits = providertree.SortedSet(append(p.Traits, TraitRemoved))
		}
	}
}

// remains reports whether a provider has allocations that do not move.
func remains(cur providertree.Provider, moved map[providerClass]int64) bool {
	for class, used := range cur.InUse() {
		if used > moved[providerClass{cur.ID, class}] {
			return true
		}
	}
	return false
}

// inventories are the root's. What placement has of other classes goes.
func (h *Host) inventories(root providertree.Provider, actual providertree.Tree) map[string]placement.Inventory {
	all := map[string]placement.Inventory{}
	present := append([]providertree.Provider{root}, h.flatRatios(actual)...)
	for class, a := range map[string]Amount{VCPU: h.VCPU, PCPU: h.PCPU, MemoryMB: h.MemoryMB, DiskGB: h.DiskGB} {
		switch {
		case a.Total == 0 || class == DiskGB && actual.SharedDisk:
		case class != DiskGB && h.Nodes != nil: // the nodes have it
		default:
			all[class] = a.inventory(class, present...)
		}
	}
	return all
}

// inventory is that of an amount. Unless an operator has set the ratio it is that of the first
// provider that has the class.
func (a Amount) inventory(class string, present ...providertree.Provider) placement.Inventory {
	ratio := a.Initial
	for _, p := range slices.Backward(present) {
		if i, ok := p.Inventories[class]; ok {
			ratio = i.AllocationRatio
		}
	}
	return placement.Inventory{
		Total: a.Total, Reserved: a.Reserved, MinUnit: 1, MaxUnit: a.Total, StepSize: 1, AllocationRatio: or(a.Ratio, ratio),
	}
}

// traits are the root's: its own, and those that it has from others.
func (h *Host) traits(root providertree.Provider) []string {
	all := slices.DeleteFunc(slices.Clone(root.Traits), func(name string) bool {
		return strings.HasPrefix(name, "COMPUTE_") || h.KnowsCPU && strings.HasPrefix(name, "HW_CPU_") ||
			name == TraitNonNUMA
	})
	all = append(append(all, h.Traits...), TraitComputeNode)
	if h.Disabled {
		all = append(all, TraitDisabled)
	}
	return providertree.SortedSet(all)
}

// add applies the operator's additions to the providers. Own are the host's.
func (h *Host) add(want []providertree.Provider, own map[placement.UUID]bool, p *Plan) error {
	done := map[placement.UUID]string{} // by which file
	for _, explicit := range []bool{true, false} {
		for _, a := range h.Additional {
			if explicit == (a.ID == ComputeNode) {
				continue
			}
			i := slices.IndexFunc(want, func(to providertree.Provider) bool { return h.names(a, to) })
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
			p.Added = p.Added.with(to.ID, slices.Collect(maps.Keys(a.Inventories)), a.Traits)
		}
	}
	return nil
}

// names reports whether what is added is for a provider.
func (h *Host) names(a Additional, p providertree.Provider) bool {
	switch a.ID {
	case ComputeNode:
		return p.Parent == ""
	case "":
		return a.Name == p.Name
	}
	return a.ID == p.ID
}

// addTo adds to a provider. What the host reports of its own cannot be overridden.
func (a Additional) addTo(p *providertree.Provider, own bool) error {
	for _, class := range slices.Sorted(maps.Keys(a.Inventories)) {
		if _, exists := p.Inventories[class]; exists && own {
			return fmt.Errorf("%s: the host reports the inventory of %s of %s itself; it must not be in the file", a.File,
				class, p.Name)
		}
		if p.Inventories == nil {
			p.Inventories = map[string]placement.Inventory{}
		}
		p.Inventories[class] = a.Inventories[class].inventory()
	}
	for _, name := range a.Traits {
		if slices.Contains(p.Traits, name) && !strings.HasPrefix(name, "CUSTOM_") {
			return fmt.Errorf("%s: the trait %s of %s is there already, from the host or from others; it must not "+
				"be in the file", a.File, name, p.Name)
		}
	}
	p.Traits = providertree.SortedSet(append(p.Traits, a.Traits...))
	return nil
}
