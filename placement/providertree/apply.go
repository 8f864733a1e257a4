package providertree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// A Result is what became of a plan.
type Result struct {
	Removed []Provider
	InUse   []Provider // of Plan.RemoveUnused: they have allocations or children, and stay
	Moves   []Move
	Failed  []*Failure // in the order of the steps
	// Unknown are providers that were given their other traits.
	Unknown []Unknown
}

// An Unknown is a provider without the standard traits that placement does not know, which are of
// an os-traits newer than its own.
type Unknown struct {
	Name   string // of the provider
	Traits []string
}

// UnknownTraits returns the traits of Unknown, sorted.
func (r *Result) UnknownTraits() (all []string) {
	for _, u := range r.Unknown {
		all = append(all, u.Traits...)
	}
	return SortedSet(all)
}

// Err returns an error with all failures, nil without any.
func (r *Result) Err() error {
	errs := make([]error, len(r.Failed))
	for i, f := range r.Failed {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// MovesRefused returns the error with which placement refused to move allocations, nil when it did
// not: they were moved, or it is unknown, or others changed the tree at each attempt.
func (r *Result) MovesRefused() error {
	for _, f := range r.Failed {
		kind, _ := fault.Of(f.Err)
		if f.Step == moving && kind != fault.Unavailable && kind != fault.Internal && !IsConflict(f.Err) {
			return f
		}
	}
	return nil
}

// moving is the step of moves in a Failure.
const moving = "moving allocations"

// A Failure is a step that failed.
type Failure struct {
	Name string // of the provider, class or trait
	Step string // "setting its traits", for example
	Err  error
}

func (f *Failure) Error() string { return f.Name + ": " + f.Step + ": " + f.Err.Error() }

// Unwrap returns the error of the step.
func (f *Failure) Unwrap() error { return f.Err }

// Apply carries a plan out. Steps that depend on one that failed are left out: what needs a class
// or trait that could not be created, and what is below or on a provider that could not be. It
// stops at a conflict, since the rest of the plan may depend on what others have changed, and after
// moves, since the tree has another shape then.
func Apply(ctx context.Context, p Placement, plan Plan) (result Result) {
	return apply(ctx, p, Tree{}, plan)
}

// apply is Apply, where the tree is known that the plan was made from.
func apply(ctx context.Context, p Placement, actual Tree, plan Plan) (result Result) {
	failed := func(name, step string, err error) (conflict bool) {
		result.Failed = append(result.Failed, &Failure{name, step, err})
		return IsConflict(err)
	}

	// 1. Custom classes and traits exist before providers can have them.
	classes, traits := map[string]bool{}, map[string]bool{} // whether they exist
	for _, want := range plan.Inventories {
		for class := range want.Inventories {
			classes[class] = true
		}
	}
	for _, want := range plan.Traits {
		for _, name := range want.Traits {
			traits[name] = true
		}
	}
	for _, kind := range []struct {
		names  map[string]bool
		step   string
		ensure func(context.Context, string) error
	}{{classes, "creating the resource class", p.EnsureClass}, {traits, "creating the trait", p.EnsureTrait}} {
		for _, name := range slices.Sorted(maps.Keys(kind.names)) {
			if !isCustom(name) {
				continue
			}
			if err := kind.ensure(ctx, name); err != nil {
				kind.names[name] = false
				failed(name, kind.step, err)
			}
		}
	}

	// 2. Providers exist, with their names and parents, before anything is set on them.
	generations := map[placement.UUID]int64{} // of what was changed
	missing := map[placement.UUID]bool{}
	for _, want := range plan.Create {
		if missing[want.Parent] {
			missing[want.ID] = true
			continue
		}
		generation, err := p.Create(ctx, want)
		if errors.Is(err, allocations.ErrGeneration) {
			// It is in another tree, or was created concurrently. It gets its name and parent; that
			// stays a conflict, since its inventories and traits have not been read.
			if _, refused := p.Update(ctx, want); refused != nil {
				err = refused
			}
		}
		if err == nil {
			generations[want.ID] = generation
			continue
		}
		missing[want.ID] = true
		if failed(want.Name, "creating the provider", err) {
			return result
		}
	}
	for _, want := range plan.Update {
		generation, err := p.Update(ctx, want)
		if err == nil {
			generations[want.ID] = generation
		} else if failed(want.Name, "setting its name and parent", err) {
			return result
		}
	}

	// 3. Allocations move together with the inventories that they are of.
	if plan.reshapes() {
		providers := plan.reshaped()
		for i, want := range providers {
			if generation, ok := generations[want.ID]; ok {
				providers[i].Generation = generation
			}
			if missing[want.ID] || !allExist(classes, slices.Collect(maps.Keys(want.Inventories))) {
				return result // a step above has failed
			}
		}
		if err := p.Reshape(ctx, providers, plan.Moved); err != nil {
			failed("its tree", moving, err)
		}
		return result
	}

	// 4. What is removed offers nothing any more before others offer it.
	for i, cur := range slices.Concat(plan.Remove, plan.RemoveUnused) {
		err := p.Remove(ctx, cur.ID)
		switch {
		case err == nil:
			result.Removed = append(result.Removed, cur)
		case i >= len(plan.Remove) && errors.Is(err, allocations.ErrInUse):
			result.InUse = append(result.InUse, cur)
		case failed(cur.Name, "removing it", err):
			return result
		}
	}

	// 5. Inventories and traits, each at the generation that was read or that the step before has
	// returned.
	for _, part := range []struct {
		providers []Provider
		step      string
		possible  func(Provider) bool
		set       func(context.Context, Provider) (int64, error)
	}{{plan.Inventories, "setting its inventories", func(want Provider) bool {
		return allExist(classes, slices.Collect(maps.Keys(want.Inventories)))
	}, p.SetInventories}, {plan.Traits, "setting its traits", func(want Provider) bool {
		return allExist(traits, want.Traits)
	}, func(ctx context.Context, want Provider) (int64, error) {
		cur, _ := actual.Find(want.ID)
		generation, unknown, err := setTraits(ctx, p, cur, want)
		if len(unknown) > 0 {
			result.Unknown = append(result.Unknown, Unknown{want.Name, unknown})
		}
		return generation, err
	}}} {
		for _, want := range part.providers {
			if missing[want.ID] || !part.possible(want) {
				continue
			}
			if generation, ok := generations[want.ID]; ok {
				want.Generation = generation
			}
			generation, err := part.set(ctx, want)
			if err == nil {
				generations[want.ID] = generation
			} else if failed(want.Name, part.step, err) {
				return result
			}
		}
	}
	return result
}

// allExist reports whether all of the names exist.
func allExist(existing map[string]bool, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !existing[name] })
}

