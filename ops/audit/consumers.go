package audit

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement"
)

// consumers are the consumers, in their order.
func (x *records) consumers() iter.Seq[*cloud.Consumer] {
	return func(yield func(*cloud.Consumer) bool) {
		for i := range x.Placement.Consumers {
			if !yield(&x.Placement.Consumers[i]) {
				return
			}
		}
	}
}

// eachAllocation calls fn with each allocation of a consumer, sorted.
func eachAllocation(c *cloud.Consumer, fn func(provider, class string, n int64)) {
	for _, provider := range slices.Sorted(maps.Keys(c.Allocations)) {
		for _, class := range slices.Sorted(maps.Keys(c.Allocations[provider])) {
			fn(provider, class, c.Allocations[provider][class])
		}
	}
}

// isEndedMigration reports whether a consumer is a migration that has ended: it is one by its type,
// or by its record.
func (x *records) isEndedMigration(c *cloud.Consumer) bool {
	if m := x.Migrations[c.UUID]; m != nil {
		return slices.Contains(index.EndedMoves, m.Status)
	}
	return x.Servers[c.UUID] == nil && c.Type == "MIGRATION"
}

func orphanedAllocation(x *records, r *report) {
	for c := range x.consumers() {
		if !slices.Contains([]string{"", "INSTANCE", "MIGRATION"}, c.Type) {
			continue // of a service that is not read, such as Blazar's reservations
		}
		if len(c.Allocations) > 0 && x.Servers[c.UUID] == nil && x.Migrations[c.UUID] == nil && !x.isEndedMigration(c) {
			actual, expected := "it has allocated "+x.FormatAllocations(c), "a server or a migration under way with this UUID"
			if c.Type == "" {
				actual = "it has no type, so that it counts as Nova's, and has allocated " + x.FormatAllocations(c)
				expected += ", or something of another service (Cyborg, Zun, a reservation): look before it is deleted"
			}
			r.add(Finding{
				About: []Subject{x.consumerSubject(c.UUID)}, Actual: actual,
				Expected: expected, Command: "openstack resource provider allocation delete " + c.UUID,
			})
		}
	}
}

func endedMigrationAllocated(x *records, r *report) {
	for c := range x.consumers() {
		if len(c.Allocations) > 0 && x.isEndedMigration(c) {
			r.add(Finding{
				About:  []Subject{x.consumerSubject(c.UUID)},
				Actual: "it is of a migration that has ended, and has allocated " + x.FormatAllocations(c), Expected: "nothing",
				Command: "openstack resource provider allocation delete " + c.UUID,
			})
		}
	}
}

func consumerEmpty(x *records, r *report) {
	for c := range x.consumers() {
		if len(c.Allocations) == 0 {
			r.add(Finding{
				About:    []Subject{x.consumerSubject(c.UUID)},
				Actual:   fmt.Sprintf("it has generation %d and no allocations", c.Generation),
				Expected: "no consumer: placement removes it with its last allocation",
				Command:  "openstack resource provider allocation show " + c.UUID,
			})
		}
	}
}

// typeOf returns the type that a consumer must have, "" for one that is neither a server nor a
// migration.
func (x *records) typeOf(c *cloud.Consumer) string {
	switch {
	case x.Servers[c.UUID] != nil:
		return "INSTANCE"
	case x.Migrations[c.UUID] != nil:
		return "MIGRATION"
	}
	return ""
}

func consumerWithoutType(x *records, r *report) {
	// Nova sets no types, other services do: where no server and no migration has one there is
	// nothing to compare with.
	if !slices.ContainsFunc(x.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.Type != "" && x.typeOf(&c) != ""
	}) {
		return
	}
	for c := range x.consumers() {
		if want := x.typeOf(c); want != "" && c.Type == "" && len(c.Allocations) > 0 {
			r.add(Finding{
				About: []Subject{x.consumerSubject(c.UUID)}, Actual: "its consumer has no type", Expected: want,
				Command: "openstack --os-placement-api-version 1.38 resource provider allocation show " + c.UUID,
			})
		}
	}
}

func consumerTypeWrong(x *records, r *report) {
	for c := range x.consumers() {
		if want := x.typeOf(c); want != "" && c.Type != "" && c.Type != want {
			r.add(Finding{
				About: []Subject{x.consumerSubject(c.UUID)}, Actual: "its consumer has the type " + c.Type, Expected: want,
				Command: "openstack --os-placement-api-version 1.38 resource provider allocation show " + c.UUID,
			})
		}
	}
}

