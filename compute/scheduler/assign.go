package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// A Chosen is what of a host a server gets of its own with a claim.
type Chosen struct {
	Assignment *compute.Assignment           // nil for nothing
	Devices    map[compute.ID]compute.Device // of ports
}

// Assign chooses what of a host a server with ports gets of its own with the claim of a choice. Its
// flavor is the one that it has on the host. The transaction is the one that stores the claim: no
// other server has, or will have, the same. It is a *HostRefused when too little of the host is
// free, or is near enough to its NUMA cells, whatever placement has allocated.
func Assign(
	tx *compute.Tx, server compute.ServerRow, choice *HostChoice, ports []compute.Port,
) (chosen Chosen, err error) {
	flavor, err := server.StoredFlavor()
	if err != nil {
		return chosen, err
	}
	return assign(tx, assigned{server.ID, flavor, choice.Image, choice.Claim, ports})
}

// An assigned server is one that something of a host is chosen for.
type assigned struct {
	id     compute.ID
	flavor extraspecs.Flavor
	image  extraspecs.Image
	claim  *selection.Claim
	ports  []compute.Port
}

// assign is Assign. Each part of the assignment has a function that adds it.
func assign(tx *compute.Tx, to assigned) (chosen Chosen, err error) {
	aliases, err := request.PCIDevices(to.flavor, tx.Settings.Requests)
	if err != nil {
		return chosen, err
	}
	topology, err := extraspecs.Topology(to.flavor, to.image)
	if err != nil {
		topology = extraspecs.NUMA{} // a flavor that was changed since: the server has run without
	}
	near := affinity{policy: pciPolicy(to.flavor, to.image)}
	devices := func() (err error) {
		chosen.Devices, err = chooseDevices(tx, to.id, to.ports, to.claim.Mappings, to.claim.Host, to.claim.Node, near)
		return err
	}
	if len(aliases) == 0 && !mayHaveMdevs(to.claim) && len(topology.Cells) == 0 {
		return chosen, devices()
	}
	host, err := assignableOf(tx, to.claim.Node)
	if err != nil {
		return chosen, err
	}
	a := compute.Assignment{Mdevs: host.mdevs(to.claim)}
	if len(aliases)+len(topology.Cells) == 0 {
		err = devices()
	} else {
		taken, failure := takenAssignments(tx, to.claim.Host, to.id)
		if failure != nil {
			return chosen, failure
		}
		if near.Topology, err = host.topology(); err != nil {
			return chosen, err
		}
		a.Cells, err = host.cells(to.claim, topology, near.Topology, taken, func(cells []hostlist.Cell) (err error) {
			near.cells = cells
			a.PCIDevices, err = host.pciDevices(to.claim, aliases, tx.Settings.Requests.PCI, near, taken)
			if err == nil {
				err = devices()
			}
			return err
		})
	}
	if err == nil && len(a.Cells)+len(a.PCIDevices)+len(a.Mdevs) > 0 {
		chosen.Assignment = &a
	}
	return chosen, err
}

// mayHaveMdevs reports whether a claim names a class that can be of mediated devices, on a provider
// below the host's. Other claims need no look at the host.
func mayHaveMdevs(claim *selection.Claim) bool {
	for provider, classes := range claim.Amounts {
		for class := range classes {
			if (class == "VGPU" || strings.HasPrefix(class, "CUSTOM_")) && provider != string(claim.Provider) {
				return true
			}
		}
	}
	return false
}

// An assignable is what servers can be assigned of a hypervisor.
type assignable struct {
	node compute.NodeRow
	compute.Assignable
}

// assignableOf reads it. A hypervisor that has reported nothing, or does not exist, has nothing.
func assignableOf(tx *compute.Tx, node string) (all assignable, err error) {
	all.node, err = compute.One[compute.NodeRow](tx, compute.Where(compute.ByName, node))
	if errors.Is(err, compute.ErrNoRow) {
		return all, nil // it was renamed, or its service was deleted
	}
	if err == nil {
		all.Assignable, err = all.node.ReadAssignable()
	}
	return all, err
}

