package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Requests returns the settings of requests to placement, with what hosts are known to report.
func (h *Hosts) Requests(ctx context.Context) (request.Settings, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refresh(ctx, false); err != nil {
		return request.Settings{}, err
	}
	settings := h.db.Rules.Settings.Requests
	settings.Topologies = h.topologies
	settings.NUMA = h.traits[request.TraitNUMARoot]
	settings.NonNUMA = h.traits[request.TraitNonNUMA]
	settings.NoSocketAffinity = !h.traits[request.TraitSocketAffinity]
	return settings, nil
}

// A reportedNode is what a hypervisor has reported of its NUMA nodes, and the traits that follow
// from it. A topology of hundreds of CPUs is not parsed again with each report of its host.
type reportedNode struct {
	topology, additions []byte
	traits              []string
	cells               bool // it can have servers with cells
}

// readTraits makes the traits of all hosts after stale rows of nodes were read.
func (h *Hosts) readTraits(stale dirtyRows) {
	before := h.reported
	if stale.all {
		h.reported = make(map[compute.ID]reportedNode, len(h.nodes))
	}
	read := func(id compute.ID) {
		n, exists := h.nodes[id]
		r := before[id]
		switch {
		case !exists:
			delete(h.reported, id)
			return
		case r.topology == nil || !bytes.Equal(r.topology, n.Topology) || !bytes.Equal(r.additions, n.Additions):
			r = reportedNode{topology: n.Topology, additions: n.Additions}
			r.traits, r.cells = nodeTraits(n)
		}
		h.reported[id] = r
	}
	if stale.all {
		for id := range h.nodes {
			read(id)
		}
	} else {
		for id := range stale.nodes {
			read(id)
		}
	}
	h.traits, h.topologies = map[string]bool{}, false
	for _, r := range h.reported {
		h.topologies = h.topologies || r.cells
		for _, t := range r.traits {
			h.traits[t] = true
		}
	}
}

// nodeTraits are the traits about NUMA nodes that a host's tree is to have: those of its topology,
// and those that its files add; and whether it can have servers with cells. What cannot be read has
// none: who stores it reports the error.
func nodeTraits(n compute.NodeRow) (all []string, cells bool) {
	var t numa.Topology
	if len(n.Topology) > 0 {
		_ = json.Unmarshal(n.Topology, &t)
	}
	if t.Reported {
		all = append(all, request.TraitNUMARoot)
	}
	if t.Excluded {
		all = append(all, request.TraitNonNUMA)
	}
	cells = len(t.Nodes) > 0 && !t.Excluded
	if t.HasSockets() {
		all = append(all, request.TraitSocketAffinity)
	}
	if len(n.Additions) == 0 {
		return all, cells
	}
	var added inventory.Additions
	_ = json.Unmarshal(n.Additions, &added)
	for _, provider := range added {
		for _, t := range []string{request.TraitNonNUMA, request.TraitSocketAffinity} {
			if slices.Contains(provider.Traits, t) {
				all = append(all, t)
			}
		}
	}
	return all, cells
}

// apart queries placement, and leaves out candidates of which two NUMA cells would share a node.
// When a page has no others, it queries for the form of the request that has only those apart.
func (s *Scheduler) apart(ctx context.Context, q placement.Query) (selection.Answer, error) {
	answer, err := s.placement.Candidates(ctx, q)
	if at := slices.Index(q.RootForbidden, request.TraitNonNUMA); at >= 0 && refused(err) {
		// No host has the trait so far: placement may not know it.
		q.RootForbidden = slices.Delete(slices.Clone(q.RootForbidden), at, at+1)
		answer, err = s.placement.Candidates(ctx, q)
	}
	if err != nil {
		return answer, err
	}
	found := len(answer.Candidates)
	shares := func(c selection.Candidate) bool { return !request.Apart(q, c.Mappings) }
	answer.Candidates = slices.DeleteFunc(answer.Candidates, shares)
	isolated, ok := request.Isolated(q)
	if !ok || found == 0 || len(answer.Candidates) > 0 {
		return answer, nil
	}
	if answer, err = s.placement.Candidates(ctx, isolated); err != nil {
		return answer, err
	}
	for i := range answer.Candidates {
		answer.Candidates[i].Mappings = request.WithNodes(q, answer.Candidates[i].Mappings)
	}
	answer.Candidates = slices.DeleteFunc(answer.Candidates, shares)
	return answer, nil
}

// refused reports whether placement does not take a query: it does not know one of its traits, as a
// rule.
func refused(err error) bool {
	kind, _ := fault.Of(err)
	return err != nil && kind == fault.Invalid
}
