package tracking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/network"
)

// An agentSync is the sync of one agent, under way.
type agentSync struct {
	*Tracker
	agent     network.ID
	want      Desired
	rootNames []string // sorted
	roots     map[string]network.Provider
	failed    []string // what went wrong, in order
	kept      []string // names of providers that are in use
}

// sync brings an agent into placement.
func (t *Tracker) sync(ctx context.Context, r *Report) Result {
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	s := &agentSync{Tracker: t, agent: r.Agent, want: r.Desired}
	if s.findRoots(ctx) {
		s.ensureTraits(ctx)
		s.ensureProviders(ctx)
		s.setTraits(ctx)
		s.setInventories(ctx)
		s.removeOthers(ctx)
	}
	result := Result{Failure: summary(s.failed), Kept: s.kept, At: time.Now()}
	if result.Failure != "" {
		t.traits.forget(r.Desired.Traits) // somebody may have removed one
		t.opts.Log.Warn("an agent could not be brought into placement", "agent", string(r.Agent), "error", result.Failure)
	}
	return result
}

// fail notes a call that went wrong: what is the provider or trait that it was for.
func (s *agentSync) fail(what string, err error) {
	text := what + ": " + strings.Join(strings.Fields(err.Error()), " ")
	s.failed = append(s.failed, text)
	s.opts.Log.Debug("a call to placement failed", "agent", string(s.agent), "error", text)
}

// findRoots looks the roots up. What compute has not made yet, or placement does
// not tell, cannot be built upon.
func (s *agentSync) findRoots(ctx context.Context) bool {
	names := make(map[string]struct{})
	for _, p := range s.want.Providers {
		names[p.Root] = struct{}{}
	}
	s.roots = make(map[string]network.Provider, len(names))
	s.rootNames = slices.Sorted(maps.Keys(names))
	for _, name := range s.rootNames {
		root, err := s.opts.Placement.ProviderNamed(ctx, name)
		if errors.Is(err, network.ErrNoProvider) {
			err = errors.New("placement has no resource provider of this name: the compute service has not made it, or calls the host otherwise (resource_provider_hypervisors)")
		}
		if err != nil {
			s.fail(name, err)
			return false
		}
		s.roots[name] = root
	}
	return true
}

func (s *agentSync) ensureTraits(ctx context.Context) {
	for _, name := range s.want.Traits {
		if s.traits.has(name) {
			continue
		}
		if err := s.opts.Placement.EnsureTrait(ctx, name); err != nil {
			s.fail(name, fmt.Errorf("making the trait: %w", err))
			continue
		}
		s.traits.add(name)
	}
}

func (s *agentSync) ensureProviders(ctx context.Context) {
	for _, p := range s.want.Providers {
		parent := p.Parent
		if parent == "" {
			parent = s.roots[p.Root].UUID
		}
		err := s.opts.Placement.EnsureProvider(ctx, network.Provider{UUID: p.UUID, Name: p.Name, Parent: parent})
		if err != nil {
			s.fail(p.Name, fmt.Errorf("making the provider: %w", err))
		}
	}
}

func (s *agentSync) setTraits(ctx context.Context) {
	for _, p := range s.want.Providers {
		if err := s.opts.Placement.SetTraits(ctx, p.UUID, p.Traits); err != nil {
			s.fail(p.Name, fmt.Errorf("setting its traits: %w", err))
		}
	}
}

func (s *agentSync) setInventories(ctx context.Context) {
	for _, p := range s.want.Providers {
		if err := s.opts.Placement.SetInventories(ctx, p.UUID, p.Inventories); err != nil {
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
