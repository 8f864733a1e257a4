package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// removeOthers removes the agent's providers that its report does not name any more,
// below the hypervisors that it names and below those that it named once.
func (s *agentSync) removeOthers(ctx context.Context) {
	for _, name := range s.want.Hypervisors() {
		s.removeFrom(ctx, name, s.roots[name].tree)
	}
	for _, name := range s.had {
		if _, desired := s.roots[name]; desired {
			continue
		}
		tree, err := s.treeOf(ctx, name)
		if err != nil {
			s.fail(name, fmt.Errorf("reading the agent's former providers: %w", err))
			continue
		}
		if s.removeFrom(ctx, name, tree) {
			s.result.Cleared = append(s.result.Cleared, name)
		}
	}
}

// treeOf returns the tree of a hypervisor, none when it does not exist.
func (s *agentSync) treeOf(ctx context.Context, hypervisor string) (tree []network.Provider, err error) {
	found, err := s.opts.Placement.ProviderNamed(ctx, hypervisor)
	if err == nil {
		tree, err = s.opts.Placement.ProvidersBelow(ctx, found.UUID)
	}
	if errors.Is(err, allocations.ErrNoProvider) {
		return nil, nil
	}
	return tree, err
}

// removeFrom removes the agent's providers that are not in the desired state from the tree of a
// hypervisor, and reports whether none is left. Providers are recognised by name, so that those are
// found too that an older release put elsewhere in the tree.
func (s *agentSync) removeFrom(ctx context.Context, hypervisor string, tree []network.Provider) (cleared bool) {
	// Devices before their agent, whose name theirs begin with.
	slices.SortFunc(tree, func(a, b network.Provider) int { return cmp.Compare(b.Name, a.Name) })
	cleared = true
	for _, p := range tree {
		if s.isGone(hypervisor, p) && !s.remove(ctx, p) {
			cleared = false
		}
	}
	return cleared
}

// isGone reports whether a provider below a hypervisor was the agent's and is not any
// more.
func (s *agentSync) isGone(hypervisor string, p network.Provider) bool {
	name, ours := guarantee.ParseName(p.Name)
	if !ours || name.Driver.Name != s.want.Driver || name.Hypervisor != hypervisor {
		return false
	}
	return !slices.ContainsFunc(s.want.Providers, func(w guarantee.Provider) bool { return w.UUID.String() == p.UUID })
}

// remove removes a provider without allocations, and reports whether the agent is done with it.
func (s *agentSync) remove(ctx context.Context, p network.Provider) bool {
	if s.opts.Shared != nil {
		shared, err := s.opts.Shared(ctx, s.agent, p.UUID)
		if err != nil {
			s.fail(p.Name, fmt.Errorf("reading whether another agent has it: %w", err))
			return false
		}
		if shared {
			return true
		}
	}
	switch err := s.opts.Placement.RemoveProvider(ctx, p.UUID); {
	case err == nil:
		s.opts.Log.Info("a provider that its agent does not report any more was removed", "agent", string(s.agent), "provider", p.Name)
		return true
	case errors.Is(err, allocations.ErrInUse):
		s.result.Kept = append(s.result.Kept, p.Name)
		s.opts.Log.Warn("a provider that its agent does not report any more stays, because it is in use", "agent", string(s.agent), "provider", p.Name, "error", err)
	default:
		s.fail(p.Name, fmt.Errorf("removing it: %w", err))
	}
	return false
}
