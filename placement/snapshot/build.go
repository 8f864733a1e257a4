package snapshot

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// buildTrees makes the trees of a snapshot, in the order of their roots' ids.
// Rows of providers that are not in the snapshot are left out, as are providers
// whose root is missing. What is the same as in the old trees, which may be nil,
// is shared with them.
func buildTrees(rows placement.TreeRows, sharing placement.TraitID, old []*Tree) []*Tree {
	b := newTreeBuilder(rows, sharing)
	for _, t := range old {
		b.reuse(t)
	}
	var trees []*Tree
	order := b.order()
	for len(order) > 0 {
		n := 1
		for n < len(order) && b.providers[order[n]].Root == b.providers[order[0]].Root {
			n++
		}
		if t := b.tree(order[:n]); t != nil {
			trees = append(trees, t)
		}
		order = order[n:]
	}
	return slices.Clip(trees)
}

// A treeBuilder makes trees from rows. Rows of one provider follow each other, so
// that it needs no maps of what there is by the million; and since clouds are made
// of hosts alike, what many providers have in common is kept once.
type treeBuilder struct {
	sharing     placement.TraitID
	providers   []placement.ProviderRow      // by id
	inventories []placement.InventoryRow     // by provider and class
	traits      []placement.ProviderTraitRow // by provider and trait
	aggregates  []placement.AggregateRow     // by provider and aggregate
	// The first row of each provider, if it has any.
	inventoryAt, traitAt, aggregateAt []int32

	shares         map[placement.Inventory]*placement.Inventory
	traitLists     lists[placement.TraitID]
	aggregateLists lists[placement.AggregateID]
}

// newTreeBuilder returns a builder of rows, which it does not change: rows that are not in order
// are copied.
func newTreeBuilder(rows placement.TreeRows, sharing placement.TraitID) *treeBuilder {
	b := &treeBuilder{
		sharing:   sharing,
		providers: inOrder(rows.Providers, func(a, b placement.ProviderRow) int { return cmp.Compare(a.ID, b.ID) }),
		inventories: inOrder(rows.Inventories, func(a, b placement.InventoryRow) int {
			return order(a.Provider, b.Provider, a.Class, b.Class)
		}),
		traits: inOrder(rows.Traits, func(a, b placement.ProviderTraitRow) int {
			return order(a.Provider, b.Provider, a.Trait, b.Trait)
		}),
		aggregates: inOrder(rows.Aggregates, func(a, b placement.AggregateRow) int {
			return order(a.Provider, b.Provider, a.ID, b.ID)
		}),
		shares:         make(map[placement.Inventory]*placement.Inventory),
		traitLists:     newLists[placement.TraitID](),
		aggregateLists: newLists[placement.AggregateID](),
	}
	b.inventoryAt = firsts(b.providers, b.inventories, providerOfInventory)
	b.traitAt = firsts(b.providers, b.traits, providerOfProviderTrait)
	b.aggregateAt = firsts(b.providers, b.aggregates, providerOfAggregate)
	return b
}

// providerOfInventory, providerOfProviderTrait and providerOfAggregate tell firsts and run whose
// row it is.
func providerOfInventory(r *placement.InventoryRow) int64 { return r.Provider }

func providerOfProviderTrait(r *placement.ProviderTraitRow) int64 { return r.Provider }

func providerOfAggregate(r *placement.AggregateRow) int64 { return r.Provider }

// order compares by two numbers.
func order[T cmp.Ordered](a, b int64, c, d T) int {
	return cmp.Or(cmp.Compare(a, b), cmp.Compare(c, d))
}

// inOrder returns the rows sorted; those of a store are already.
func inOrder[T any](rows []T, compare func(a, b T) int) []T {
	if !slices.IsSortedFunc(rows, compare) {
		rows = slices.Clone(rows)
		slices.SortFunc(rows, compare)
	}
	return rows
}

// firsts finds for each provider the first row that is not of one before it. It is the length of
// rows for providers behind the last row. Both lists are in the order of provider ids.
func firsts[T any](providers []placement.ProviderRow, rows []T, owner func(*T) int64) []int32 {
	at, n := make([]int32, len(providers)), 0
	for i := range providers {
		for n < len(rows) && owner(&rows[n]) < providers[i].ID {
			n++
		}
		at[i] = int32(n)
	}
	return at
}

