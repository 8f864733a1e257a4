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
)

// An agentSync is the sync of one agent, under way.
type agentSync struct {
	*Tracker
	agent  network.ID
	want   guarantee.State
	had    []string         // hypervisors besides the desired ones
	roots  map[string]*root // by hypervisor
	failed []string         // what went wrong, in order
	result network.SyncResult
}

// A root is the provider of a hypervisor, with the tree that it was in when the sync
// began; nil when that could not be read.
type root struct {
	network.Provider
	tree []network.Provider
}

// sync brings an agent into placement.
func (t *Tracker) sync(ctx context.Context, r *Report) network.SyncResult {
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	s := &agentSync{Tracker: t, agent: r.Agent, want: r.State, had: r.Hypervisors}
	if s.findRoots(ctx) {
		s.readTrees(ctx)
		s.ensureTraits(ctx)
		s.ensureProviders(ctx)
		s.setTraits(ctx)
		s.setInventories(ctx)
		s.removeOthers(ctx)
	}
	s.result.State, s.result.Failure = r.State, summary(s.failed)
	if s.result.Failure != "" {
		t.traits.forget(r.State.Traits) // one may have been deleted
		t.opts.Log.Warn("the providers of an agent could not be synced to placement", "agent", string(r.Agent), "error", s.result.Failure)
	}
	return s.result
}

// fail notes a call that went wrong: what is the provider or trait that it was for.
func (s *agentSync) fail(what string, err error) {
	text := what + ": " + strings.Join(strings.Fields(err.Error()), " ")
	s.failed = append(s.failed, text)
	s.opts.Log.Debug("a call to placement failed", "agent", string(s.agent), "error", text)
}

// findRoots looks the roots up. A tree whose root does not exist, or cannot be read, is left out.
func (s *agentSync) findRoots(ctx context.Context) bool {
	s.roots = make(map[string]*root)
	for _, name := range s.want.Hypervisors() {
		found, err := s.opts.Placement.ProviderNamed(ctx, name)
		if errors.Is(err, allocations.ErrNoProvider) {
			err = errors.New("placement has no resource provider of this name: the compute service has not created it, or uses another name for the host (resource_provider_hypervisors)")
		}
		if err != nil {
			s.fail(name, err)
			return false
		}
		s.roots[name] = &root{Provider: found}
	}
	return true
}

// readTrees looks at what there is below the roots.
func (s *agentSync) readTrees(ctx context.Context) {
	for _, name := range s.want.Hypervisors() {
		tree, err := s.opts.Placement.ProvidersBelow(ctx, s.roots[name].UUID)
		if err != nil {
			s.fail(name, fmt.Errorf("reading its tree: %w", err))
			continue
		}
		s.roots[name].tree = tree
	}
}

func (s *agentSync) ensureTraits(ctx context.Context) {
	for _, name := range s.want.Traits {
		if s.traits.has(name) {
			continue
		}
		if err := s.opts.Placement.EnsureTrait(ctx, name); err != nil {
			s.fail(name, fmt.Errorf("creating the trait: %w", err))
			continue
		}
		s.traits.add(name)
	}
}

func (s *agentSync) ensureProviders(ctx context.Context) {
	for _, p := range s.want.Providers {
		below := s.roots[p.Hypervisor]
		want := network.Provider{UUID: p.UUID.String(), Name: p.Name, Parent: below.UUID}
		if p.Device != "" {
			want.Parent = p.Parent.String()
		}
		if below.has(want) {
			continue
		}
		if err := s.opts.Placement.EnsureProvider(ctx, want); err != nil {
			s.fail(p.Name, fmt.Errorf("creating the provider: %w", err))
		}
	}
}

// has reports whether a provider was in the tree as it should be.
func (r *root) has(want network.Provider) bool {
	return slices.ContainsFunc(r.tree, func(cur network.Provider) bool {
		return cur.UUID == want.UUID && cur.Name == want.Name && cur.Parent == want.Parent
	})
}

func (s *agentSync) setTraits(ctx context.Context) {
	for _, p := range s.want.Providers {
		if err := s.opts.Placement.SetTraits(ctx, p.UUID.String(), p.Traits); err != nil {
			s.fail(p.Name, fmt.Errorf("setting its traits: %w", err))
		}
	}
}

func (s *agentSync) setInventories(ctx context.Context) {
	for _, p := range s.want.Providers {
		if err := s.opts.Placement.SetInventories(ctx, p.UUID.String(), p.Inventories); err != nil {
			s.fail(p.Name, fmt.Errorf("setting its inventories: %w", err))
		}
	}
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
