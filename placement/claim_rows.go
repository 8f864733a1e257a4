package placement

// A ConsumerState is a consumer as the store has it; ID is 0 when it has none.
type ConsumerState struct {
	ID          int64
	UUID        UUID
	Generation  Generation
	Allocations []AllocatedAmount
	// Spelled says that there is a row of another spelling that the store
	// takes for the same: the rest is not to be relied on.
	Spelled bool
}

// Row is the consumer without its owners.
func (c ConsumerState) Row() ConsumerRow {
	return ConsumerRow{ID: c.ID, UUID: c.UUID, Generation: c.Generation}
}

// An AllocatedAmount is what a consumer has allocated of one class on one provider, with the root
// of the provider's tree. Root is 0 where the tree needs no check, and ProviderUUID is empty when
// there is no such provider any more.
type AllocatedAmount struct {
	Provider     int64
	ProviderUUID UUID
	Root         int64
	Class        ClassID
	Used         int64
}

// ClaimRows are what claims change. Every row says what it must find.
type ClaimRows struct {
	Bumps   []ProviderBump
	Inserts []ConsumerRow // consumers that do not exist: they begin at generation 1
	// of this generation: they rise by one and get these owners, and the type unless it is empty
	Updates     []ConsumerRow
	Deletes     []ConsumerRow   // of this generation: they are removed; owners do not count
	Allocations []AllocationRow // to add

	// Released are all allocations of the consumers, those included that are inserted or have
	// no row: they are removed.
	Released map[UUID][]AllocatedAmount
}

// A ProviderBump raises the generation of a provider that is of From and in the
// tree of Root.
type ProviderBump struct {
	ID, Root int64
	From, By Generation
}
