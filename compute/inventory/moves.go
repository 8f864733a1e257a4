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

// errUnread says that moves depend on the tree's allocations, which were not read.
var errUnread = errors.New("the allocations of the tree were not read")

type providerClass struct {
	provider placement.UUID
	class    string
}

// A mover plans the moves of a host's allocations: it has the tree as it is and as it should be.
type mover struct {
	host          *Host
	actual        providertree.Tree
	want, removed []providertree.Provider
	root          placement.UUID
	all           []providertree.Move
}

// moves returns the moves of what is allocated of classes and devices that leave, and of the CPUs
// of servers with dedicated ones when the host begins to have some, and of the PCI devices that
// servers have without an allocation. The error names the consumers whose destination is not known,
// or is errUnread or an unreadUsage.
func (h *Host) moves(want, removed []providertree.Provider, actual providertree.Tree) ([]providertree.Move, error) {
	m := &mover{host: h, actual: actual, want: want, removed: removed, root: placement.UUID(h.ID.String())}
	for _, step := range []func() error{m.rehome, m.dedicatedCPUs, m.ownClasses, m.removedDevices, m.missingUnits} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return m.all, nil
}

// desired returns the desired provider of an id.
func (m *mover) desired(id placement.UUID) providertree.Provider {
	i := slices.IndexFunc(m.want, func(p providertree.Provider) bool { return p.ID == id })
	if i < 0 {
		return providertree.Provider{}
	}
	return m.want[i]
}

// holders returns the consumers that have something of a class on a provider, with how much of it
// does not move yet. The error is errUnread.
func (m *mover) holders(from providerClass) (map[string]int64, error) {
	if m.actual.Allocations == nil {
		return nil, errUnread
	}
	holders := map[string]int64{}
	for id, c := range m.actual.Allocations {
		if n := c.Amounts[string(from.provider)][from.class]; n > 0 {
			holders[id] = n
		}
	}
	for _, move := range m.all {
		if (providerClass{move.From, move.FromClass}) == from {
			holders[move.Consumer] -= move.Amount
		}
	}
	maps.DeleteFunc(holders, func(_ string, n int64) bool { return n <= 0 })
	return holders, nil
}

func (m *mover) move(consumer string, from, to providerClass, n int64) {
	m.all = append(m.all, providertree.Move{
		Consumer: consumer, From: from.provider, FromClass: from.class, To: to.provider, ToClass: to.class, Amount: n,
	})
}

// label is a consumer in messages.
func (m *mover) label(consumer string) string {
	if c := m.host.Consumers[consumer]; c.Label != "" {
		return c.Label
	}
	return "consumer " + consumer
}

// refuse returns an error about consumers with a reason, nil without any.
func (m *mover) refuse(holders map[string]int64, class, reason string) error {
	if len(holders) == 0 {
		return nil
	}
	const most = 3
	ids := slices.Sorted(maps.Keys(holders))
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, fmt.Sprintf("%s (%d %s)", m.label(id), holders[id], class))
	}
	if more := len(ids) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("%s: %s", strings.Join(names, ", "), reason)
}

// dedicatedCPUs moves VCPU of the root, or of a NUMA node, to PCPU when placement has none there
// yet, or VCPU leaves: for servers of which all CPUs are dedicated, or those of a mask. They have
// VCPU by the query that [workarounds] disable_fallback_pcpu_query switches off, or from before
// cpu_dedicated_set was set. Nova does that for hw:cpu_policy=dedicated only.
func (m *mover) dedicatedCPUs() error {
	for _, want := range m.want {
		if want.ID != m.root && !m.host.isNode(want) {
			continue
		}
		if err := m.dedicatedCPUsOf(want); err != nil {
			return err
		}
	}
	return nil
}

func (m *mover) dedicatedCPUsOf(want providertree.Provider) error {
	cur, _ := m.actual.Find(want.ID)
	_, had := cur.Inventories[PCPU]
	_, has := want.Inventories[PCPU]
	_, shares := want.Inventories[VCPU]
	if cur.Inventories[VCPU].Total == 0 || !has || had && shares {
		return nil
	}
	if !shares && cur.Used == nil || cur.Used != nil && cur.Used[VCPU] == 0 {
		return nil // see inUse
	}
	from, to := providerClass{want.ID, VCPU}, providerClass{want.ID, PCPU}
	holders, err := m.holders(from)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		amounts := m.actual.Allocations[id].Amounts
		var all, pinned int64 // of all NUMA nodes
		for provider := range amounts {
			if p, _ := m.actual.Find(placement.UUID(provider)); p.ID == want.ID || m.host.isNode(p) {
				all, pinned = all+amounts[provider][VCPU]+amounts[provider][PCPU], pinned+amounts[provider][PCPU]
			}
		}
		for _, move := range m.all {
			if move.Consumer == id && move.FromClass == VCPU && move.ToClass == PCPU {
				pinned += move.Amount
			}
		}
		if n := min(m.host.Consumers[id].dedicated(all)-pinned, holders[id]); n > 0 {
			m.move(id, from, to, n)
		}
	}
	return nil
}

