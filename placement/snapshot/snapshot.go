// Package snapshot is the immutable view of all providers that reads are answered from, with its
// indexes, and how one snapshot is made from another. It reads no store: rows and changes are given
// to it.
//
// [New] makes a snapshot from all rows. WithTrees replaces trees by others made from rows,
// WithChanges by those that a transaction made (replacement.go), and WithCatalogs the names of
// classes and traits. All go through an edit (edit.go), which copies what changes and shares the
// rest, so that a snapshot that is in use never changes.
//
// From the top down: edit.go and listing.go (GET /resource_providers) use the Snapshot; a [Tree] is
// made of rows in build.go. Below are the indexes, each for one question: which trees have a class,
// trait or aggregate (edit.go), how much of a class any provider of a tree has free (capacity.go),
// which provider has a name or UUID (index.go), what there is in all (totals.go), and what trees of
// equal hosts share (layout.go). pages.go is the vector they are kept in.
//
// Consumers and allocations are not in a snapshot: requests about them read the database.
//
// # Sharing
//
// A tree has an index, a small number that is its bit in the bit sets. It keeps the index while it
// exists; an index that no tree has is used again. Successive snapshots share what did not change:
// trees are in pages of 256, the maps by UUID, name and root id are tables of places by hash, and
// other maps and the bit sets are copied when something in them changes.
package snapshot

import (
	"iter"
	"math/bits"
	"strings"
	"time"

	"github.com/berthcloud/berth/placement"
)

// A Snapshot is an immutable view of all providers, with the catalogs of
// classes, traits and aggregates and the indexes that lead from those to
// trees. Successive snapshots share all that did not change. A Snapshot is safe for
// concurrent use and never changes; a Service has the current one.
type Snapshot struct {
	classes Catalog
	traits  Catalog
	names   *Names
	sharing placement.TraitID // of SharesViaAggregate, 0 when there is no such trait

	aggregateIDs   map[placement.UUID]placement.AggregateID
	aggregateUUIDs map[placement.AggregateID]placement.UUID

	trees     pages[*Tree]
	unused    []int32 // indexes that are empty, used again before new ones
	size      int     // trees
	providers int
	nested    int   // providers that are not roots
	byUUID    index // of the keys that uuidKey and nameKey make
	byName    index
	byRoot    index // of the ids of roots

	// withClass, withTrait, withAggregate and withSharing are bit sets of tree indexes. Each is
	// immutable, and shared by snapshots until it changes.
	withClass     map[placement.ClassID][]uint64
	withTrait     map[placement.TraitID][]uint64
	withAggregate map[placement.AggregateID][]uint64
	withSharing   []uint64

	totals map[placement.ClassID]Totals // without their Class; of classes with inventory
	free   map[placement.ClassID]FreeCapacity
	// layouts are those that trees have or had, at most maxLayouts.
	layouts []*Layout

	fold  bool // names and UUIDs are the same in upper and lower case
	like  bool // so they are in patterns
	built time.Time
}

// uuidKey is a UUID as the maps have it.
func (s *Snapshot) uuidKey(uuid placement.UUID) placement.UUID {
	if s.fold {
		return placement.UUID(strings.ToLower(string(uuid)))
	}
	return uuid
}

// nameKey is a provider's name as the maps have it.
func (s *Snapshot) nameKey(name string) string {
	if s.fold {
		return strings.ToLower(name)
	}
	return name
}

// Built returns when the snapshot was read from the store.
func (s *Snapshot) Built() time.Time { return s.built }

// Len returns how many providers there are.
func (s *Snapshot) Len() int { return s.providers }

// TreeCount returns how many trees there are.
func (s *Snapshot) TreeCount() int { return s.size }

// Nested reports whether any provider has a parent.
func (s *Snapshot) Nested() bool { return s.nested > 0 }

// Classes and Traits return the catalogs.
func (s *Snapshot) Classes() Catalog { return s.classes }

// Traits returns the catalog of traits.
func (s *Snapshot) Traits() Catalog { return s.traits }

// Names stands for the names that classes and traits have: the same pointer in
// another snapshot says that what both know is called the same in both.
type Names struct{ _ byte }

// Names returns what stands for the names in this snapshot.
func (s *Snapshot) Names() *Names { return s.names }

// Class returns the id of a resource class, false when there is none of that
// name.
func (s *Snapshot) Class(name string) (placement.ClassID, bool) {
	n, ok := s.classes.Named(name)
	return placement.ClassID(n.ID), ok
}

// ClassName returns the name of a class, empty when there is none.
func (s *Snapshot) ClassName(id placement.ClassID) string { return s.classes.Name(int32(id)) }

// Trait returns the id of a trait, false when there is none of that name.
func (s *Snapshot) Trait(name string) (placement.TraitID, bool) {
	n, ok := s.traits.Named(name)
	return placement.TraitID(n.ID), ok
}

// TraitName returns the name of a trait, empty when there is none.
func (s *Snapshot) TraitName(id placement.TraitID) string { return s.traits.Name(int32(id)) }

