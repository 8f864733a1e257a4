package placement

import "slices"

// Changes are parts of the snapshot that transactions changed, or that a refusal
// is based on. The zero value is none. It is not safe for concurrent use: each transaction fills in
// its own.
type Changes struct {
	Roots map[int64]bool // trees, by root id
	// TreeChanges are what became of trees, in their order: a snapshot that has the
	// tree a change begins with need not read it. They say nothing to other
	// processes but that the trees changed.
	TreeChanges []TreeChange
	Catalogs    bool // the names of classes or traits
	All         bool // anything, the catalogs included
	// Requests are the changes as watchers see them. They are for the change log only: the snapshot
	// does not need them.
	Requests []RequestEvents
}

// Tree adds the tree with that root. More than one call for a root is as good as one.
func (c *Changes) Tree(root int64) {
	if c.Roots == nil {
		c.Roots = make(map[int64]bool)
	}
	c.Roots[root] = true
}

// Add adds more changes; more stays as it is. The list of tree changes becomes a new one, so that
// no two values append to the same array.
func (c *Changes) Add(more Changes) {
	for root := range more.Roots {
		c.Tree(root)
	}
	c.TreeChanges = slices.Concat(c.TreeChanges, more.TreeChanges)
	c.Catalogs = c.Catalogs || more.Catalogs
	c.All = c.All || more.All
	c.Requests = append(c.Requests, more.Requests...)
}

// Empty reports whether nothing changed.
func (c Changes) Empty() bool {
	return len(c.Roots) == 0 && len(c.TreeChanges) == 0 && !c.Catalogs && !c.All
}

// AsRoots is c with the roots of the changed trees in the place of TreeChanges, and without
// Requests. It is what followers need and what outlives the snapshot that a TreeChange begins with.
func (c Changes) AsRoots() Changes {
	plain := Changes{Catalogs: c.Catalogs, All: c.All}
	for root := range c.Roots {
		plain.Tree(root)
	}
	for _, s := range c.TreeChanges {
		plain.Tree(s.RootID())
	}
	return plain
}

// A TreeChange is a tree before and after a transaction, in the form of the snapshot package.
// Stores pass it on as it is.
type TreeChange interface {
	// RootID is the id of the tree's root.
	RootID() int64
}
