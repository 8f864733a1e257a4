// Package placement has the types and rules of the OpenStack Placement service: providers, inventories, claims,
// queries, faults, and the interface of the Store that has the data. It knows no HTTP, no SQL and no API versions.
// The snapshot that reads are answered from is in package snapshot, the service itself in package service.
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

// MaxInt is the largest amount the database and the API can hold.
const MaxInt = 0x7FFFFFFF

// A Named is a resource class or a trait as the store keeps it.
type Named struct {
	ID   int32
	Name string
	// Modified is when the row was last changed; zero when the store does
	// not know.
	Modified time.Time
}
