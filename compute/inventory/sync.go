package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Synced is what a sync has done.
type Synced struct {
	Warnings []string            // what an operator should know
	Moves    []providertree.Move // in the order in which they were made
}

// SyncOptions are how the tree of a host is synced.
type SyncOptions struct {
	// Starting says that the host starts: allocations may move. Otherwise they are an error that says
	// what to do.
	Starting bool
	// Added is Host.Added, as it is stored.
	Added Additions
	// Remember changes what is stored, in a transaction, and returns what is stored then. Nil: nothing
	// is.
	Remember func(ctx context.Context, change func(stored Additions) Additions) (Additions, error)
	// Consumers returns what is known of the consumers of the tree, for Host.Consumers. Nil: nothing.
	Consumers func(ctx context.Context, ids []string) (map[string]Consumer, error)
}

// errRestart is providertree.ErrMoves for operators.
var errRestart = fmt.Errorf("what the host reports has another shape than its tree in placement, "+
	"and servers have allocations there: restart the agent of the host, which moves them (%w)", providertree.ErrMoves)

// A StartError says why a host that starts cannot serve: its tree cannot be planned, or placement
// refuses to move allocations. A repetition has the same result until an operator has done
// something.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Sync makes the host's tree in placement what it should be. It may be repeated, and run
// concurrently. The error of a host that starts may be a StartError.
//
// What files add is stored before placement has it, and what has left them is forgotten after it
// was removed there: a sync that ends anywhere leaves nothing that the next one does not know.
func (h *Host) Sync(ctx context.Context, p providertree.Placement, o SyncOptions) (s Synced, err error) {
	stored := o.Added
	var added Additions // of the last plan
	result, err := providertree.Sync(ctx, p, providertree.Spec{
		Root: placement.UUID(h.ID.String()), Reshape: o.Starting,
		Plan: func(actual providertree.Tree) (providertree.Plan, error) {
			cur := *h
			cur.Added = stored
			if actual.Allocations != nil && o.Consumers != nil {
				var err error
				if cur.Consumers, err = o.Consumers(ctx, slices.Sorted(maps.Keys(actual.Allocations))); err != nil {
					return providertree.Plan{}, err
				}
			}
			plan, err := cur.Plan(actual)
			if err == nil && o.Remember != nil && !stored.Contains(plan.Added) {
				all, failure := o.Remember(ctx, func(now Additions) Additions { return now.Union(plan.Added) })
				if failure != nil {
					return providertree.Plan{}, failure
				}
				stored, cur.Added = all, all // a concurrent sync may have added something
				plan, err = cur.Plan(actual)
			}
			s.Warnings, added = plan.Warnings, plan.Added
			if err != nil && o.Starting {
				err = &StartError{err}
			}
			return plan.Plan, err
		},
	})
	if err == nil {
		err = result.Err()
		if final := result.MovesRefused(); final != nil {
			err = &StartError{final}
		}
	}
	if errors.Is(err, providertree.ErrMoves) {
		err = errRestart
	}
	if err == nil && o.Remember != nil && !stored.Equal(added) {
		_, err = o.Remember(ctx, func(now Additions) Additions {
			if now.Equal(stored) {
				return added
			}
			return now // a concurrent sync has changed it
		})
	}
	s.Moves = result.Moves
	return s, err
}

// SetDisabled adds TraitDisabled to the root of a host's tree, or removes it, and changes nothing
// else. A tree that does not exist yet is ignored: it gets the trait with the host's first report.
func SetDisabled(ctx context.Context, root placement.UUID, disabled bool, p providertree.Placement) error {
	return providertree.Retry(func() error {
		tree, err := p.Tree(ctx, root, func(cur providertree.Provider) bool { return cur.ID == root })
		if err != nil {
			return err
		}
		host, exists := tree.Find(root)
		if !exists || slices.Contains(host.Traits, TraitDisabled) == disabled {
			return nil
		}
		host.Traits = slices.DeleteFunc(slices.Clone(host.Traits), func(name string) bool { return name == TraitDisabled })
		if disabled {
			host.Traits = providertree.SortedSet(append(host.Traits, TraitDisabled))
		}
		_, err = p.SetTraits(ctx, host)
		return err
	})
}
