package providertree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/placement"
)

// Placement is what the owner of a tree needs of the placement service. A failed call returns a
// fault or an error as package allocations says. Methods may be called concurrently.
type Placement interface {
	// Tree returns the tree whose root a provider is, without providers when there is none.
	Tree(ctx context.Context, root placement.UUID) (Tree, error)
	// Used returns how much of each class is allocated on a provider, never nil. ErrGeneration says
	// that the provider was removed.
	Used(ctx context.Context, id placement.UUID) (map[string]int64, error)
	// EnsureNames creates custom resource classes and traits unless they exist.
	EnsureNames(ctx context.Context, classes, traits []string) error
	// Create creates a provider without inventories and traits, and returns its generation.
	// ErrGeneration says that it exists.
	Create(ctx context.Context, p Provider) (generation int64, err error)
	// Remove removes a provider; one that does not exist is removed. ErrInUse says that it has
	// allocations, or that it has children.
	Remove(ctx context.Context, id placement.UUID) error
	// SetInventories and SetTraits replace all inventories or traits of a provider of a generation,
	// and return the next generation. ErrGeneration says that the provider was changed concurrently,
	// ErrInUse that an inventory to be removed has allocations.
	SetInventories(ctx context.Context, p Provider) (generation int64, err error)
	SetTraits(ctx context.Context, p Provider) (generation int64, err error)
}

// maxAttempts bounds how often a tree that others change meanwhile is read again.
const maxAttempts = 10

// Retry runs fn, which reads a tree and changes it, until its error is none that says that the tree
// was changed concurrently, ten times at most.
func Retry(fn func() error) (err error) {
	for range maxAttempts {
		if err = fn(); !IsConflict(err) {
			break
		}
	}
	return err
}

// IsConflict reports whether an error says that a tree is not as it was read.
func IsConflict(err error) bool {
	return errors.Is(err, allocations.ErrGeneration) || errors.Is(err, allocations.ErrInUse)
}

// Sync makes the tree of a root what plan computes from the tree as it is. Plan is called again
// when it needs usages that were not read, and when others have changed the tree meanwhile; so it
// must not keep anything from an earlier call. Steps that do not depend on one that failed are
// carried out all the same. Sync may be repeated, and run concurrently.
func Sync(ctx context.Context, p Placement, root placement.UUID, plan func(Tree) (Plan, error)) error {
	return Retry(func() error {
		tree, err := p.Tree(ctx, root)
		if err != nil {
			return err
		}
		steps, err := planFor(ctx, p, tree, plan)
		if err != nil || steps.Empty() {
			return err
		}
		return Apply(ctx, p, steps)
	})
}

// planFor returns the plan for a tree, after the usage of what it removes was read.
func planFor(ctx context.Context, p Placement, tree Tree, plan func(Tree) (Plan, error)) (Plan, error) {
	for {
		steps, err := plan(tree)
		unread := steps.Unread(tree)
		if err != nil || len(unread) == 0 {
			return steps, err
		}
		for i := range tree.Providers {
			cur := &tree.Providers[i]
			if !slices.Contains(unread, cur.ID) {
				continue
			}
			if cur.Used, err = p.Used(ctx, cur.ID); err != nil {
				return Plan{}, fmt.Errorf("reading what is in use on %s: %w", cur.Name, err)
			}
		}
	}
}

// Apply carries a plan out. It stops at a conflict, since the rest of the plan may depend on what
// others have changed, and when a provider cannot be created, since what is set on it or below it
// would fail for the same reason.
func Apply(ctx context.Context, p Placement, plan Plan) error {
	var classes, traits []string
	for _, want := range plan.Inventories {
		classes = slices.AppendSeq(classes, maps.Keys(want.Inventories))
	}
	for _, want := range plan.Traits {
		traits = append(traits, want.Traits...)
	}
	if err := p.EnsureNames(ctx, custom(classes), custom(traits)); err != nil {
		return fmt.Errorf("creating custom classes and traits: %w", err)
	}
	var errs []error
	generations := map[placement.UUID]int64{} // of what was changed
	for _, want := range plan.Create {
		generation, err := p.Create(ctx, want)
		if err != nil {
			return fmt.Errorf("creating %s: %w", want.Name, err)
		}
		generations[want.ID] = generation
	}
	for _, cur := range plan.Remove {
		if err := p.Remove(ctx, cur.ID); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", cur.Name, err))
			if IsConflict(err) {
				return errors.Join(errs...)
			}
		}
	}
	for _, part := range []struct {
		name      string
		providers []Provider
		set       func(context.Context, Provider) (int64, error)
	}{{"inventories", plan.Inventories, p.SetInventories}, {"traits", plan.Traits, p.SetTraits}} {
		for _, want := range part.providers {
			if generation, ok := generations[want.ID]; ok {
				want.Generation = generation
			}
			generation, err := part.set(ctx, want)
			if err != nil {
				errs = append(errs, fmt.Errorf("setting the %s of %s: %w", part.name, want.Name, err))
				if IsConflict(err) {
					return errors.Join(errs...)
				}
				continue
			}
			generations[want.ID] = generation
		}
	}
	return errors.Join(errs...)
}

// custom returns the names that are not standard ones, each once.
func custom(names []string) []string {
	return slices.DeleteFunc(SortedSet(names), func(name string) bool { return !strings.HasPrefix(name, "CUSTOM_") })
}

// RemoveAll removes the tree of a root, with what others have added to it. ErrInUse says that it
// has allocations; providers below the one that has them may have been removed.
func RemoveAll(ctx context.Context, p Placement, root placement.UUID) error {
	tree, err := p.Tree(ctx, root)
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