// dedicated is how many CPUs of a consumer are dedicated ones, when it has so many in all.
func (c Consumer) dedicated(total int64) int64 {
	for _, cpus := range c.CPUs {
		if cpus.Total == total {
			return cpus.Dedicated
		}
	}
	if len(c.CPUs) > 0 {
		return c.CPUs[0].Dedicated
	}
	return 0
}

// ownClasses moves what is allocated of classes that the host's own providers have no more.
func (m *mover) ownClasses() error {
	for _, want := range m.want {
		cur, exists := m.actual.Find(want.ID)
		if _, device := m.device(want.Name); !exists || want.ID != m.root && !device && !m.host.isNode(want) {
			continue
		}
		for _, class := range providertree.RemovedClasses(cur, want) {
			if err := m.ownClass(cur, want, class); err != nil {
				return err
			}
		}
	}
	return nil
}

// device returns the host's device with a provider's name.
func (m *mover) device(provider string) (Device, bool) {
	i := slices.IndexFunc(m.host.Devices, func(d Device) bool { return m.host.DeviceName(d) == provider })
	if i < 0 {
		return Device{}, false
	}
	return m.host.Devices[i], true
}

// ownClass moves what is allocated of a class that leaves a provider.
func (m *mover) ownClass(cur, want providertree.Provider, class string) error {
	if d, device := m.device(want.Name); device { // it has another class now
		if _, had := cur.Inventories[d.Class]; had || withdrawn(cur, class) {
			return nil
		}
		if err := m.sameDevices(cur, class, d); err != nil {
			return err
		}
		return m.moveAll(cur, class, providerClass{want.ID, d.Class})
	}
	targets := m.devicesOf(class)
	switch {
	case class == VCPU || class == PCPU:
		return m.remainingCPUs(cur, class)
	case len(targets) == 0:
		return nil // disk that became shared, a class of a file: it stays, reserved
	case len(targets) == 1:
		return m.moveAll(cur, class, providerClass{targets[0].ID, class})
	}
	holders, err := m.inUse(cur, class)
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		from := providerClass{cur.ID, class}
		if m.moveUnits(id, holders[id], from, targets) || m.moveUnbuilt(id, holders[id], from, targets) {
			delete(holders, id)
		}
	}
	if err == nil {
		err = m.refuse(holders, class, fmt.Sprintf("nobody knows which of the devices %s it has: "+
			"say what moves where with berth reshape --moves", names(targets)))
	}
	return err
}

// moveAll moves all that is allocated of a class of a provider.
func (m *mover) moveAll(cur providertree.Provider, class string, to providerClass) error {
	holders, err := m.inUse(cur, class)
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		m.move(id, providerClass{cur.ID, class}, to, holders[id])
	}
	return err
}

// sameDevices refuses consumers of a device's former class with PCI devices that are not among
// those of its class now: functions of a card are not the card, and both would be promised.
func (m *mover) sameDevices(cur providertree.Provider, class string, d Device) error {
	if len(d.Addresses) == 0 {
		return nil
	}
	holders, err := m.inUse(cur, class)
	others := map[string]int64{}
	var lost []string
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		for _, u := range m.host.Consumers[id].Units {
			for _, address := range u.Addresses {
				if u.Device == d.Suffix && !slices.Contains(d.Addresses, address) {
					others[id] = holders[id]
					lost = append(lost, address)
				}
			}
		}
	}
	if err == nil {
		err = m.refuse(others, class, fmt.Sprintf("the host offers %s of %s now, and not what is in use, %s: "+
			"move or delete it first, or set [pci] device_spec back", d.Class, d.Suffix, list(lost)))
	}
	return err
}

// inUse returns the consumers of a class that leaves a provider, none while its usage was not read,
// which the plan requests (see providertree.Plan.Unread).
func (m *mover) inUse(cur providertree.Provider, class string) (map[string]int64, error) {
	if cur.Used[class] == 0 {
		return nil, nil
	}
	return m.holders(providerClass{cur.ID, class})
}

