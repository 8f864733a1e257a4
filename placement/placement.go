// Package placement records a cloud's resources: providers, their inventories, traits and aggregates, and the
// allocations of consumers. It has the rules of the OpenStack Placement service, and the snapshot that
// reads are answered from. It knows no HTTP, no SQL and no API versions.
//
// The Store has the data. The Snapshot is an immutable view of the providers, replaced after every commit;
// consumers are not in it and are read from the Store.
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
