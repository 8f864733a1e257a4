package providertree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/placement"
)

// Placement is what the owner of a tree needs of the placement service. A failed call returns a
// fault or an error as package allocations says. Methods may be called concurrently.
type Placement interface {
	// Named returns the provider of a name, without its contents. ErrNoProvider says that there is
	// none.
	Named(ctx context.Context, name string) (Provider, error)
	// Tree returns the tree that a provider is in, without providers when there is none. It has the
	// inventories and traits of the providers that contents selects. Nil selects all of them, and
	// only then is SharedDisk known. ErrGeneration says that a provider was removed meanwhile.
	Tree(ctx context.Context, member placement.UUID, contents func(Provider) bool) (Tree, error)
	// Used returns how much of each class is allocated on a provider, never nil. ErrGeneration says
	// that the provider was removed.
	Used(ctx context.Context, id placement.UUID) (map[string]int64, error)
	// EnsureClass and EnsureTrait create a custom resource class or trait unless it exists.
	EnsureClass(ctx context.Context, name string) error
	EnsureTrait(ctx context.Context, name string) error
	// UnknownTraits returns those of the names of traits that placement does not have, in their order.
	UnknownTraits(ctx context.Context, names []string) ([]string, error)
	// Create creates a provider without inventories and traits, and returns its generation.
	// ErrGeneration says that it exists.
	Create(ctx context.Context, p Provider) (generation int64, err error)
	// Update gives a provider its name and parent, which may be in another tree, and returns its
	// generation. ErrGeneration says that it was changed or removed concurrently. Placement
	// services without version 1.37 of the API refuse another parent.
	Update(ctx context.Context, p Provider) (generation int64, err error)
	// Remove removes a provider; one that does not exist is removed. ErrInUse says that it has
	// allocations, or that it has children.
	Remove(ctx context.Context, id placement.UUID) error
	// SetInventories and SetTraits replace all inventories or traits of a provider of a generation,
	// and return the next generation. ErrGeneration says that the provider was changed
	// concurrently, ErrInUse that an inventory to be removed has allocations. When placement does not
	// know a trait, nothing is set, and the error is a fault of kind Invalid.
	SetInventories(ctx context.Context, p Provider) (generation int64, err error)
	SetTraits(ctx context.Context, p Provider) (generation int64, err error)
	// Consumers returns the consumers that have allocations on a provider. ErrGeneration says that
	// the provider was removed.
	Consumers(ctx context.Context, id placement.UUID) ([]string, error)
	// Allocations is that of allocations.Placement.
	Allocations(ctx context.Context, consumer string) (allocations.Consumer, error)
	// Reshape replaces all inventories of providers and all allocations of consumers, both of a
	// generation, in one transaction. ErrGeneration says that one of them was changed concurrently,
	// ErrInUse that an inventory to be removed has allocations that do not move, ErrCapacity that
	// there is not enough capacity.
	Reshape(ctx context.Context, providers []Provider, consumers map[string]allocations.Consumer) error
}

// Attempts bounds how often a tree that others change meanwhile is read, the first time included.
const Attempts = 10

// Retry runs fn, which reads a tree and changes it, until its error is none that says that the tree
// was changed concurrently, ten times at most, with pauses of half a second together. When ctx
// ends, the last error is returned.
func Retry(ctx context.Context, fn func() error) error {
	for tried := 1; ; tried++ {
		if err := fn(); !IsConflict(err) || !pause(ctx, tried) {
			return err
		}
	}
}

// pause waits before a tree is read again after so many attempts, so that those who change it at
// the same time do not meet again. It reports whether there is to be another attempt.
func pause(ctx context.Context, tried int) bool {
	return tried < Attempts && allocations.PauseAfter(ctx, allocations.Pause, tried) == nil
}

// IsConflict reports whether an error says that a tree is not as it was read.
func IsConflict(err error) bool {
	return errors.Is(err, allocations.ErrGeneration) || errors.Is(err, allocations.ErrInUse)
}

// IsChanged reports whether an error of Sync says that others have changed the tree during each of
// its attempts: the next sync may have more luck.
func IsChanged(err error) bool { return errors.Is(err, allocations.ErrGeneration) }

// ErrMoves says that allocations have to move, which Spec.Reshape does not allow.
var ErrMoves = errors.New("providertree: the shape of the tree changes while it is in use")

// A Spec says what is synced.
type Spec struct {
	Root placement.UUID
	// Contents selects the providers whose inventories and traits are read; nil: all. The desired
	// ones must be among them.
	Contents func(Provider) bool
	// Plan computes the changes from the tree as it is. It is called again when it needs usages or
	// allocations that were not read, when others have changed the tree meanwhile, and after moves;
	// so it must not keep anything from an earlier call. After an error nothing is changed.
	Plan func(Tree) (Plan, error)
	// Reshape allows the plan to have moves, and to be Atomic. Without it moves are the error
	// ErrMoves.
	Reshape bool
}

