package inventory

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Sync makes the host's tree in placement what it should be, and returns what an operator should
// know. It may be repeated, and run concurrently.
func (h *Host) Sync(ctx context.Context, p providertree.Placement) (warnings []string, err error) {
	result, err := providertree.Sync(ctx, p, providertree.Spec{
		Root: placement.UUID(h.ID.String()),
		Plan: func(actual providertree.Tree) (providertree.Plan, error) {
			plan, err := h.Plan(actual)
			warnings = plan.Warnings
			return plan.Plan, err
		},
	})
	if err == nil {
		err = result.Err()
	}
	return warnings, err
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