// run returns the rows from one on that are of a provider.
func run[T any](rows []T, from int32, provider int64, owner func(*T) int64) []T {
	end := from
	for int(end) < len(rows) && owner(&rows[end]) == provider {
		end++
	}
	return rows[from:end]
}

// order returns the indexes of the providers, those of a tree behind its root.
func (b *treeBuilder) order() []int32 {
	all := make([]int32, len(b.providers))
	for i := range all {
		all[i] = int32(i)
	}
	slices.SortFunc(all, func(i, j int32) int {
		x, y := &b.providers[i], &b.providers[j]
		return order(x.Root, y.Root, rank(x), rank(y))
	})
	return all
}

// rank orders the providers of one tree: the root before all others.
func rank(r *placement.ProviderRow) int64 {
	if r.ID == r.Root {
		return -1
	}
	return r.ID
}

// reuse has what a tree is made of shared with the trees that are built.
func (b *treeBuilder) reuse(t *Tree) {
	for _, p := range t.Providers {
		for i := range p.Inventories {
			b.shares[*p.Inventories[i].Inventory] = p.Inventories[i].Inventory
		}
		b.traitLists.reuse(p.Traits)
		b.aggregateLists.reuse(p.Aggregates)
	}
	b.aggregateLists.reuse(t.aggregates)
}

// tree makes the tree of some rows, nil when its root is missing. The providers, their inventories
// and their texts are one piece of memory each, which lives as long as any of them is in use.
func (b *treeBuilder) tree(rows []int32) *Tree {
	if root := &b.providers[rows[0]]; root.ID != root.Root {
		return nil
	}
	t := &Tree{Providers: make([]*Provider, len(rows))}
	all, inventories, text := make([]Provider, len(rows)), b.inventoriesIn(rows), b.textOf(rows)
	cut := func(length int) (piece string) {
		piece, text = text[:length], text[length:]
		return piece
	}
	for i, at := range rows {
		r := &b.providers[at]
		p := &all[i]
		*p = Provider{
			ID: r.ID, Generation: r.Generation, Modified: placement.StampOf(r.Modified), Parent: -1, Index: i,
			parentID: r.Parent, UUID: placement.UUID(cut(len(r.UUID))), Name: cut(len(r.Name)),
		}
		p.PlainUUID = strings.Trim(string(p.UUID), "0123456789abcdefABCDEF-") == ""
		p.Inventories, inventories = b.cutInventories(at, inventories)
		b.describe(at, p)
		t.sharing = t.sharing || p.Shares
		t.Providers[i] = p
	}
	t.link(b, rows)
	t.aggregates = b.union(all)
	return t
}

// textOf joins the UUIDs and names of some rows, to be cut again: one piece of
// memory instead of many.
func (b *treeBuilder) textOf(rows []int32) string {
	var text strings.Builder
	length := 0
	for _, at := range rows {
		length += len(b.providers[at].UUID) + len(b.providers[at].Name)
	}
	text.Grow(length)
	for _, at := range rows {
		text.WriteString(string(b.providers[at].UUID))
		text.WriteString(b.providers[at].Name)
	}
	return text.String()
}

// inventoriesIn returns the inventories of some rows, one behind the other.
func (b *treeBuilder) inventoriesIn(rows []int32) []Inventory {
	n := 0
	for _, at := range rows {
		n += len(b.inventoriesOf(at))
	}
	all := make([]Inventory, 0, n)
	for _, at := range rows {
		for i := range b.inventoriesOf(at) {
			r := &b.inventories[int(b.inventoryAt[at])+i]
			all = append(all, Inventory{
				Class: r.Class, Inventory: b.shared(r.Inventory), Used: r.Used, Modified: placement.StampOf(r.Modified),
			})
		}
	}
	return all
}