// provider is the UUID of a device's provider, which follows from its name unless Nova made it.
func (a assignable) provider(device string) placement.UUID {
	if id := a.Providers[device]; id != "" {
		return id
	}
	id, err := guarantee.ParseUUID(string(a.node.ID))
	if err != nil {
		return "" // of no provider
	}
	return placement.UUID(id.Derive(a.node.Name + "_" + device).String())
}

// mdevs makes a mediated device for each unit of a card that is claimed. Each is new: placement
// counts them, and there is nothing to choose.
func (a assignable) mdevs(claim *selection.Claim) (all []compute.MediatedDevice) {
	for _, d := range a.Devices {
		if d.MdevType == "" {
			continue
		}
		for range claim.Amounts[string(a.provider(d.Suffix))][d.Class] {
			all = append(all, compute.MediatedDevice{
				UUID: string(compute.NewID()), Type: d.MdevType, Provider: d.Suffix, Class: d.Class,
			})
		}
	}
	return all
}

// pciDevices chooses a free device for each request, of the provider that serves it.
func (a assignable) pciDevices(
	claim *selection.Claim, requested []request.PCIDevice, aliases map[string]request.Alias, near affinity,
	assignments []compute.Assignment,
) (all []compute.PCIDevice, err error) {
	taken := map[string]bool{}
	for _, other := range assignments {
		for _, d := range other.PCIDevices {
			taken[d.Address] = true
		}
	}
	devices := map[placement.UUID]int{} // indexes, by provider
	for i, d := range a.Devices {
		devices[a.provider(d.Suffix)] = i
	}
	for _, r := range requested {
		i := -1
		for _, provider := range claim.Mappings[r.Suffix] {
			if at, reported := devices[provider]; reported {
				i = at
			}
		}
		if i < 0 {
			return nil, &HostRefused{Why: fmt.Sprintf("the host has not reported the PCI addresses of what serves alias %s",
				r.Alias)}
		}
		d, live := a.Devices[i], aliases[r.Alias].LiveMigratable
		if live != nil && *live != slices.Contains(d.Traits, traitLiveMigratable) {
			return nil, &HostRefused{Why: fmt.Sprintf("alias %s has live_migratable %v, unlike the PCI devices of %s",
				r.Alias, *live, d.Suffix)}
		}
		policy := cmp.Or(near.policy, aliases[r.Alias].NUMAPolicy)
		k := near.nearest(policy, len(d.Addresses), func(i int) (string, bool) {
			return d.Addresses[i], !taken[d.Addresses[i]]
		})
		if k < 0 {
			why := fmt.Sprintf("no PCI device of %s is free for alias %s", d.Suffix, r.Alias)
			return nil, &HostRefused{Why: why + near.why(policy)}
		}
		taken[d.Addresses[k]] = true
		all = append(all, compute.PCIDevice{
			Address: d.Addresses[k], Alias: r.Alias, Provider: d.Suffix, Class: d.Class, LiveMigratable: live != nil && *live,
			OneTimeUse: slices.Contains(d.Traits, inventory.TraitOneTimeUse),
		})
	}
	return all, nil
}

// traitLiveMigratable is the trait of PCI devices with which servers move live, as their host says
// ([pci] device_spec).
const traitLiveMigratable = "HW_PCI_LIVE_MIGRATABLE"

// takenAssignments are the assignments of a host that no other server may have. The choice of the
// server's own operation does not count: it is made again.
func takenAssignments(tx *compute.Tx, host string, server compute.ID) (taken []compute.Assignment, err error) {
	all, err := compute.AssignmentsOn(tx, host)
	for _, a := range all {
		if !a.Operation || a.Server != server {
			taken = append(taken, a.Assignment)
		}
	}
	return taken, err
}
