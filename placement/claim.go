package placement

// A Claim is all that one consumer has allocated from now on; a consumer without allocations is
// deleted (by PUT since microversion 1.28, by POST /allocations since 1.13).
type Claim struct {
	Consumer UUID
	// Project and User own the consumer. When Project is empty the
	// configured stand-ins do (clients before microversion 1.8).
	Project, User string
	// Type is the consumer type, empty to leave it as it is (clients before
	// microversion 1.38).
	Type string
	// Seen is what the client knows of the consumer, nil when it need not
	// say (before microversion 1.28).
	Seen        *ConsumerSeen
	Allocations []ProviderAllocation
}

// ConsumerSeen is what a client knows of a consumer: that it does not exist,
// or its generation.
type ConsumerSeen struct {
	Exists     bool
	Generation Generation
	// Spelled is how the client wrote the generation where that differs from
	// its digits; conflicts repeat it.
	Spelled string
}

// A ProviderAllocation is what a consumer has allocated on one provider, each class once.
type ProviderAllocation struct {
	Provider  UUID
	Resources []ClassAmount
}

// A Reshape replaces the inventories of providers and the allocations of
// consumers in one step, so that inventory in use can move from one provider to
// another (POST /reshaper, microversion 1.30).
type Reshape struct {
	Inventories []ProviderInventories
	Claims      []Claim
}

// ProviderInventories is all that a provider is to offer. Generation is the one
// that the client saw.
type ProviderInventories struct {
	Provider    UUID
	Generation  Generation
	Spelled     string // the generation as the client wrote it, if not as its digits
	Inventories []InventoryOf
}