// ownerOf returns the server whose project and user a consumer must have, nil when there is none.
func (x *records) ownerOf(c *cloud.Consumer) *index.Server {
	if m := x.Migrations[c.UUID]; m != nil {
		return x.Servers[m.Server]
	}
	return x.Servers[c.UUID]
}

func consumerProjectWrong(x *records, r *report) {
	for c := range x.consumers() {
		if s := x.ownerOf(c); s != nil && s.Project != c.Project {
			r.add(Finding{
				About: []Subject{x.consumerSubject(c.UUID)}, Actual: "its allocations are of project " + c.Project,
				Expected: "project " + s.Project,
				Command:  "openstack resource provider allocation show " + c.UUID,
			})
		}
	}
}

func consumerUserWrong(x *records, r *report) {
	for c := range x.consumers() {
		if s := x.ownerOf(c); s != nil && s.User != c.User {
			r.add(Finding{
				About: []Subject{x.consumerSubject(c.UUID)}, Actual: "its allocations are of user " + c.User,
				Expected: "user " + s.User,
				Command:  "openstack resource provider allocation show " + c.UUID,
			})
		}
	}
}

func allocationOnMissingProvider(x *records, r *report) {
	for c := range x.consumers() {
		for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
			if x.ByUUID[uuid] == nil {
				r.add(Finding{
					About:    []Subject{x.consumerSubject(c.UUID), x.providerSubject(uuid)},
					Actual:   "it has allocated " + index.FormatAmounts(c.Allocations[uuid]) + " of a provider that is not there",
					Expected: "a provider with this UUID", Command: "berth db check",
				})
			}
		}
	}
}

func allocationWithoutInventory(x *records, r *report) {
	for c := range x.consumers() {
		eachAllocation(c, func(provider, class string, n int64) {
			p := x.ByUUID[provider]
			if p == nil {
				return
			}
			if _, ok := p.Inventories[class]; !ok {
				r.add(Finding{
					About:    []Subject{x.consumerSubject(c.UUID), x.providerSubject(provider)},
					Actual:   fmt.Sprintf("it has allocated %s %d", class, n),
					Expected: "an inventory of " + class, Command: "openstack resource provider inventory list " + provider,
				})
			}
		})
	}
}

func amountBreaksUnits(x *records, r *report) {
	for c := range x.consumers() {
		eachAllocation(c, func(provider, class string, n int64) {
			p := x.ByUUID[provider]
			if p == nil {
				return
			}
			i, ok := p.Inventories[class]
			if ok && (n < i.MinUnit || n > i.MaxUnit || i.StepSize > 0 && n%i.StepSize != 0) {
				r.add(Finding{
					About:    []Subject{x.consumerSubject(c.UUID), x.providerSubject(provider)},
					Actual:   fmt.Sprintf("it has allocated %s %d", class, n),
					Expected: fmt.Sprintf("an amount from %d to %d in steps of %d", i.MinUnit, i.MaxUnit, i.StepSize),
					Command:  "openstack resource provider inventory list " + provider,
				})
			}
		})
	}
}

func usageDiffers(x *records, r *report) {
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		classes := maps.Clone(p.Usages)
		if classes == nil {
			classes = map[string]int64{}
		}
		maps.Copy(classes, x.Allocated[p.UUID])
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			if used, sum := p.Usages[class], x.Allocated[p.UUID][class]; used != sum {
				r.add(Finding{
					About: []Subject{x.providerSubject(p.UUID)}, Actual: fmt.Sprintf("%d of %s are used", used, class),
					Expected: fmt.Sprintf("%d, which is the sum of the allocations", sum),
					Command:  "openstack resource provider usage show " + p.UUID,
				})
			}
		}
	}
}

// What is wrong with providers themselves.

func capacityExceeded(x *records, r *report) {
	x.inventories(func(p *cloud.Provider, class string, i cloud.Inventory) {
		capacity := placement.Inventory(i).Capacity()
		if used := p.Usages[class]; used > 0 && used > capacity && !placement.Inventory(i).ReservedInUse(used) {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: fmt.Sprintf("%d of %s are used", used, class),
				Expected: fmt.Sprintf("at most %d, which is (total %d - reserved %d) * %g", capacity, i.Total, i.Reserved,
					i.AllocationRatio),
				Command: "openstack resource provider show --allocations " + p.UUID,
			})
		}
	})
}

