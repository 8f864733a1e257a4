package tracking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// An agentSync is the sync of one agent, under way.
type agentSync struct {
	*Tracker
	agent  network.ID
	want   guarantee.State
	failed []string // what went wrong, in order
	result network.SyncResult
}

// sync brings an agent into placement.
func (t *Tracker) sync(ctx context.Context, r *Report) network.SyncResult {
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	s := &agentSync{Tracker: t, agent: r.Agent, want: r.State}
	if roots, found := s.findRoots(ctx); found {
		s.ensureUnusedTraits(ctx)
		for _, name := range s.want.Hypervisors() {
			s.syncTree(ctx, name, roots[name])
		}
		s.clear(ctx, slices.DeleteFunc(slices.Clone(r.Hypervisors), func(name string) bool { return roots[name] != "" }))
	}
	s.result.State, s.result.Failure = r.State, summary(s.failed)
	if s.result.Failure != "" {
		t.placement.forget(r.State.Traits) // one may have been deleted
		t.opts.Log.Warn("the providers of an agent could not be synced to placement", "agent", string(r.Agent),
			"error", s.result.Failure)
	}
	return s.result
}

// fail notes a call that went wrong: what is the provider or trait that it was for.
func (s *agentSync) fail(what string, err error) {
	text := what + ": " + strings.Join(strings.Fields(err.Error()), " ")
	s.failed = append(s.failed, text)
	s.opts.Log.Debug("a call to placement failed", "agent", string(s.agent), "error", text)
}

// findRoots returns the roots of the trees that the agent has providers in, by hypervisor.
func (s *agentSync) findRoots(ctx context.Context) (roots map[string]placement.UUID, found bool) {
	roots = map[string]placement.UUID{}
	for _, name := range s.want.Hypervisors() {
		root, err := s.placement.Named(ctx, name)
		if errors.Is(err, allocations.ErrNoProvider) {
			err = errors.New("placement has no resource provider of this name: the compute service has not created it, or " +
				"uses another name for the host (resource_provider_hypervisors)")
		}
		if err != nil {
			s.fail(name, err)
			return nil, false
		}
		roots[name] = root.ID
	}
	return roots, true
}

// ensureUnusedTraits creates the traits of the state that no provider has. The others are created
// with the providers.
func (s *agentSync) ensureUnusedTraits(ctx context.Context) {
	for _, name := range s.want.Traits {
		if slices.ContainsFunc(s.want.Providers, func(p guarantee.Provider) bool { return slices.Contains(p.Traits, name) }) {
			continue
		}
		if err := s.placement.EnsureTrait(ctx, name); err != nil {
			s.fail(name, fmt.Errorf("creating the trait: %w", err))
		}
	}
}

// clear removes what the agent had below other hypervisors, by their names.
func (s *agentSync) clear(ctx context.Context, hypervisors []string) {
	for _, name := range hypervisors {
		root, err := s.placement.Named(ctx, name)
		switch {
		case errors.Is(err, allocations.ErrNoProvider):
			s.result.Cleared = append(s.result.Cleared, name)
		case err != nil:
			s.fail(name, fmt.Errorf("reading the agent's former providers: %w", err))
		case s.syncTree(ctx, name, root.ID):
			s.result.Cleared = append(s.result.Cleared, name)
		}
	}
}

// syncTree makes the agent's providers below a hypervisor what they should be, and reports whether
// it has no others there.
func (s *agentSync) syncTree(ctx context.Context, hypervisor string, root placement.UUID) (done bool) {
	desired := Desired(s.want, hypervisor, root)
	var unplanned []*providertree.Failure // in the last plan
	result, err := providertree.Sync(ctx, s.placement, providertree.Spec{
		Root: root,
		Contents: func(cur providertree.Provider) bool {
			return slices.ContainsFunc(desired, func(p providertree.Provider) bool { return p.ID == cur.ID })
		},
		Plan: func(actual providertree.Tree) (plan providertree.Plan, _ error) {
			plan, unplanned = s.plan(ctx, actual, hypervisor, desired)
			return plan, nil
		},
	})
	if err != nil {
		s.fail(hypervisor, err)
		return false
	}
	failed := slices.Concat(result.Failed, unplanned)
	for _, f := range failed {
		s.fail(f.Name, fmt.Errorf("%s: %w", f.Step, f.Err))
	}
	for _, u := range result.Unknown {
		s.fail(u.Name, fmt.Errorf("setting its traits: placement does not know %s, and has the others",
			strings.Join(u.Traits, ", ")))
	}
	for _, p := range result.Removed {
		s.opts.Log.Info("a provider that its agent does not report any more was removed", "agent", string(s.agent),
			"provider", p.Name)
	}
	for _, p := range result.InUse {
		s.result.Kept = append(s.result.Kept, p.Name)
		s.opts.Log.Warn("a provider that its agent does not report any more stays, because it is in use",
			"agent", string(s.agent), "provider", p.Name)
	}
	return len(failed)+len(result.Unknown)+len(result.InUse) == 0
}

// maxFailure bounds Result.Failure, in bytes.
const maxFailure = 500

// summary returns what people are shown of failures: the first, which most of the
// others follow from.
func summary(failed []string) string {
	if len(failed) == 0 {
		return ""
	}
	more := ""
	if n := len(failed) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	first := strings.ToValidUTF8(failed[0], "?")
	if limit := maxFailure - len(more); len(first) > limit {
		const cut = "…"
		first = strings.ToValidUTF8(first[:limit-len(cut)], "") + cut
	}
	return first + more
}
