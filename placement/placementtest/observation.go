package placementtest

import (
	"math"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// An Observation is all that can be seen of a snapshot, but for the indexes: snapshots of the same
// rows have the same.
type Observation struct {
	Len, TreeCount int
	Nested         bool
	Classes        []placement.Named
	Traits         []placement.Named
	Providers      map[placement.UUID]seen
	Trees          map[placement.UUID][]placement.UUID // by root
	WithClass      map[string][]placement.UUID         // roots
	WithTrait      map[string][]placement.UUID
	WithAggregate  map[placement.UUID][]placement.UUID
	WithSharing    []placement.UUID
	Associated     []string
	FreeCapacity   map[string]map[placement.UUID]int64 // by class and root
	Totals         []snapshot.Totals
}

// seen is a provider without its place.
type seen struct {
	placement.ProviderInfo
	ID          int64
	Inventories []snapshot.Inventory
	Traits      []placement.TraitID
	Aggregates  []placement.UUID
	Shares      bool
}

// Observe reads everything of a snapshot. It panics when indexes and trees do not fit together.
func Observe(w *snapshot.Snapshot) Observation {
	o := Observation{
		Len: w.Len(), TreeCount: w.TreeCount(), Nested: w.Nested(),
		Classes: w.Classes().List(), Traits: w.Traits().List(),
		Providers: make(map[placement.UUID]seen), Trees: make(map[placement.UUID][]placement.UUID),
		WithClass: make(map[string][]placement.UUID), WithTrait: make(map[string][]placement.UUID),
		WithAggregate: make(map[placement.UUID][]placement.UUID),
		WithSharing:   rootsOf(w, w.WithSharing()),
		FreeCapacity:  make(map[string]map[placement.UUID]int64),
		Totals:        w.Totals(),
	}
	for t := range w.Trees() {
		mustBe(w.Tree(t.Index()) == t && t.Index() < w.IndexLimit(), "a tree has its index")
		for _, p := range t.Providers {
			o.provider(w, t, p)
		}
		mustBeIndexed(w, t)
	}
	mustBe(slices.Equal(o.Totals, totalsOf(w)), "the totals are the sums of the inventories")
	for _, n := range o.Classes {
		o.WithClass[n.Name] = rootsOf(w, w.WithClass(placement.ClassID(n.ID)))
		o.FreeCapacity[n.Name] = observeFree(w, placement.ClassID(n.ID))
	}
	for _, n := range o.Traits {
		id, _ := w.Trait(n.Name)
		o.WithTrait[n.Name] = rootsOf(w, w.WithTrait(id))
		if w.TraitAssociated(id) {
			o.Associated = append(o.Associated, n.Name)
		}
	}
	return o
}

func (o *Observation) provider(w *snapshot.Snapshot, t *snapshot.Tree, p *snapshot.Provider) {
	byUUID, in := w.Provider(p.UUID)
	mustBe(byUUID == p && in == t, "a provider is found by its UUID")
	byName, _ := w.ProviderNamed(p.Name)
	mustBe(byName == p, "a provider is found by its name")
	same := func(q *snapshot.Provider) bool { return q.UUID == p.UUID }
	mustBe(t.Providers[p.Index] == p && slices.IndexFunc(t.Providers, same) == p.Index, "a provider is at its index")
	s := seen{ProviderInfo: t.Info(p), ID: p.ID, Inventories: p.Inventories, Traits: p.Traits, Shares: p.Shares}
	for _, id := range p.Aggregates {
		uuid := w.AggregateUUID(id)
		back, ok := w.Aggregate(uuid)
		mustBe(ok && back == id && p.InAggregate(id), "an aggregate is found by its UUID")
		s.Aggregates = append(s.Aggregates, uuid)
		o.WithAggregate[uuid] = rootsOf(w, w.WithAggregate(id))
	}
	o.Providers[p.UUID] = s
	o.Trees[t.Root().UUID] = append(o.Trees[t.Root().UUID], p.UUID)
}

func mustBe(claim bool, text string) {
	if !claim {
		panic("not so: " + text)
	}
}

// rootsOf names the trees in a bit set, sorted.
func rootsOf(w *snapshot.Snapshot, set []uint64) []placement.UUID {
	var roots []placement.UUID
	for i, word := range set {
		for bit := range 64 {
			if word&(1<<bit) != 0 {
				roots = append(roots, w.Tree(i*64+bit).Root().UUID)
			}
		}
	}
	slices.Sort(roots)
	return roots
}

// mostFree is more than any inventory of an observed snapshot has.
const mostFree = 20

// observeFree returns the biggest amount for which there may be free capacity in each
// tree, where there is any.
func observeFree(w *snapshot.Snapshot, class placement.ClassID) map[placement.UUID]int64 {
	free := w.FreeCapacity(class)
	amounts := make(map[placement.UUID]int64)
	for t := range w.Trees() {
		for amount := int64(1); hasFree(free, t.Index(), amount); amount++ {
			amounts[t.Root().UUID] = amount
		}
	}
	for _, amount := range []int64{-1, 0, 1, 4, 9, mostFree} {
		mustBe(!hasFree(free, w.IndexLimit()+1000, max(amount, 1)), "beyond the indexes nothing is free")
		for word := range w.IndexLimit()/64 + 2 {
			for _, among := range []uint64{math.MaxUint64, 5} {
				mustBe(free.Word(word, among, amount) == wordOf(free, word, among, amount), "a word has the bits of its trees")
			}
		}
	}
	return amounts
}

// hasFree is FreeCapacity.Word for one index.
func hasFree(r snapshot.FreeCapacity, index int, amount int64) bool {
	bit := uint64(1) << (index & 63)
	return r.Word(index>>6, bit, amount) == bit
}

// wordOf is FreeCapacity.Word one index at a time.
func wordOf(r snapshot.FreeCapacity, word int, among uint64, amount int64) (set uint64) {
	for bit := range 64 {
		if among&(1<<bit) != 0 && hasFree(r, word*64+bit, amount) {
			set |= 1 << bit
		}
	}
	return set
}

// mustBeIndexed checks what the indexes say of a tree against the tree.
func mustBeIndexed(w *snapshot.Snapshot, t *snapshot.Tree) {
	for _, p := range t.Providers {
		mustBeSet(t, t.Lineage(p.Index), func(q *snapshot.Provider) bool { return isAbove(t, q, p) })
	}
	for _, n := range w.Classes().List() {
		class := placement.ClassID(n.ID)
		offers := func(p *snapshot.Provider) bool { return p.Inventory(class) != nil }
		mustBeSet(t, t.WithClass(class), offers)
		for amount := int64(1); amount < mostFree; amount++ {
			mustHaveFree(w, t, class, amount)
		}
	}
	for _, n := range w.Traits().List() {
		id := placement.TraitID(n.ID)
		mustBeSet(t, t.WithTrait(id), func(p *snapshot.Provider) bool { return p.HasTrait(id) })
	}
}

// isAbove reports whether a provider is another or above it.
func isAbove(t *snapshot.Tree, p, other *snapshot.Provider) bool {
	for p != other && other.Parent >= 0 {
		other = t.Providers[other.Parent]
	}
	return p == other
}

// mustBeSet checks a set of the tree's providers.
func mustBeSet(t *snapshot.Tree, set []uint64, has func(*snapshot.Provider) bool) {
	for _, p := range t.Providers {
		in := set != nil && set[p.Index>>6]&(1<<(p.Index&63)) != 0
		mustBe(in == has(p), "a provider is in the sets of what it has")
	}
}

func mustHaveFree(w *snapshot.Snapshot, t *snapshot.Tree, class placement.ClassID, amount int64) {
	free := false
	for _, p := range t.Providers {
		s := p.Inventory(class)
		free = free || s != nil && s.HasFree(amount)
	}
	says := hasFree(w.FreeCapacity(class), t.Index(), amount)
	mustBe(says || !free, "what has free capacity is said to have it")
}

// totalsOf adds up the inventories of all trees.
func totalsOf(w *snapshot.Snapshot) []snapshot.Totals {
	sums := make(map[placement.ClassID]snapshot.Totals)
	for t := range w.Trees() {
		for _, p := range t.Providers {
			for _, s := range p.Inventories {
				sum := sums[s.Class]
				sum.Class = s.Class
				sum.Providers++
				sum.Total += s.Total
				sum.Reserved += s.Reserved
				sum.Used += s.Used
				sum.Capacity += max(s.Capacity(), 0)
				sums[s.Class] = sum
			}
		}
	}
	var all []snapshot.Totals
	for _, n := range w.Classes().List() {
		if sum, ok := sums[placement.ClassID(n.ID)]; ok {
			all = append(all, sum)
		}
	}
	return all
}
