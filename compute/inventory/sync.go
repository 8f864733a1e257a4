package inventory

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

// Placement is what it takes to keep a host's tree. A failed call returns a fault or an error as
// package allocations says. Methods may be called concurrently.
type Placement interface {
	// Tree returns the tree whose root a provider is, without providers when there
	// is none.
	Tree(ctx context.Context, root placement.UUID) (Tree, error)
	// Used returns how much of each class is allocated on a provider, never nil. ErrGeneration says that
	// there is no such provider any more.
	Used(ctx context.Context, id placement.UUID) (map[string]int64, error)
	// EnsureNames makes custom resource classes and traits unless they are there.
	EnsureNames(ctx context.Context, classes, traits []string) error
	// Make makes a provider without inventories and traits, and returns its
	// generation. ErrGeneration says that it is there already.
	Make(ctx context.Context, p Provider) (generation int64, err error)
	// Remove removes a provider; one that is not there is removed. ErrInUse says that
	// it has allocations, or that it has children.
	Remove(ctx context.Context, id placement.UUID) error
	// SetInventories and SetTraits replace all inventories or traits of a provider of a generation,
	// and return the next generation. ErrGeneration says that the provider was changed
	// concurrently, ErrInUse that an inventory to be removed has allocations.
	SetInventories(ctx context.Context, p Provider) (generation int64, err error)
	SetTraits(ctx context.Context, p Provider) (generation int64, err error)
}

// tries is how often a tree is read again that others change meanwhile.
const tries = 10

// Sync makes the host's tree in placement what it should be, and returns what an operator
// should know. What it can do it does, also when something else of it fails. It may be
// called again, and at the same time by others.
func (h *Host) Sync(ctx context.Context, p Placement) (warnings []string, err error) {
	for range tries {
		// What is in use that was not when it was read is planned again too.
		if warnings, err = h.try(ctx, p); !conflicts(err) {
			break
		}
	}
	return warnings, err
}

// conflicts reports whether an error says that a tree is not as it was read.
func conflicts(err error) bool {
	return errors.Is(err, allocations.ErrGeneration) || errors.Is(err, allocations.ErrInUse)
}

// SetDisabled adds TraitDisabled to the root of a host's tree, or removes it, and changes nothing
// else. A tree that does not exist yet is ignored: it gets the trait with the host's first report.
func SetDisabled(ctx context.Context, root placement.UUID, disabled bool, p Placement) (err error) {
	for range tries {
		is, err := p.Tree(ctx, root)
		if err != nil {
			return err
		}
		to, there := is.find(root)
		if !there || slices.Contains(to.Traits, TraitDisabled) == disabled {
			return nil
		}
		to.Traits = slices.DeleteFunc(slices.Clone(to.Traits), func(name string) bool { return name == TraitDisabled })
		if disabled {
			to.Traits = sorted(append(to.Traits, TraitDisabled))
		}
		if _, err = p.SetTraits(ctx, to); !errors.Is(err, allocations.ErrGeneration) {
			return err
		}
	}
	return allocations.ErrGeneration
}

// Remove removes the tree of a host that does not exist any more, with what others have added below
// it. ErrInUse says that it has allocations; providers below that one may have been removed by
// then.
func Remove(ctx context.Context, root placement.UUID, p Placement) error {
	is, err := p.Tree(ctx, root)
	if err != nil {
		return err
	}
	for _, gone := range is.upwards() {
		if err := p.Remove(ctx, gone.ID); err != nil {
			return fmt.Errorf("removing %s: %w", gone.Name, err)
		}
	}
	return nil
}

// upwards are the providers of a tree, each before its parent.
func (t Tree) upwards() (all []Provider) {
	below := map[placement.UUID][]Provider{}
	for _, p := range t.Providers {
		below[p.Parent] = append(below[p.Parent], p)
	}
	for level := below[""]; len(level) > 0; {
		all = append(all, level...)
		var next []Provider
		for _, p := range level {
			next = append(next, below[p.ID]...)
		}
		level = next
	}
	slices.Reverse(all)
	return all
}

func (h *Host) try(ctx context.Context, p Placement) ([]string, error) {
	is, err := p.Tree(ctx, placement.UUID(h.ID.String()))
	if err != nil {
		return nil, err
	}
	plan, err := h.planFor(ctx, is, p)
	if err != nil || plan.Nothing() {
		return plan.Warnings, err
	}
	if err := p.EnsureNames(ctx, custom(plan.classes()), custom(plan.traits())); err != nil {
		return plan.Warnings, fmt.Errorf("creating custom classes and traits: %w", err)
	}
	c := carrier{Placement: p, made: map[placement.UUID]int64{}}
	c.carryOut(ctx, &plan)
	return plan.Warnings, errors.Join(c.errs...)
}

// planFor returns the plan for a tree, once it is read what is in use of what it would remove.
func (h *Host) planFor(ctx context.Context, is Tree, p Placement) (Plan, error) {
	for {
		plan, err := h.Plan(is)
		unread := plan.Unread(is)
		if err != nil || len(unread) == 0 {
			return plan, err
		}
		for i := range is.Providers {
			now := &is.Providers[i]
			if !slices.Contains(unread, now.ID) {
				continue
			}
			if now.Used, err = p.Used(ctx, now.ID); err != nil {
				return Plan{}, fmt.Errorf("reading what is in use on %s: %w", now.Name, err)
			}
		}
	}
}

// A carrier carries a plan out.
type carrier struct {
	Placement
	made map[placement.UUID]int64 // generations, of what was changed
	errs []error
}

// carryOut stops at a conflict: the rest of the plan may count on what others have changed.
func (c *carrier) carryOut(ctx context.Context, plan *Plan) {
	for _, to := range plan.Make {
		generation, err := c.Make(ctx, to)
		if err != nil {
			// What is below it, and what it has, would fail for the same reason.
			c.errs = append(c.errs, fmt.Errorf("creating %s: %w", to.Name, err))
			return
		}
		c.made[to.ID] = generation
	}
	for _, gone := range plan.Remove {
		if err := c.Remove(ctx, gone.ID); err != nil {
			c.errs = append(c.errs, fmt.Errorf("removing %s: %w", gone.Name, err))
			if conflicts(err) {
				return
			}
		}
	}
	if c.each(ctx, "inventories", plan.Inventories, c.SetInventories) {
		c.each(ctx, "traits", plan.Traits, c.SetTraits)
	}
}

// each sets something of some providers, and reports whether that met no conflict.
func (c *carrier) each(ctx context.Context, what string, all []Provider, set func(context.Context, Provider) (int64, error)) bool {
	for _, to := range all {
		if generation, ok := c.made[to.ID]; ok {
			to.Generation = generation
		}
		generation, err := set(ctx, to)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("setting the %s of %s: %w", what, to.Name, err))
			if conflicts(err) {
				return false
			}
			continue
		}
		c.made[to.ID] = generation
	}
	return true
}

// classes and traits are the names that a plan sets.
func (p *Plan) classes() (all []string) {
	for _, to := range p.Inventories {
		all = slices.AppendSeq(all, maps.Keys(to.Inventories))
	}
	return all
}

func (p *Plan) traits() (all []string) {
	for _, to := range p.Traits {
		all = append(all, to.Traits...)
	}
	return all
}

// custom are the names that are not standard ones, each once.
func custom(names []string) []string {
	return slices.DeleteFunc(sorted(names), func(name string) bool { return !strings.HasPrefix(name, "CUSTOM_") })
}
