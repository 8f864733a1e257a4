// Package placement has the types and rules of the OpenStack Placement service: providers,
// inventories, claims, queries, faults, and the interface of the Store that has the data. It knows
// no HTTP, no SQL and no API versions. The snapshot that reads are answered from is in package
// snapshot, the service itself in package service.
//
// Requests come in as a [Query] (a search for candidates), a [Claim], a [Reshape] or a change of a
// provider (provider.go, inventory.go); the rules that need no state are methods of these. [Store]
// is what the service reads rows from and writes them to (store.go, store_rows.go, claim_rows.go),
// and [Changes] how it learns what to read again. A fault carries one of upstream's codes
// (codes.go). EnsureStandard adds the resource classes and traits that every cloud has
// (standard.go).
package placement

import (
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

// MaxInt is the largest amount that the database and the API allow: upstream's columns are of 32
// bits, and placement.db.constants.MAX_INT is the maximum in its schemas.
const MaxInt = 0x7FFFFFFF

// A Named is a resource class or a trait as the store keeps it.
type Named struct {
	ID   int32
	Name string
	// Modified is when the row was last changed; zero when the store does
	// not know.
	Modified time.Time
}