// Sync makes the tree of a root what its owner plans. The error says why the tree could not be read
// or planned; steps that failed are in the result, and those that do not depend on them were
// carried out all the same. A tree that others change meanwhile is read again after a pause, ten
// times at most, and until ctx ends. Sync may be repeated, and run concurrently. Standard traits
// that placement does not know are left out: see Result.Unknown.
func Sync(ctx context.Context, p Placement, s Spec) (result Result, err error) {
	var removed []Provider
	var moves []Move
	for tried := 1; ; tried++ {
		var plan Plan
		var tree Tree
		if tree, plan, err = s.Look(ctx, p); err != nil {
			result = Result{}
			if !IsConflict(err) || !pause(ctx, tried) {
				break
			}
			continue
		}
		result = apply(ctx, p, tree, plan)
		removed = append(removed, result.Removed...)
		failure := result.Err()
		if failure == nil {
			moves = append(moves, plan.Moves...)
		}
		if failure == nil && (!plan.reshapes() || tried == Attempts) ||
			failure != nil && (!IsConflict(failure) || !pause(ctx, tried)) {
			break
		}
	}
	result.Removed, result.Moves = removed, moves
	return result, err
}

// Look reads the tree, and what else its plan depends on, and returns both. It changes nothing.
func (s *Spec) Look(ctx context.Context, p Placement) (tree Tree, plan Plan, err error) {
	if tree, err = p.Tree(ctx, s.Root, s.Contents); err != nil {
		return tree, Plan{}, fmt.Errorf("reading its tree: %w", err)
	}
	for {
		if plan, err = s.Plan(tree); err != nil {
			return tree, Plan{}, err
		}
		if unread := plan.Unread(tree); len(unread) > 0 && !plan.NeedsAllocations {
			if err := readUsages(ctx, p, tree, unread); err != nil {
				return tree, Plan{}, err
			}
			continue
		}
		switch {
		case plan.NeedsAllocations && tree.Allocations == nil:
			if err := readAllocations(ctx, p, &tree); err != nil {
				return tree, Plan{}, err
			}
		case len(plan.Moves) > 0 && !s.Reshape:
			return tree, plan, ErrMoves
		default:
			plan.Atomic = plan.Atomic && s.Reshape
			return tree, plan, nil
		}
	}
}

func readUsages(ctx context.Context, p Placement, tree Tree, unread []placement.UUID) (err error) {
	for i := range tree.Providers {
		cur := &tree.Providers[i]
		if !slices.Contains(unread, cur.ID) {
			continue
		}
		if cur.Used, err = p.Used(ctx, cur.ID); err != nil {
			return fmt.Errorf("reading what is in use on %s: %w", cur.Name, err)
		}
	}
	return nil
}

// Read returns the tree of a root with its allocations, ErrNoProvider when there is none.
func Read(ctx context.Context, p Placement, root placement.UUID) (tree Tree, err error) {
	if tree, err = p.Tree(ctx, root, nil); err == nil && len(tree.Providers) == 0 {
		err = allocations.ErrNoProvider
	}
	if err == nil {
		err = readAllocations(ctx, p, &tree)
	}
	return tree, err
}

// readAllocations reads the allocations of all consumers of a tree, and so what is in use.
func readAllocations(ctx context.Context, p Placement, tree *Tree) error {
	tree.Allocations = map[string]allocations.Consumer{}
	for _, cur := range tree.Providers {
		if len(cur.Inventories) == 0 {
			continue
		}
		consumers, err := p.Consumers(ctx, cur.ID)
		if err != nil {
			return fmt.Errorf("reading the consumers of %s: %w", cur.Name, err)
		}
		for _, id := range consumers {
			if _, done := tree.Allocations[id]; done {
				continue
			}
			if tree.Allocations[id], err = p.Allocations(ctx, id); err != nil {
				return fmt.Errorf("reading the allocations of %s: %w", id, err)
			}
		}
	}
	for i := range tree.Providers {
		cur := &tree.Providers[i]
		cur.Used = map[string]int64{}
		for _, c := range tree.Allocations {
			for class, n := range c.Amounts[string(cur.ID)] {
				cur.Used[class] += n
			}
		}
	}
	return nil
}

// RemoveAll removes the tree of a root, with what others have added to it. ErrInUse says that it
// has allocations; providers below the one that has them may have been removed.
func RemoveAll(ctx context.Context, p Placement, root placement.UUID) error {
	tree, err := p.Tree(ctx, root, func(Provider) bool { return false })
	if err != nil {
		return err
	}
	for _, cur := range tree.leavesFirst() {
		if err := p.Remove(ctx, cur.ID); err != nil {
			return fmt.Errorf("removing %s: %w", cur.Name, err)
		}
	}
	return nil
}