// inventoriesOf returns the rows of inventory of the provider at a place in providers.
func (b *treeBuilder) inventoriesOf(at int32) []placement.InventoryRow {
	return run(b.inventories, b.inventoryAt[at], b.providers[at].ID, providerOfInventory)
}

// cutInventories takes the inventories of one provider from those that are left.
func (b *treeBuilder) cutInventories(at int32, remaining []Inventory) (own, rest []Inventory) {
	n := len(b.inventoriesOf(at))
	if n == 0 {
		return nil, remaining
	}
	return remaining[:n:n], remaining[n:]
}

// shared returns the inventory that stands for all that are the same.
func (b *treeBuilder) shared(inv placement.Inventory) *placement.Inventory {
	one := b.shares[inv]
	if one == nil {
		one = &inv
		b.shares[inv] = one
	}
	return one
}

// describe gives a provider its traits and aggregates.
func (b *treeBuilder) describe(at int32, p *Provider) {
	for _, r := range run(b.traits, b.traitAt[at], p.ID, providerOfProviderTrait) {
		b.traitLists.add(r.Trait)
		p.Shares = p.Shares || r.Trait == b.sharing
	}
	p.Traits = b.traitLists.take()
	for _, r := range run(b.aggregates, b.aggregateAt[at], p.ID, providerOfAggregate) {
		b.aggregateLists.add(r.ID)
	}
	p.Aggregates = b.aggregateLists.take()
}

// union returns the sorted aggregates of all providers.
func (b *treeBuilder) union(all []Provider) []placement.AggregateID {
	var ids []placement.AggregateID
	for i := range all {
		ids = append(ids, all[i].Aggregates...)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		b.aggregateLists.add(id)
	}
	return b.aggregateLists.take()
}

// link finds the parents.
func (t *Tree) link(b *treeBuilder, rows []int32) {
	for i, p := range t.Providers[1:] {
		p.Parent = t.parent(b.providers[rows[i+1]].Parent, p.ID)
	}
	t.breakLoops()
}

// parent returns the index of the provider with that id, the root's when it is not
// in the tree or the child itself: races of upstream's leave such rows behind. The providers behind
// the root are in the order of their ids.
func (t *Tree) parent(id, child int64) int {
	i, ok := slices.BinarySearchFunc(t.Providers[1:], id, func(p *Provider, id int64) int { return cmp.Compare(p.ID, id) })
	if !ok || id == child {
		return 0
	}
	return i + 1
}

// breakLoops hangs providers that are below each other to the root. Upstream checks for loops
// without locks, so that two moves at once can make one. The walk is bounded by the number of
// providers.
func (t *Tree) breakLoops() {
	for _, p := range t.Providers {
		at := p
		for range t.Providers {
			if at.Parent < 0 {
				break
			}
			at = t.Providers[at.Parent]
		}
		if at.Parent >= 0 {
			p.Parent = 0
		}
	}
}

// lists keeps one copy of each list of ids.
type lists[K ~int32] struct {
	known map[string][]K
	ids   []K    // of the list that is being made
	key   []byte // its bytes
}

// newLists returns an empty set of lists.
func newLists[K ~int32]() lists[K] { return lists[K]{known: make(map[string][]K)} }

// add adds an id to the list that is being made.
func (l *lists[K]) add(id K) {
	l.ids = append(l.ids, id)
	l.key = binary.LittleEndian.AppendUint32(l.key, uint32(id))
}

// take returns the list that was made, nil when it is empty, and begins the next.
func (l *lists[K]) take() []K {
	if len(l.ids) == 0 {
		return nil
	}
	list := l.known[string(l.key)]
	if list == nil {
		list = slices.Clone(l.ids)
		l.known[string(l.key)] = list
	}
	l.ids, l.key = l.ids[:0], l.key[:0]
	return list
}

// reuse makes a list the copy that all others share. Called for the old trees before any is built,
// it makes new trees share memory with them.
func (l *lists[K]) reuse(list []K) {
	for _, id := range list {
		l.add(id)
	}
	if len(list) > 0 && l.known[string(l.key)] == nil {
		l.known[string(l.key)] = list
	}
	l.ids, l.key = l.ids[:0], l.key[:0]
}
