package candidates

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A compiledQuery is a query with its names resolved in one snapshot. It
// does not change once it is compiled.
type compiledQuery struct {
	snapshot  *snapshot.Snapshot
	requested placement.Query
	groups    []string // suffixes, in the order of the query
	requests  []request
	// classes are the requested ones, sorted.
	classes []placement.ClassID
	// commonClasses is how many classes are wanted by more than one request: only
	// for those must a search keep what is left.
	commonClasses int
	// sameSubtrees are the sets of same_subtree, as sets of requests.
	sameSubtrees []bitset
	// required are the traits the providers of the unsuffixed group must
	// have between them.
	required      [][]placement.TraitID
	rootRequired  []placement.TraitID
	rootForbidden []placement.TraitID

	sharingProviders []sharingProvider
	// candidateTrees are those that may anchor a candidate, as far as the indexes can
	// show, but for the free capacity that the largest amount of each class needs.
	candidateTrees bitset
	largest        []largestAmount

	// unknown says that a class or a trait does not exist; impossible that
	// nothing can satisfy a group, whatever the providers have left.
	unknown    bool
	impossible bool
	// resolved is how many groups there are before the first with an unknown name.
	resolved int
}

// A request is what one provider must satisfy: a suffixed group, or one class of
// the unsuffixed group.
type request struct {
	group    int
	granular bool
	needs    []need
	common   []need // those of needs whose class another request needs too
	// required are any-of sets that the provider itself must satisfy; the
	// unsuffixed group's are in compiledQuery.required instead.
	required    [][]placement.TraitID
	forbidden   []placement.TraitID
	memberOf    [][]placement.AggregateID
	notMemberOf []placement.AggregateID
	// inTree is the index of the only tree whose providers may serve, -1 for
	// any.
	inTree int
}

// A need is an amount of one class.
type need struct {
	class  placement.ClassID
	amount int64
	common int // in request.common: the number of the class among those that several requests want
}

// A sharingProvider is a provider with the trait SharesViaAggregate that could serve
// some request.
type sharingProvider struct {
	provider *snapshot.Provider
	tree     *snapshot.Tree
	// anchors are the trees it shares with: those with a member in one of
	// its aggregates. Its own tree is there when it is in any aggregate.
	anchors bitset
	// serves says for each request whether the provider can serve it at an
	// anchor that is not its own tree.
	serves []bool
}

// A largestAmount is the most that one request wants of a class.
type largestAmount struct {
	free   snapshot.FreeCapacity
	amount int64
}