// setTraits sets the traits of a provider that has those of cur. A placement service whose
// os-traits is older than ours refuses all of them: then the standard ones that it does not know
// are returned and left out. Custom ones have been created before.
func setTraits(
	ctx context.Context, p Placement, cur, want Provider,
) (generation int64, unknown []string, err error) {
	generation, err = p.SetTraits(ctx, want)
	if kind, _ := fault.Of(err); err == nil || kind != fault.Invalid {
		return generation, nil, err
	}
	unknown, failure := p.UnknownTraits(ctx, slices.DeleteFunc(slices.Clone(want.Traits), isCustom))
	if failure != nil {
		return 0, nil, fmt.Errorf("%w (and reading which traits placement knows: %w)", err, failure)
	}
	if len(unknown) == 0 {
		return 0, nil, err
	}
	want.Traits = slices.DeleteFunc(slices.Clone(want.Traits), func(name string) bool {
		return slices.Contains(unknown, name)
	})
	if slices.Equal(SortedSet(cur.Traits), SortedSet(want.Traits)) {
		return want.Generation, unknown, nil
	}
	generation, err = p.SetTraits(ctx, want)
	return generation, unknown, err
}

// UnknownTraits returns the standard traits that the plan adds to providers of a tree, and
// placement does not know, sorted: Sync leaves them out.
func (p *Plan) UnknownTraits(ctx context.Context, places Placement, actual Tree) ([]string, error) {
	var added []string
	for _, want := range p.Traits {
		cur, _ := actual.Find(want.ID)
		for _, name := range want.Traits {
			if !isCustom(name) && !slices.Contains(cur.Traits, name) {
				added = append(added, name)
			}
		}
	}
	return places.UnknownTraits(ctx, SortedSet(added))
}

// isCustom reports whether a class or a trait is none of the standard ones.
func isCustom(name string) bool { return strings.HasPrefix(name, "CUSTOM_") }
