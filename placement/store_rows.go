package placement

import "time"

// A TreeRows is the rows of whole trees. Each list is in the order of provider ids, and within a
// provider of the ids of what the row is about.
type TreeRows struct {
	Providers   []ProviderRow
	Inventories []InventoryRow
	Traits      []ProviderTraitRow
	Aggregates  []AggregateRow
	// FoldCase says that the store takes upper and lower case for the same
	// when it compares names and UUIDs: MySQL does, unless the collation is binary.
	FoldCase bool
	// FoldLike says that it does so when it looks for names by a pattern:
	// PostgreSQL does not.
	FoldLike bool
}

// A ProviderRow is a resource provider as the store keeps it.
type ProviderRow struct {
	ID         int64
	UUID       UUID
	Name       string
	Generation Generation
	// Parent and Root are provider ids. Parent is 0 for a root, whose Root
	// is its own id.
	Parent, Root int64
	Modified     time.Time
	// Updated says that Modified is the time of a change and not of the
	// creation. A root counts as changed at once: upstream writes its root
	// in a second step. It is ignored when written.
	Updated bool
}

// An InventoryRow is what one provider offers of one class and how much of it
// is allocated.
type InventoryRow struct {
	Provider int64
	Class    ClassID
	Inventory
	Used     int64
	Modified time.Time
}

// A ProviderTraitRow says that a provider has a trait.
type ProviderTraitRow struct {
	Provider int64
	Trait    TraitID
}

// An AggregateRow says that a provider is a member of an aggregate.
type AggregateRow struct {
	Provider int64
	ID       AggregateID
	UUID     UUID
}

// A ConsumerRow is a consumer as the store keeps it. Project and User are the
// identity service's ids; Type is the name of its consumer type, empty when it
// has none (consumers from before microversion 1.38).
type ConsumerRow struct {
	ID         int64
	UUID       UUID
	Project    string
	User       string
	Type       string
	Generation Generation
}

// An AllocationRow is what a consumer has allocated of one class on one provider.
// ProviderUUID, ProviderGeneration, ConsumerGeneration and Modified are filled
// in when read and ignored when written.
type AllocationRow struct {
	Provider           int64
	ProviderUUID       UUID
	ProviderGeneration Generation
	Consumer           UUID
	ConsumerGeneration Generation
	Class              ClassID
	Used               int64
	Modified           time.Time
}

// ConsumerAllocations are the allocations of one consumer, with the consumer.
type ConsumerAllocations struct {
	Consumer    ConsumerRow
	Allocations []AllocationRow
}

// A ProjectUsage is what the consumers of a project, or of one of its users, have allocated.
type ProjectUsage struct {
	Rows []UsageRow
	// Consumers counts the consumers with allocations by their type;
	// the key is empty for those without one.
	Consumers map[string]int64
}

// A UsageRow is the sum of one class over the consumers of one type (empty
// for consumers without one).
type UsageRow struct {
	Class ClassID
	Type  string
	Used  int64
}
