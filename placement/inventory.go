package placement

import (
	"fmt"
	"math"

	"github.com/berthcloud/berth/fault"
)

// An Inventory is what a provider offers of one resource class. What a client leaves out has
// upstream's defaults (handlers.inventory.INVENTORY_DEFAULTS), which the wire package fills in.
type Inventory struct {
	Total    int64
	Reserved int64
	// MinUnit, MaxUnit and StepSize are rules for one allocation of one consumer, not for their
	// sum: it is at least MinUnit, at most MaxUnit, and a multiple of StepSize.
	MinUnit  int64
	MaxUnit  int64
	StepSize int64
	// AllocationRatio multiplies what is not reserved; 1.0 means no
	// overcommitment.
	AllocationRatio float64
}

// Usable returns the part that is not reserved times the ratio, before it is
// rounded. It is negative when more is reserved than there is in total.
func (i Inventory) Usable() float64 {
	return float64(i.Total-i.Reserved) * i.AllocationRatio
}

// Capacity returns how much of the class can be allocated in all: what is
// usable, rounded towards zero as upstream does. Beyond the range of an int64 it
// is the end of the range; a ratio that is no number leaves nothing.
func (i Inventory) Capacity() int64 {
	c := i.Usable()
	switch {
	case c >= math.MaxInt64:
		return math.MaxInt64
	case c > math.MinInt64:
		return int64(c)
	}
	return math.MinInt64
}

// ReservedInUse reports whether everything is reserved while it is in use: what is used would fit
// if nothing were reserved. No more is promised than there is then. Nova reserves bare-metal nodes
// with a server and one-time-use PCI devices so, and devices that have left are.
func (i Inventory) ReservedInUse(used int64) bool {
	whole := i
	whole.Reserved = 0
	return used > 0 && i.Reserved == i.Total && whole.Fits(used, 0)
}

// Admits reports whether one allocation of amount respects the unit and step
// rules, regardless of what is free.
func (i Inventory) Admits(amount int64) bool {
	// A division takes as long as all the rest, and most steps are 1.
	return amount >= i.MinUnit && amount <= i.MaxUnit && (i.StepSize == 1 || amount%i.StepSize == 0)
}

// Fits reports whether amount fits on top of used within the capacity. The
// comparison is made before rounding, as in upstream's claim. Ratios with a fraction make the
// difference: with 1.5 units usable a claim of 1 fits, and Capacity is 1.
func (i Inventory) Fits(used, amount int64) bool {
	return float64(used+amount) <= i.Usable()
}

// An InventoryOf is an inventory with the name of its class.
type InventoryOf struct {
	Class string
	Inventory
}

// An InventoryRule says what a request requires of the inventories it writes.
type InventoryRule struct {
	// Generation is the generation of the provider that the client saw, nil
	// when it need not say.
	Generation *Generation
	// MayBeFull allows inventories in which all is reserved (microversion
	// 1.26).
	MayBeFull bool
}

// Check refuses inventories that leave no capacity or cannot be stored, in words that
// begin with what was attempted. The first inventory that is refused decides. The texts are those
// of upstream's exceptions InvalidInventoryCapacity and InvalidInventoryCapacityReservedCanBeTotal.
func (r InventoryRule) Check(provider UUID, attempt string, invs ...InventoryOf) error {
	for _, inv := range invs {
		c := inv.Capacity()
		if c > 0 || c == 0 && r.MayBeFull {
			if why := inv.Unstorable(provider); why != "" {
				return fault.New(fault.Invalid, "", "%s for resource provider %s: %s", attempt, provider, why)
			}
			continue
		}
		limit := "greater than or equal to total"
		if r.MayBeFull {
			limit = "greater than total"
		}
		return fault.New(fault.Invalid, "",
			"%s for resource provider %s: Invalid inventory for '%s' on resource provider '%s'. The reserved value is %s.",
			attempt, provider, inv.Class, provider, limit)
	}
	return nil
}

// Unstorable is why an inventory cannot be stored, "" if it can. The schema of requests has a
// bound for big ratios only, and Python's JSON has numbers that are none. MySQL keeps the ratio
// with single precision, so that its largest number is the bound for all databases. NaN compares
// false and is refused as well.
func (i InventoryOf) Unstorable(provider UUID) string {
	if math.Abs(i.AllocationRatio) <= math.MaxFloat32 {
		return ""
	}
	return fmt.Sprintf("Invalid inventory for '%s' on resource provider '%s'. The allocation ratio %v cannot be stored.",
		i.Class, provider, i.AllocationRatio)
}

// Current refuses a provider whose generation is not the one the client saw. The code lets a client
// know that it may read the provider again and retry.
func (r InventoryRule) Current(p ProviderRow) error {
	if r.Generation != nil && *r.Generation != p.Generation {
		return fault.New(fault.Conflict, CodeConcurrentUpdate, "resource provider generation conflict")
	}
	return nil
}
