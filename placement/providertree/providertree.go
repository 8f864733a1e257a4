// Package providertree plans and makes the changes that a tree of resource providers in placement
// needs: Compare computes the steps from the actual to the desired tree, Apply sends them, and Sync
// repeats both while others change the tree. It does not know what a tree is of: the owner, which
// may have a part of the tree only, computes the desired providers, and decides what becomes of
// resources that are still allocated.
//
// Providers of the actual tree that are not in the desired one are left alone unless the owner
// names them for removal: operators and other services add to a tree too.
package providertree

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/placement"
)

// A Tree is what placement has of a tree; no providers when there is none yet.
type Tree struct {
	Providers []Provider
	// SharedDisk says that a provider outside of the tree shares its DISK_GB with the root.
	SharedDisk bool
	// Allocations are those of all consumers that have some in the tree, each whole, by consumer; nil
	// when they were not read: see Plan.NeedsAllocations.
	Allocations map[string]allocations.Consumer
}

// A Provider is one of a tree, as it is or as it should be.
type Provider struct {
	ID         placement.UUID
	Name       string
	Parent     placement.UUID // "" for the root
	Generation int64          // 0 for one to create
	// Inventories and Traits are nil when they were not read: see Spec.Contents.
	Inventories map[string]placement.Inventory
	Traits      []string
	// Used is the allocations of each class, nil when it was not read: see Plan.Unread.
	Used map[string]int64
}

// Clone returns a copy that shares nothing of which the owner of a desired tree changes a part. Its
// traits are sorted.
func (p Provider) Clone() Provider {
	p.Inventories, p.Traits = maps.Clone(p.Inventories), SortedSet(p.Traits)
	return p
}

// InUse returns the classes of which something is allocated.
func (p Provider) InUse() map[string]int64 {
	used := maps.Clone(p.Used)
	maps.DeleteFunc(used, func(_ string, n int64) bool { return n <= 0 })
	return used
}

// Find returns the provider with an id.
func (t Tree) Find(id placement.UUID) (Provider, bool) {
	i := slices.IndexFunc(t.Providers, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return Provider{}, false
	}
	return t.Providers[i], true
}

// HasChildren reports whether a provider has others below it.
func (t Tree) HasChildren(id placement.UUID) bool {
	return slices.ContainsFunc(t.Providers, func(p Provider) bool { return p.Parent == id })
}

// leavesFirst returns the providers of a tree, each before its parent.
func (t Tree) leavesFirst() (all []Provider) {
	children := map[placement.UUID][]Provider{}
	for _, p := range t.Providers {
		children[p.Parent] = append(children[p.Parent], p)
	}
	for level := children[""]; len(level) > 0; {
		all = append(all, level...)
		var next []Provider
		for _, p := range level {
			next = append(next, children[p.ID]...)
		}
		level = next
	}
	slices.Reverse(all)
	return all
}

// A Plan is the changes of a tree, in the order in which they are made.
type Plan struct {
	// Create are the providers to create, parents first.
	Create []Provider
	// Update are the providers that get their desired names and parents: see Misplaced.
	Update []Provider
	// Remove are the providers to remove. They have no allocations and no children. RemoveUnused are
	// removed, children first, unless they have any: those are in Result.InUse.
	Remove, RemoveUnused []Provider
	// Inventories and Traits are those of providers that differ in placement, the last provider of
	// the desired tree first: an owner that lists what shrinks after what grows has nothing new
	// allocated on the former before the latter offers it. The root, which is first in the tree,
	// comes last.
	Inventories, Traits []Provider
	// Moves are made together with the inventories of their providers, in one request, and then the
	// tree is planned again: see Plan.Move.
	Moves []Move
	// Moved are the allocations that the consumers of Moves have with them, each whole.
	Moved map[string]allocations.Consumer
	// Atomic has the inventories changed in one request, as moves are, also when nothing moves: where
	// one provider is to have what another one loses, both would offer it for a moment otherwise.
	Atomic bool
	// NeedsUsage are providers whose usage the plan depends on, besides those of Unread; if it was not
	// read of one of them, the rest of the plan is not valid.
	NeedsUsage []placement.UUID
	// NeedsAllocations says that the tree cannot be planned without its allocations, which were not
	// read. The rest of the plan is not valid then.
	NeedsAllocations bool
}

// A Move moves what a consumer has allocated of a class to another provider, another class, or
// both. Without From and FromClass it allocates what the consumer has and placement does not know.
type Move struct {
	Consumer  string
	From      placement.UUID
	FromClass string
	To        placement.UUID
	ToClass   string
	Amount    int64
}

// String says what moves where.
func (m Move) String() string {
	if m.From == "" {
		return fmt.Sprintf("%d %s of provider %s to consumer %s, which has it without an allocation", m.Amount, m.ToClass,
			m.To, m.Consumer)
	}
	return fmt.Sprintf("%d %s of consumer %s from provider %s to %s of %s", m.Amount, m.FromClass, m.Consumer, m.From,
		m.ToClass, m.To)
}