// devicesOf returns the desired providers of devices that have a class.
func (m *mover) devicesOf(class string) (all []providertree.Provider) {
	for _, p := range m.want {
		if d, device := m.device(p.Name); device && d.Class == class {
			all = append(all, p)
		}
	}
	return all
}

// remainingCPUs refuses that servers have CPUs of a kind that the host has no more.
func (m *mover) remainingCPUs(cur providertree.Provider, class string) error {
	holders, err := m.inUse(cur, class)
	if err != nil {
		return err
	}
	set, kind := "cpu_shared_set", "shared"
	if class == PCPU {
		set, kind = "cpu_dedicated_set", "dedicated"
	}
	owner := "the host"
	if cur.ID != m.root {
		owner = cur.Name
	}
	return m.refuse(holders, class, fmt.Sprintf(
		"%s has no %s CPUs any more: set [compute] %s again, or move them to another host first", owner, kind, set))
}

// units are the units of devices that a consumer has, as the host reports or as it was assigned
// them.
func (m *mover) units(consumer string) []Unit {
	server := cmp.Or(m.host.Consumers[consumer].Server, consumer)
	if reported := m.host.Units[server]; len(reported) > 0 {
		return reported
	}
	return m.host.Consumers[consumer].Units
}

// moveUnits moves n units of a consumer to the devices that it is known to have, and reports
// whether these are as many.
func (m *mover) moveUnits(consumer string, n int64, from providerClass, targets []providertree.Provider) bool {
	to := map[placement.UUID]int64{}
	for _, u := range m.units(consumer) {
		i := slices.IndexFunc(targets, func(p providertree.Provider) bool { return p.Name == m.host.Name+"_"+u.Device })
		if i >= 0 && u.Class == from.class {
			to[targets[i].ID] += u.Count
			n -= u.Count
		}
	}
	if n != 0 {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(to)) {
		m.move(consumer, from, providerClass{id, from.class}, to[id])
	}
	return true
}

// moveUnbuilt moves n units of a server that has none yet to devices that have as many which are
// not in use, and reports whether it has moved all.
func (m *mover) moveUnbuilt(consumer string, n int64, from providerClass, targets []providertree.Provider) bool {
	if !m.host.Consumers[consumer].Unbuilt {
		return false
	}
	free := make([]int64, len(targets))
	var all int64
	for i, p := range targets {
		cur, _ := m.actual.Find(p.ID)
		free[i] = p.Inventories[from.class].Total - cur.Used[from.class]
		for _, move := range m.all {
			if move.To == p.ID && move.ToClass == from.class {
				free[i] -= move.Amount
			}
		}
		all += max(free[i], 0)
	}
	if all < n {
		return false
	}
	for i, p := range targets {
		if here := min(n, free[i]); here > 0 {
			m.move(consumer, from, providerClass{p.ID, from.class}, here)
			n -= here
		}
	}
	return true
}

// vanished reports whether the host says that a server, which it has built, has no units, and none
// were assigned to it.
func (m *mover) vanished(consumer string) bool {
	c := m.host.Consumers[consumer]
	return c.Label != "" && !c.Unbuilt && m.host.Units != nil && len(m.units(consumer)) == 0
}

// names are those of providers, for messages.
func names(all []providertree.Provider) string {
	list := make([]string, len(all))
	for i, p := range all {
		list[i] = p.Name
	}
	return strings.Join(list, ", ")
}

// removedDevices moves what is allocated on devices that the host has no more to devices of the
// same class that placement does not offer whole yet: one of them can be the same device under
// another name. Without such a device it vanished, and for a server of which the host says that it
// has no units.
func (m *mover) removedDevices() error {
	for _, cur := range m.removed {
		for _, class := range slices.Sorted(maps.Keys(cur.Inventories)) {
			targets := slices.DeleteFunc(m.devicesOf(class), func(p providertree.Provider) bool {
				now, exists := m.actual.Find(p.ID)
				return exists && !withdrawn(now, class) && now.Inventories[class].Total >= p.Inventories[class].Total
			})
			if len(targets) == 0 {
				continue
			}
			holders, err := m.inUse(cur, class)
			for _, id := range slices.Sorted(maps.Keys(holders)) {
				from := providerClass{cur.ID, class}
				if m.moveUnits(id, holders[id], from, targets) || m.moveUnbuilt(id, holders[id], from, targets) ||
					m.vanished(id) {
					delete(holders, id)
				}
			}
			if err == nil {
				err = m.refuse(holders, class, fmt.Sprintf("the device of %s is not there any more, and nobody knows whether "+
					"it has one of %s now: say what moves where with berth reshape --moves, or move or delete it first",
					cur.Name, names(targets)))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
