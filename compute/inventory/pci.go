package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// keepsPCI returns an error when the host has no providers of PCI devices by its settings, and
// placement has some: the servers' devices would not be counted any more. Nova refuses that too.
func (h *Host) keepsPCI(actual providertree.Tree) error {
	if h.PCI == nil || *h.PCI {
		return nil
	}
	var present []string
	for _, p := range actual.Providers {
		if slices.Contains(p.Traits, TraitPCIDevice) && h.madeFor(p) {
			present = append(present, p.Name)
		}
	}
	if present == nil {
		return nil
	}
	return fmt.Errorf("[pci] report_in_placement is off, and placement has the PCI devices of the host, %s, from when it "+
		"was on: switch it on again; it can be off after a start with it on and without [pci] device_spec for them, "+
		"which removes the devices that no server has", list(present))
}

// list joins names, of which there may be too many to name all.
func list(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(slices.Clip(names[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// unreadUsage is the error that moves depend on the usage of providers that was not read.
type unreadUsage []placement.UUID

func (unreadUsage) Error() string { return "the usage of PCI devices was not read" }

// pciDevices are the host's PCI devices with their desired providers.
func (m *mover) pciDevices() map[placement.UUID]Device {
	all := map[placement.UUID]Device{}
	for _, p := range m.want {
		if d, device := m.device(p.Name); device && slices.Contains(d.Traits, TraitPCIDevice) {
			all[p.ID] = d
		}
	}
	return all
}

// missingUnits allocates PCI devices to the consumers that have them without an allocation when the
// host starts: those of servers from before [pci] report_in_placement was set. A consumer whose
// flavor requests more devices than are known is an error that names it.
//
// Consumers without an allocation of the tree are left alone: they have lost all of theirs, and
// berth heal writes them. So are servers that are not built yet, to which placement has given
// devices.
func (m *mover) missingUnits() error {
	devices := m.pciDevices()
	if _, exists := m.actual.Find(m.root); !m.host.Starting || !exists || len(devices) == 0 {
		return nil
	}
	if m.actual.Allocations == nil {
		return m.unitsDiffer(devices)
	}
	for _, id := range m.consumers() {
		c := m.host.Consumers[id]
		if c.Label == "" || c.Unbuilt {
			continue
		}
		had := m.allocated(id, devices)
		known := m.allocateUnits(id, devices, had)
		if err := m.checkDevices(id, devices, known); err != nil {
			return err
		}
	}
	return nil
}

// unitsDiffer decides whether the tree has to be read with its allocations: when a device is new,
// or less of it is allocated than the servers have by the host's report.
func (m *mover) unitsDiffer(devices map[placement.UUID]Device) error {
	reported := map[string]int64{} // by device
	for _, units := range m.host.Units {
		for _, u := range units {
			reported[u.Device] += u.Count
		}
	}
	var unread unreadUsage
	for _, want := range m.want {
		d, device := devices[want.ID]
		cur, exists := m.actual.Find(want.ID)
		switch {
		case !device:
		case !exists:
			return errUnread
		case reported[d.Suffix] == 0:
		case cur.Used == nil:
			unread = append(unread, want.ID)
		case cur.Used[d.Class] < reported[d.Suffix]:
			return errUnread
		}
	}
	if unread != nil {
		return unread
	}
	return nil
}

// consumers are those of the tree, in order.
func (m *mover) consumers() []string {
	var all []string
	for id := range m.actual.Allocations {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// allocated is what a consumer has of the devices, by class, after the moves so far.
func (m *mover) allocated(consumer string, devices map[placement.UUID]Device) map[providerClass]int64 {
	all := map[providerClass]int64{}
	for _, p := range m.actual.Providers {
		for class, n := range m.actual.Allocations[consumer].Amounts[string(p.ID)] {
			if _, own := devices[p.ID]; own || slices.Contains(p.Traits, TraitPCIDevice) {
				all[providerClass{p.ID, class}] += n
			}
		}
	}
	for _, move := range m.all {
		if move.Consumer != consumer {
			continue
		}
		from := providerClass{move.From, move.FromClass}
		if _, counted := all[from]; counted {
			all[from] -= move.Amount
		}
		if _, own := devices[move.To]; own {
			all[providerClass{move.To, move.ToClass}] += move.Amount
		}
	}
	return all
}

// allocateUnits allocates what a consumer has of the devices and is not allocated, and returns how
// many devices it is known to have then. One that has as many of a class as it is allocated gets
// nothing, also when these are others.
func (m *mover) allocateUnits(
	consumer string, devices map[placement.UUID]Device, had map[providerClass]int64,
) (known int64) {
	missing := map[string]int64{}
	units := map[providerClass]int64{}
	for _, want := range m.want {
		d, device := devices[want.ID]
		if !device {
			continue
		}
		for _, u := range m.units(consumer) {
			if u.Device == d.Suffix {
				units[providerClass{want.ID, d.Class}] += u.Count
				missing[d.Class] += u.Count
			}
		}
	}
	for at, n := range had {
		known += n
		missing[at.class] -= n
	}
	for _, want := range m.want {
		at := providerClass{want.ID, devices[want.ID].Class}
		if n := min(units[at]-had[at], missing[at.class]); n > 0 {
			m.move(consumer, providerClass{}, at, n)
			missing[at.class] -= n
			known += n
		}
	}
	return known
}

// checkDevices refuses a consumer that has fewer devices than its flavor requests, of a class that
// the host has now.
func (m *mover) checkDevices(consumer string, devices map[placement.UUID]Device, known int64) error {
	c := m.host.Consumers[consumer]
	var requested int64
	for _, n := range c.Devices {
		requested += n
	}
	if known >= requested {
		return nil
	}
	for _, want := range m.want {
		d, device := devices[want.ID]
		if n := c.Devices[d.Class]; device && n > 0 {
			return fmt.Errorf("%s has %d %s by the alias in its flavor, and nobody knows which of the host's PCI devices: "+
				"move or delete it first, or leave these devices out of [pci] device_spec", c.Label, n, d.Class)
		}
	}
	return nil
}
