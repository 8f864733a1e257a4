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
	Generation  int64          // 0 for one that is to be made
	Inventories map[string]placement.Inventory
	Traits      []string // sorted
}

// A Plan is what is to be done to a tree, in this order.
type Plan struct {
	// Make are providers to be made, parents first.
	Make []Provider
	// Remove are providers of devices that are gone. One on which something is
	// allocated cannot be removed, and stays.
	Remove []Provider
	// Inventories and Traits are those of providers whose present ones differ. The
	// root comes last.
	Inventories, Traits []Provider
	// Warnings are for the operator.
	Warnings []string
}

// Nothing reports whether the tree is as it should be.
func (p *Plan) Nothing() bool {
	return len(p.Make)+len(p.Remove)+len(p.Inventories)+len(p.Traits) == 0
}

// Plan says what makes a tree what it should be. An error is a mistake of the operator's:
// an Additional, or a host that calls itself otherwise than before. Then nothing is to be
// done.
func (h *Host) Plan(is Tree) (Plan, error) {
	var p Plan
	if root, there := is.find(placement.UUID(h.ID.String())); there && root.Name != h.Name {
		return p, fmt.Errorf("the host calls itself %s, and placement knows it as %s: give it its name back, "+
			"or another UUID once nothing is allocated on the old one", h.Name, root.Name)
	}
	want := h.wanted(is)
	own := map[placement.UUID]bool{}
	for _, to := range want {
		own[to.ID] = true
	}
	for _, now := range is.Providers {
		switch {
		case own[now.ID]:
		case h.madeFor(now):
			p.Remove = append(p.Remove, now)
		default:
			want = append(want, clone(now))
		}
	}
	if err := h.add(want, own, &p); err != nil {
		return Plan{}, err
	}
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
	return p, nil
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

// wanted are the providers that are the host's own, the root first.
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
	i.Total, i.MaxUnit = d.Total, d.Total
	return i
}

// madeFor reports whether a provider was made for a device of the host.
func (h *Host) madeFor(p Provider) bool {
	if p.Parent != placement.UUID(h.ID.String()) || !strings.HasPrefix(p.Name, h.Name+"_") {
		return false
	}
	_, virtual := p.Inventories["VGPU"]
	return virtual || slices.Contains(p.Traits, TraitPCIDevice)
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

// add brings what the operator has added into the providers that are wanted. Own are
// the host's.
func (h *Host) add(want []Provider, own map[placement.UUID]bool, p *Plan) error {
	done := map[placement.UUID]string{} // by which file
	for _, explicit := range []bool{true, false} {
		for _, a := range h.Additional {
			if explicit == (a.ID == ComputeNode) {
				continue
			}
			i := slices.IndexFunc(want, func(to Provider) bool { return h.names(a, to) })
			if i < 0 {
				p.Warnings = append(p.Warnings, fmt.Sprintf("%s: there is no provider %s below the host; what is added to it waits", a.File, cmp.Or(string(a.ID), a.Name)))
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