// Move adds moves to a plan. The allocations of the tree must have been read. An error says that a
// consumer has less than it is to move.
func (p *Plan) Move(actual Tree, moves []Move) error {
	if p.Moved == nil {
		p.Moved = map[string]allocations.Consumer{}
	}
	for _, m := range moves {
		consumer, moved := p.Moved[m.Consumer]
		if !moved {
			consumer = actual.Allocations[m.Consumer]
		}
		if m.From != "" {
			remaining, err := consumer.Amounts.Minus(allocations.Amounts{string(m.From): {m.FromClass: m.Amount}})
			if err != nil {
				return fmt.Errorf("moving allocations of consumer %s: %w", m.Consumer, err)
			}
			consumer.Amounts = remaining
		}
		consumer.Amounts = consumer.Amounts.Plus(allocations.Amounts{string(m.To): {m.ToClass: m.Amount}})
		p.Moved[m.Consumer] = consumer
		p.Moves = append(p.Moves, m)
		// A request that moves allocations has to name inventories, also if they are as they should be.
		changes := func(want Provider) bool { return want.ID == m.To }
		if cur, exists := actual.Find(m.To); m.From == "" && exists && !slices.ContainsFunc(p.Inventories, changes) {
			p.Inventories = append(p.Inventories, cur)
		}
	}
	return nil
}

// reshapes reports whether a part of the plan is made in one request.
func (p *Plan) reshapes() bool { return len(p.Moves) > 0 || p.Atomic }

// reshaped returns the providers whose inventories that request changes: those of the moves, all
// when the plan is Atomic; with the desired inventories, none for those that are removed.
func (p *Plan) reshaped() (all []Provider) {
	concerned := map[placement.UUID]bool{}
	for _, m := range p.Moves {
		concerned[m.From], concerned[m.To] = true, true
	}
	for _, want := range p.Inventories {
		if concerned[want.ID] || p.Atomic {
			all = append(all, want)
		}
	}
	for _, cur := range p.Remove {
		if concerned[cur.ID] || p.Atomic && len(cur.Inventories) > 0 {
			cur.Inventories = map[string]placement.Inventory{}
			all = append(all, cur)
		}
	}
	return all
}

// Compare returns the changes that make a tree what is desired: providers, parents first, with
// sorted traits. Providers that are only in the actual tree are left alone, except those to remove.
// So are the names and parents of those that are in both: see Misplaced. The contents of the
// desired ones must have been read.
func Compare(actual Tree, desired, remove []Provider) Plan {
	p := Plan{Remove: remove}
	for _, want := range desired {
		if _, exists := actual.Find(want.ID); !exists {
			p.Create = append(p.Create, want)
		}
	}
	for _, want := range slices.Backward(desired) {
		cur, _ := actual.Find(want.ID)
		want.Generation = cur.Generation
		if !maps.Equal(cur.Inventories, want.Inventories) {
			p.Inventories = append(p.Inventories, want)
		}
		if !slices.Equal(SortedSet(cur.Traits), want.Traits) {
			p.Traits = append(p.Traits, want)
		}
	}
	return p
}

// Misplaced returns the desired providers that have another name or parent in the actual tree. An
// owner that allows no other writer to rename or move its providers makes them the updates of its
// plan.
func Misplaced(actual Tree, desired []Provider) []Provider {
	return slices.DeleteFunc(slices.Clone(desired), func(want Provider) bool {
		cur, exists := actual.Find(want.ID)
		return !exists || cur.Name == want.Name && cur.Parent == want.Parent
	})
}

// Empty reports whether the tree is as it should be.
func (p *Plan) Empty() bool {
	return len(p.Create)+len(p.Update)+len(p.Remove)+len(p.RemoveUnused)+len(p.Inventories)+len(p.Traits)+len(p.Moves) == 0
}

// Unread returns the providers of a tree whose usage decides whether the plan can be carried out,
// and has not been read: those that it removes, or removes a class of, and those of NeedsUsage.
func (p *Plan) Unread(actual Tree) (ids []placement.UUID) {
	for _, id := range p.NeedsUsage {
		if cur, exists := actual.Find(id); exists && cur.Used == nil {
			ids = append(ids, id)
		}
	}
	for _, removed := range p.Remove {
		if removed.Used == nil {
			ids = append(ids, removed.ID)
		}
	}
	for _, want := range p.Inventories {
		cur, _ := actual.Find(want.ID)
		if cur.Used == nil && len(RemovedClasses(cur, want)) > 0 {
			ids = append(ids, want.ID)
		}
	}
	return ids
}

// RemovedClasses returns the classes that a provider has and is not to have, sorted.
func RemovedClasses(actual, desired Provider) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(actual.Inventories)), func(class string) bool {
		_, stays := desired.Inventories[class]
		return stays
	})
}

// SortedSet returns names in order, each once.
func SortedSet(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
