// Package placement records a cloud's resources: providers, their inventories, traits and aggregates, and the
// allocations of consumers. It has the rules of the OpenStack Placement service, and the snapshot that
// reads are answered from. It knows no HTTP, no SQL and no API versions.
//
// The Store has the data. The Snapshot is an immutable view of the providers, replaced after every commit;
// consumers are not in it and are read from the Store.
package placement

import (
	"math"
	"time"
)

// A UUID names a provider, a consumer or an aggregate. It is text, and two
// UUIDs are the same when their texts are: upstream keeps aggregates and
// consumers as the client spelled them, so no spelling may be normalised here.
type UUID string

// A ClassID is the number a store gave a resource class. Standard classes have
// their index in StandardClasses, custom ones start at FirstCustomClass.
type ClassID int32

// A TraitID is the number a store gave a trait.
type TraitID int32

// An AggregateID is the number a store gave an aggregate.
type AggregateID int32

// A Generation counts the changes of a provider or a consumer. A writer names
// the generation it saw and is refused when the current one differs.
type Generation int64

// FirstCustomClass is the lowest ClassID of a custom resource class, as
// upstream's resource_class.MIN_CUSTOM_RESOURCE_CLASS_ID.
const FirstCustomClass ClassID = 10000

// SharesViaAggregate is the trait of a provider whose inventory may be used by
// all trees that have a member in one of its aggregates.
const SharesViaAggregate = "MISC_SHARES_VIA_AGGREGATE"

// MaxInt is the largest amount the database and the API can hold.
const MaxInt = 0x7FFFFFFF

// An Inventory is what a provider offers of one resource class.
type Inventory struct {
	Total    int64
	Reserved int64
	MinUnit  int64
	MaxUnit  int64
	StepSize int64
	// AllocationRatio multiplies what is not reserved; 1.0 means no
	// overcommitment.
	AllocationRatio float64
}

// Usable returns the part that is not reserved times the ratio, before it is
// rounded.
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

// Admits reports whether one allocation of amount respects the unit and step
// rules, regardless of what is free.
func (i Inventory) Admits(amount int64) bool {
	// A division takes as long as all the rest, and most steps are 1.
	return amount >= i.MinUnit && amount <= i.MaxUnit && (i.StepSize == 1 || amount%i.StepSize == 0)
}

// Fits reports whether amount fits on top of used within the capacity. The
// comparison is made before rounding, as in upstream's claim.
func (i Inventory) Fits(used, amount int64) bool {
	return float64(used+amount) <= i.Usable()
}

// A Named is a resource class or a trait as the store keeps it.
type Named struct {
	ID   int32
	Name string
	// Modified is when the row was last changed; zero when the store does
	// not know.
	Modified time.Time
}
