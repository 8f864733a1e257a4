package placement

// A Claimant is a consumer as the store has it; ID is 0 when it has none.
type Claimant struct {
	ID         int64
	UUID       UUID
	Generation Generation
	Holds      []Hold
	// Spelled says that there is a row of another spelling that the store
	// takes for the same: the rest is not to be relied on.
	Spelled bool
}

// Row is the consumer without its owners.
func (c Claimant) Row() ConsumerRow {
	return ConsumerRow{ID: c.ID, UUID: c.UUID, Generation: c.Generation}
}

// A Hold is what a consumer holds of one class on one provider, with the root of
// the provider's tree. Root is 0 where the tree needs no check, and ProviderUUID is empty
// when there is no such provider any more.
type Hold struct {
	Provider     int64
	ProviderUUID UUID
	Root         int64
	Class        ClassID
	Used         int64
}

// ClaimRows are what claims change. Every row says what it must find.
type ClaimRows struct {
	Providers   []ProviderRise
	Made        []ConsumerRow   // consumers that do not exist: they begin at generation 1
	Kept        []ConsumerRow   // of this generation: they rise by one and get these owners, and the type unless it is empty
	Gone        []ConsumerRow   // of this generation: they are removed; owners do not count
	Allocations []AllocationRow // to add

	// Freed is all that the consumers hold, those included that are to be made or have
	// no row: it is removed.
	Freed map[UUID][]Hold
}

// A ProviderRise raises the generation of a provider that is of From and in the
// tree of Root.
type ProviderRise struct {
	ID, Root int64
	From, By Generation
}