// FoldsNames reports whether the store takes more names for the same than those that are: at least
// upper and lower case.
func (s *Snapshot) FoldsNames() bool { return s.fold }

// FoldsLike reports whether the store takes upper and lower case for the same
// when it looks for names by a pattern.
func (s *Snapshot) FoldsLike() bool { return s.like }

// Aggregate returns the id of an aggregate, false when no provider was ever a
// member of it.
func (s *Snapshot) Aggregate(uuid placement.UUID) (placement.AggregateID, bool) {
	id, ok := s.aggregateIDs[s.uuidKey(uuid)]
	return id, ok
}

// Aggregates returns the ids of aggregates, in the order of uuids. Those that no provider was ever
// a member of are left out.
func (s *Snapshot) Aggregates(uuids []placement.UUID) []placement.AggregateID {
	ids := make([]placement.AggregateID, 0, len(uuids))
	for _, uuid := range uuids {
		if id, ok := s.Aggregate(uuid); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// AggregateUUID returns the UUID of an aggregate.
func (s *Snapshot) AggregateUUID(id placement.AggregateID) placement.UUID {
	return s.aggregateUUIDs[id]
}

// Provider finds a provider and its tree, nil when there is none.
func (s *Snapshot) Provider(uuid placement.UUID) (*Provider, *Tree) {
	key := s.uuidKey(uuid)
	for at := range s.byUUID.at(hashText(string(key))) {
		if t := s.trees.get(at.tree); s.uuidKey(t.Providers[at.index].UUID) == key {
			return t.Providers[at.index], t
		}
	}
	return nil, nil
}

// ProviderNamed finds a provider by its name, nil when there is none.
func (s *Snapshot) ProviderNamed(name string) (*Provider, *Tree) {
	key := s.nameKey(name)
	for at := range s.byName.at(hashText(key)) {
		if t := s.trees.get(at.tree); s.nameKey(t.Providers[at.index].Name) == key {
			return t.Providers[at.index], t
		}
	}
	return nil, nil
}

// TreeOf returns the tree with that root, nil when there is none.
func (s *Snapshot) TreeOf(root int64) *Tree {
	for at := range s.byRoot.at(hashID(root)) {
		if t := s.trees.get(at.tree); t.Root().ID == root {
			return t
		}
	}
	return nil
}

// Trees yields all trees in the order of their indexes.
func (s *Snapshot) Trees() iter.Seq[*Tree] {
	return func(yield func(*Tree) bool) {
		for index := range s.trees.len {
			if t := s.trees.get(index); t != nil && !yield(t) {
				return
			}
		}
	}
}

// Tree returns the tree at an index, nil when no tree has it.
func (s *Snapshot) Tree(index int) *Tree {
	if index < 0 || int32(index) >= s.trees.len {
		return nil
	}
	return s.trees.get(int32(index))
}

// IndexLimit returns how many indexes there are, empty ones included: the length of a
// bit set over trees.
func (s *Snapshot) IndexLimit() int { return int(s.trees.len) }

// WithClass returns the indexes of the trees in which a provider has inventory of
// the class, as a bit set that must not be changed; it may be shorter than
// IndexLimit.
func (s *Snapshot) WithClass(id placement.ClassID) []uint64 { return s.withClass[id] }

// OnePerTree reports whether no tree has two providers with inventory of the class.
func (s *Snapshot) OnePerTree(id placement.ClassID) bool {
	trees := int64(0)
	for _, word := range s.withClass[id] {
		trees += int64(bits.OnesCount64(word))
	}
	return trees == s.totals[id].Providers
}

// WithTrait is WithClass for the trees in which a provider has the trait.
func (s *Snapshot) WithTrait(id placement.TraitID) []uint64 { return s.withTrait[id] }

// WithAggregate is WithClass for the trees in which a provider is a member of
// the aggregate.
func (s *Snapshot) WithAggregate(id placement.AggregateID) []uint64 {
	return s.withAggregate[id]
}

// WithSharing is WithClass for the trees in which a provider has the trait
// SharesViaAggregate.
func (s *Snapshot) WithSharing() []uint64 { return s.withSharing }

// TraitAssociated reports whether any provider has the trait.
func (s *Snapshot) TraitAssociated(id placement.TraitID) bool {
	for _, word := range s.WithTrait(id) {
		if word != 0 {
			return true
		}
	}
	return false
}

// FreeCapacity returns what single providers could give of a class.
func (s *Snapshot) FreeCapacity(id placement.ClassID) FreeCapacity { return s.free[id] }

// Totals returns the sums of each class of which there is inventory, in the order of the
// classes. They are updated as providers change: reading costs as much as there are classes.
func (s *Snapshot) Totals() []Totals {
	var all []Totals
	for _, n := range s.classes.List() {
		if t, ok := s.totals[placement.ClassID(n.ID)]; ok {
			t.Class = placement.ClassID(n.ID)
			all = append(all, t)
		}
	}
	return all
}
