package candidates

import (
	"math/bits"

	"github.com/berthcloud/berth/placement/snapshot"
)

// treeOptions are the providers that can serve each request of a query in one tree, the anchor,
// each looked at by itself. Its memory is used again for the next tree.
//
// Providers are numbered: those of the tree by their index, and after them the sharing
// providers that share with the tree.
type treeOptions struct {
	*compiledQuery
	tree      *snapshot.Tree // the anchor
	treeIndex int            // of it
	sharing   []int32        // the indexes in sharingProviders of those that share with the anchor

	providers []int32  // the numbers of those that can serve, one request after the other
	domains   []domain // a piece of providers for each request; those with the fewest options first
}

// A domain is the options of one request: a piece of treeOptions.providers.
type domain struct{ request, from, to int }

// open lists the options in a tree and reports whether every request has any. Requests with as many
// options keep the order of the query.
func (o *treeOptions) open(index int) bool {
	o.enter(index)
	root := o.tree.Root()
	if !o.rootQualifies(root) {
		return false
	}
	o.providers, o.domains = o.providers[:0], o.domains[:0]
	for k := range o.requests {
		if !o.list(k, root) {
			return false
		}
	}
	ds := o.domains
	for i := 1; i < len(ds); i++ { // by insertion: there are few
		for j := i; j > 0 && ds[j-1].to-ds[j-1].from > ds[j].to-ds[j].from; j-- {
			ds[j-1], ds[j] = ds[j], ds[j-1]
		}
	}
	return true
}

// enter makes a tree the anchor.
func (o *treeOptions) enter(index int) {
	o.treeIndex, o.tree = index, o.snapshot.Tree(index)
	o.sharing = o.sharing[:0]
	for i := range o.sharingProviders {
		if s := &o.sharingProviders[i]; s.anchors.has(index) && s.tree != o.tree {
			o.sharing = append(o.sharing, int32(i))
		}
	}
}

// list finds the options of request k and reports whether there are any.
func (o *treeOptions) list(k int, root *snapshot.Provider) bool {
	r := &o.requests[k]
	if r.excludesTree(root) {
		return false
	}
	from := len(o.providers)
	if r.within(o.treeIndex) {
		rootMember := r.rootCountsForAll(root)
		for at := 0; at<<6 < len(o.tree.Providers); at++ {
			for set := r.among(o.tree, at); set != 0; set &= set - 1 {
				number := at<<6 + bits.TrailingZeros64(set)
				if p := o.tree.Providers[number]; r.hasCapacity(p) && r.aggregatesMatch(p, rootMember) {
					o.providers = append(o.providers, int32(number))
				}
			}
		}
	}
	for i, at := range o.sharing {
		if o.sharingProviders[at].serves[k] {
			o.providers = append(o.providers, int32(len(o.tree.Providers)+i))
		}
	}
	o.domains = append(o.domains, domain{k, from, len(o.providers)})
	return len(o.providers) > from
}

// count is how many providers have a number.
func (o *treeOptions) count() int { return len(o.tree.Providers) + len(o.sharing) }

// sharingProvider returns the sharing provider of that number, nil when it is one of the tree.
func (o *treeOptions) sharingProvider(number int32) *sharingProvider {
	if at := int(number) - len(o.tree.Providers); at >= 0 {
		return &o.sharingProviders[o.sharing[at]]
	}
	return nil
}

// provider returns the provider of that number and its tree.
func (o *treeOptions) provider(number int32) (*snapshot.Provider, *snapshot.Tree) {
	if s := o.sharingProvider(number); s != nil {
		return s.provider, s.tree
	}
	return o.tree.Providers[number], o.tree
}
