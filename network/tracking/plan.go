package tracking

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// Desired returns the providers of a state below a hypervisor, whose own provider is the root: an
// agent's before its devices'.
func Desired(state guarantee.State, hypervisor string, root placement.UUID) (all []providertree.Provider) {
	for _, p := range state.Providers {
		if p.Hypervisor != hypervisor {
			continue
		}
		want := providertree.Provider{
			ID: placement.UUID(p.UUID.String()), Name: p.Name, Parent: root,
			Inventories: map[string]placement.Inventory{}, Traits: providertree.SortedSet(p.Traits),
		}
		if p.Device != "" {
			want.Parent = placement.UUID(p.Parent.String())
		}
		for class, i := range p.Inventories {
			want.Inventories[class] = placement.Inventory{
				Total: i.Total, Reserved: or(i.Reserved, 0), MinUnit: or(i.MinUnit, 1), MaxUnit: or(i.MaxUnit, math.MaxInt32),
				StepSize: or(i.StepSize, 1), AllocationRatio: or(i.AllocationRatio, 1),
			}
		}
		all = append(all, want)
	}
	return all
}

// or returns a value that an inventory may leave to placement's default.
func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// plan returns the changes of a hypervisor's tree, and what cannot be changed. What others have in
// the tree is left alone. Providers are the agent's by name, so that those are removed too that an
// older release put elsewhere in the tree.
func (s *agentSync) plan(
	ctx context.Context, actual providertree.Tree, hypervisor string, desired []providertree.Provider,
) (plan providertree.Plan, unplanned []*providertree.Failure) {
	desired = slices.Clone(desired)
	for i, want := range desired {
		cur, _ := actual.Find(want.ID)
		allocated := slices.DeleteFunc(providertree.RemovedClasses(cur, want), func(class string) bool {
			return cur.Used[class] == 0
		})
		if len(allocated) > 0 {
			desired[i].Inventories = maps.Clone(cur.Inventories)
			unplanned = append(unplanned, &providertree.Failure{
				Name: want.Name, Step: "setting its inventories",
				Err: fmt.Errorf("%s is allocated and cannot be removed", strings.Join(allocated, ", ")),
			})
		}
	}
	plan = providertree.Compare(actual, desired, nil)
	plan.Update = providertree.Misplaced(actual, desired)
	for _, cur := range actual.Providers {
		if !s.isFormer(hypervisor, cur) {
			continue
		}
		shared, err := s.shared(ctx, cur)
		if err != nil {
			unplanned = append(unplanned, &providertree.Failure{
				Name: cur.Name, Step: "reading whether another agent has it", Err: err,
			})
		} else if !shared {
			plan.RemoveUnused = append(plan.RemoveUnused, cur)
		}
	}
	// Devices before their agent, whose name theirs begin with.
	slices.SortFunc(plan.RemoveUnused, func(a, b providertree.Provider) int { return cmp.Compare(b.Name, a.Name) })
	return plan, unplanned
}

// isFormer reports whether a provider below a hypervisor was the agent's and is not any more.
func (s *agentSync) isFormer(hypervisor string, cur providertree.Provider) bool {
	name, ours := guarantee.ParseName(cur.Name)
	if !ours || name.Driver.Name != s.want.Driver || name.Hypervisor != hypervisor {
		return false
	}
	return !slices.ContainsFunc(s.want.Providers, func(want guarantee.Provider) bool {
		return want.UUID.String() == string(cur.ID)
	})
}

// shared reports whether another agent has a provider too.
func (s *agentSync) shared(ctx context.Context, p providertree.Provider) (bool, error) {
	if s.opts.Shared == nil {
		return false, nil
	}
	return s.opts.Shared(ctx, s.agent, string(p.ID))
}
