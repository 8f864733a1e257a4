package snapshot

import (
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Provider is a resource provider in a snapshot. It is immutable
// and safe for concurrent use.
type Provider struct {
	ID         int64
	UUID       placement.UUID
	Name       string
	Generation placement.Generation
	Modified   placement.Stamp
	// Parent is the index of the parent in the tree's Providers, -1 for the
	// root.
	Parent int
	// Index is this provider's own index there.
	Index int
	// Inventories in the order of their classes.
	Inventories []Inventory
	// Traits and Aggregates in the order of their ids.
	Traits     []placement.TraitID
	Aggregates []placement.AggregateID
	parentID   int64 // as its row has it
	// Shares says that the provider has the trait SharesViaAggregate.
	Shares bool
	// PlainUUID says that the UUID has hexadecimal digits and dashes only, which are the same in every
	// text format.
	PlainUUID bool
}

// An Inventory is a provider's inventory of one class with the amount of it that is allocated.
// Equal inventories share one placement.Inventory, which therefore must not be changed.
type Inventory struct {
	Class placement.ClassID
	*placement.Inventory
	Used     int64
	Modified placement.Stamp
}

// Inventory returns what the provider offers of a class, or nil.
func (p *Provider) Inventory(class placement.ClassID) *Inventory {
	for i := range p.Inventories {
		if p.Inventories[i].Class == class {
			return &p.Inventories[i]
		}
	}
	return nil
}

// HasTrait reports whether the provider has the trait.
func (p *Provider) HasTrait(id placement.TraitID) bool {
	_, ok := slices.BinarySearch(p.Traits, id)
	return ok
}

// InAggregate reports whether the provider itself is a member of the aggregate.
func (p *Provider) InAggregate(id placement.AggregateID) bool {
	_, ok := slices.BinarySearch(p.Aggregates, id)
	return ok
}

// HasFree reports whether amount of the inventory can be allocated now: within min_unit, max_unit
// and step_size, and within the capacity with what is allocated already.
func (s *Inventory) HasFree(amount int64) bool {
	return s.Admits(amount) && s.Fits(s.Used, amount)
}

// Most returns the greatest amount that can be allocated now in one allocation, 0 when none can.
func (s *Inventory) Most() int64 {
	most := min(s.Capacity()-s.Used, s.MaxUnit)
	if s.StepSize > 1 {
		most -= most % s.StepSize
	}
	if most < s.MinUnit || !s.HasFree(most) {
		return 0
	}
	return most
}

// freeEntry is the entry of an inventory: the most that may be requested of it now.
func (s *Inventory) freeEntry() int32 {
	const precise = 1 << 53 // beyond, a float64 does not distinguish whole numbers
	sane := 0 <= s.Used && s.Used < precise/2
	most := s.MaxUnit
	if u := s.Usable(); sane && !(u >= 1) { // also when it is no number
		most = 0
	} else if sane && u < precise {
		most = min(most, int64(u)-s.Used)
	}
	return int32(min(max(most, 0), entryEnd))
}
