package tracking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/network"
)

// removeOthers removes the agent's providers that its report does not name any
// more. They are known by their names: those of an agent's devices begin with the
// agent's own. So those are found too that an older release hung elsewhere in the
// tree.
func (s *agentSync) removeOthers(ctx context.Context) {
	for _, name := range s.rootNames {
		tree, err := s.opts.Placement.ProvidersBelow(ctx, s.roots[name].UUID)
		if err != nil {
			s.fail(name, fmt.Errorf("looking for providers that are not needed any more: %w", err))
			continue
		}
		for _, p := range tree {
			if s.isGone(p) {
				s.remove(ctx, p)
			}
		}
	}
}

// isGone reports whether a provider was the agent's and is not any more.
func (s *agentSync) isGone(p network.Provider) bool {
	wanted := slices.ContainsFunc(s.want.Providers, func(w Provider) bool { return w.UUID == p.UUID })
	return !wanted && slices.ContainsFunc(s.want.Providers, func(w Provider) bool {
		return w.Parent == "" && strings.HasPrefix(p.Name, w.Name+":")
	})
}

// remove removes a provider that nobody uses.
func (s *agentSync) remove(ctx context.Context, p network.Provider) {
	if s.opts.Shared != nil {
		shared, err := s.opts.Shared(ctx, s.agent, p.UUID)
		if err != nil {
			s.fail(p.Name, fmt.Errorf("asking whether another agent has it: %w", err))
			return
		}
		if shared {
			return
		}
	}
	switch err := s.opts.Placement.RemoveProvider(ctx, p.UUID); {
	case err == nil:
		s.opts.Log.Info("a provider that its agent does not report any more was removed", "agent", string(s.agent), "provider", p.Name)
	case errors.Is(err, network.ErrInUse):
		s.kept = append(s.kept, p.Name)
		s.opts.Log.Warn("a provider that its agent does not report any more stays, because it is in use", "agent", string(s.agent), "provider", p.Name, "error", err)
	default:
		s.fail(p.Name, fmt.Errorf("removing it: %w", err))
	}
}
