package snapshot

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// A Catalog is an immutable list of named things with numbers: the resource
// classes or the traits. It is safe for concurrent use.
type Catalog struct {
	list   []placement.Named
	byName map[string]int32 // index in list
	byID   map[int32]int32
}

// newCatalog returns a catalog of the entries, which may come in any order.
func newCatalog(list []placement.Named) Catalog {
	c := Catalog{
		list:   slices.Clone(list),
		byName: make(map[string]int32, len(list)),
		byID:   make(map[int32]int32, len(list)),
	}
	slices.SortFunc(c.list, func(a, b placement.Named) int { return cmp.Compare(a.ID, b.ID) })
	for i, n := range c.list {
		c.byName[n.Name] = int32(i)
		c.byID[n.ID] = int32(i)
	}
	return c
}

// List returns all entries in the order of their ids. It must not be changed.
func (c Catalog) List() []placement.Named { return c.list }

// Same reports whether the catalog has just these entries, which are in the
// order of their ids.
func (c Catalog) Same(list []placement.Named) bool {
	return slices.EqualFunc(c.list, list, func(a, b placement.Named) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Modified.Equal(b.Modified)
	})
}

// renamed reports whether any id that is in both catalogs has another name in
// the later one.
func (c Catalog) renamed(later Catalog) bool {
	return slices.ContainsFunc(c.list, func(n placement.Named) bool {
		name := later.Name(n.ID)
		return name != "" && name != n.Name
	})
}

// Named returns the entry of that name, false when there is none.
func (c Catalog) Named(name string) (placement.Named, bool) {
	i, ok := c.byName[name]
	if !ok {
		return placement.Named{}, false
	}
	return c.list[i], true
}

// Name returns the name of the entry with that id, empty when there is none.
func (c Catalog) Name(id int32) string {
	i, ok := c.byID[id]
	if !ok {
		return ""
	}
	return c.list[i].Name
}

// id returns the id of the entry of that name, 0 when there is none. No trait
// has the id 0.
func (c Catalog) id(name string) int32 {
	n, _ := c.Named(name)
	return n.ID
}
