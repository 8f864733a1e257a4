package placement

// A Query requests allocation candidates: ways to satisfy all its groups at
// once. Names in it are as the client wrote them; the search resolves them and
// refuses those that do not exist.
type Query struct {
	// Groups in the order in which the client first named them. At most one
	// has an empty Suffix.
	Groups []RequestGroup
	// Isolate demands that the suffixed groups be satisfied by different
	// providers (group_policy=isolate).
	Isolate bool
	// RootRequired and RootForbidden are traits that the root of the
	// anchor's tree must and must not have.
	RootRequired  []string
	RootForbidden []string
	// SameSubtrees are sets of suffixes: the providers of the groups of one
	// set must all be below (or be) one provider among them.
	SameSubtrees [][]string
	// Limit is how many candidates are wanted, 0 for all.
	Limit int
	// Flat requests the answers of clients that do not know of trees
	// (microversions before 1.29): no two providers of one tree together.
	Flat bool
	// Sample, when not nil, makes the candidates a uniform random sample in
	// random order, the same for the same seed.
	Sample *Sample
	// Max is the most candidates to generate before Limit and Sample are
	// applied ([placement]max_allocation_candidates), 0 for no bound.
	Max int
	// BreadthFirst takes one candidate of each tree, then another of each, instead of all
	// of one tree before the next
	// ([placement]allocation_candidates_generation_strategy).
	BreadthFirst bool
}

// A Sample seeds the random choice of candidates.
type Sample struct{ Seed uint64 }

// A RequestGroup is a set of resources with the constraints on who provides
// them. The group with the empty suffix may be spread over a tree and the
// providers that share with it; a suffixed one is satisfied by one provider.
type RequestGroup struct {
	Suffix    string
	Resources []ClassAmount
	// Required is a conjunction of disjunctions: of each inner list at
	// least one trait is needed.
	Required  [][]string
	Forbidden []string
	// MemberOf is a conjunction of disjunctions of aggregates, NotMemberOf
	// a list of aggregates of which none may contain the provider.
	MemberOf    [][]UUID
	NotMemberOf []UUID
	// InTree restricts the group to the tree that this provider is in,
	// unless empty.
	InTree UUID
}

// A ClassAmount is an amount of a resource class by name. A class appears at
// most once in a group.
type ClassAmount struct {
	Class  string
	Amount int64
}