func reservedInUse(x *records, r *report) {
	x.inventories(func(p *cloud.Provider, class string, i cloud.Inventory) {
		if used := p.Usages[class]; placement.Inventory(i).ReservedInUse(used) && !index.OneTimeUse(p) && !index.Vanished(p) {
			r.add(Finding{
				About:    []Subject{x.providerSubject(p.UUID)},
				Actual:   fmt.Sprintf("%d of %s are used, and all %d are reserved", used, class, i.Total),
				Expected: "that it was reserved on purpose", Command: "openstack resource provider inventory list " + p.UUID,
			})
		}
	})
}

// vanishedDevice names those that have units of a device, or of a former class of it.
func vanishedDevice(x *records, r *report) {
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		if !index.Vanished(p) {
			continue
		}
		used := maps.Clone(p.Usages)
		maps.DeleteFunc(used, func(class string, n int64) bool {
			inventory := p.Inventories[class]
			return n <= 0 || inventory.Reserved < inventory.Total
		})
		if len(used) == 0 {
			continue
		}
		about := []Subject{x.providerSubject(p.UUID)}
		for c := range x.consumers() {
			if len(c.Allocations[p.UUID]) > 0 {
				about = append(about, x.consumerSubject(c.UUID))
			}
		}
		r.add(Finding{
			About: about, Actual: fmt.Sprintf("%s is allocated, which the host does not have any more (%s)",
				index.FormatAmounts(used), index.RemovedTrait),
			Expected: "no allocations of a device that vanished",
			Command:  "openstack resource provider show --allocations " + p.UUID,
		})
	}
}

func guaranteeOvercommitted(x *records, r *report) {
	x.inventories(func(p *cloud.Provider, class string, i cloud.Inventory) {
		used := p.Usages[class]
		if index.IsPortClass(class) && used > i.Total-i.Reserved && used <= placement.Inventory(i).Capacity() {
			r.add(Finding{
				About:  []Subject{x.providerSubject(p.UUID)},
				Actual: fmt.Sprintf("%d of %s are guaranteed, with an allocation ratio of %g", used, class, i.AllocationRatio),
				Expected: fmt.Sprintf("at most %d, which the device has (total %d - reserved %d)", i.Total-i.Reserved, i.Total,
					i.Reserved),
				Command: "openstack resource provider show --allocations " + p.UUID,
			})
		}
	})
}

func reservedAboveTotal(x *records, r *report) {
	x.inventories(func(p *cloud.Provider, class string, i cloud.Inventory) {
		if i.Reserved > i.Total {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: fmt.Sprintf("%d of %s are reserved", i.Reserved, class),
				Expected: fmt.Sprintf("at most the total, %d", i.Total),
				Command:  "openstack resource provider inventory list " + p.UUID,
			})
		}
	})
}

// inventories calls fn with each inventory, sorted.
func (x *records) inventories(fn func(p *cloud.Provider, class string, i cloud.Inventory)) {
	var classes []string // of each provider in turn
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		classes = slices.AppendSeq(classes[:0], maps.Keys(p.Inventories))
		slices.Sort(classes)
		for _, class := range classes {
			fn(p, class, p.Inventories[class])
		}
	}
}

func unknownClass(x *records, r *report) {
	x.inventories(func(p *cloud.Provider, class string, _ cloud.Inventory) {
		if _, ok := slices.BinarySearch(x.Placement.Classes, class); !ok {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: "it has an inventory of " + class,
				Expected: "a class that placement knows",
				Command:  "openstack --os-placement-api-version 1.2 resource class list",
			})
		}
	})
}

func unknownTrait(x *records, r *report) {
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		for _, trait := range p.Traits {
			if _, ok := slices.BinarySearch(x.Placement.Traits, trait); !ok {
				r.add(Finding{
					About: []Subject{x.providerSubject(p.UUID)}, Actual: "it has the trait " + trait,
					Expected: "a trait that placement knows",
					Command:  "openstack --os-placement-api-version 1.6 trait list",
				})
			}
		}
	}
}

func providerParentMissing(x *records, r *report) {
	for i := range x.Placement.Providers {
		if p := &x.Placement.Providers[i]; p.Parent != "" && x.ByUUID[p.Parent] == nil {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: "its parent " + p.Parent + " is not there",
				Expected: "a parent that is a provider, or none",
				Command:  "berth db check",
			})
		}
	}
}

func providerRootDiffers(x *records, r *report) {
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		if top := x.RootOf(p); p.Root != top.UUID {
			r.add(Finding{
				About: []Subject{x.providerSubject(p.UUID)}, Actual: "its root is " + p.Root,
				Expected: fmt.Sprintf("%s (%s), to which its parents lead", top.UUID, top.Name), Command: "berth db check",
			})
		}
	}
}
