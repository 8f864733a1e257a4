package scheduler

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// A snapshot is a snapshot of what the choice of hosts depends on.
type snapshot struct {
	server     compute.ServerRow // the first one
	flavor     extraspecs.Flavor
	choice     *HostChoice // of the first one
	hints      Hints
	wanted     selection.Wanted
	hosts      []selection.Host
	aggregates []request.Aggregate
}

// snapshot reads it. With again the hosts and the aggregates are read as well, instead of taken
// from the cache.
func (s *Scheduler) snapshot(ctx context.Context, jobs []Claimant, again bool) (p snapshot, err error) {
	if p.hosts, p.aggregates, err = s.hosts.choosable(ctx, again); err != nil {
		return p, err
	}
	p.choice = jobs[0].Choice()
	target := jobs[0].Target()
	own := map[compute.ID]bool{}
	for _, j := range jobs {
		p.wanted.Servers = append(p.wanted.Servers, string(j.ServerID()))
		own[j.ServerID()] = true
	}
	err = s.store.View(ctx, func(r compute.Reader) error {
		if p.server, err = compute.One[compute.ServerRow](r, compute.Where(compute.ByID, jobs[0].ServerID())); err != nil {
			return err
		}
		resized := p.server
		if target != nil {
			resized.Flavor, p.wanted.Refused = target.Flavor, target.Refused
			if !s.rules.Settings.ResizeOnHost || target.FlavorID == p.server.FlavorID {
				p.wanted.Ignored = p.server.Host
			}
		}
		if p.flavor, err = resized.StoredFlavor(); err != nil {
			return err
		}
		if p.hints, err = ReadHints(p.server.Hints); err != nil {
			return err
		}
		p.wanted.Forced, p.wanted.Same, p.wanted.Different = p.choice.Forced, p.hints.Same, p.hints.Different
		scheduled := own
		if target != nil { // as in Nova, the host that a server leaves is one of those of its group
			scheduled = nil
		}
		if p.wanted.Group, err = wantedGroup(r, p.server.Group, scheduled); err != nil {
			return err
		}
		return p.serversOn(r, own)
	})
	return p, err
}

// wantedGroup is the server group as the choice sees it, nil for none. Servers that are being
// scheduled have no host yet.
func wantedGroup(r compute.Reader, id compute.ID, scheduled map[compute.ID]bool) (*selection.Group, error) {
	if id == "" {
		return nil, nil
	}
	row, err := compute.One[compute.GroupRow](r, compute.Where(compute.ByID, id))
	if err != nil {
		return nil, err
	}
	members, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByGroup, id))
	g := &selection.Group{Policy: row.Policy, Most: row.MaxPerHost}
	for _, m := range members {
		if m.Task == compute.Deleting {
			continue
		}
		g.Members = append(g.Members, string(m.ID))
		if m.Host != "" && !scheduled[m.ID] && !slices.Contains(g.Hosts, m.Host) {
			g.Hosts = append(g.Hosts, m.Host)
		}
	}
	return g, err
}

// serversOn adds to the hosts what the choice needs to know of their servers, without those that
// are being scheduled: which of those that the group and the hints name are there, and how many are
// busy.
func (p *snapshot) serversOn(r compute.Reader, own map[compute.ID]bool) error {
	named, err := p.named(r)
	if err != nil {
		return err
	}
	busy, err := r.CountEach(&compute.ServerRow{}, compute.ByBusyHost)
	if err != nil {
		return err
	}
	scheduled, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByID, slices.Sorted(maps.Keys(own))...))
	if err != nil {
		return err
	}
	for _, row := range scheduled {
		if row.Task != "" {
			busy[row.Host]--
		}
	}
	on := map[[2]string][]string{}
	for _, row := range named {
		if at := [2]string{row.Host, row.Node}; !own[row.ID] {
			on[at] = append(on[at], string(row.ID))
		}
	}
	for i := range p.hosts {
		h := &p.hosts[i]
		h.Servers, h.Busy = on[[2]string{h.Name, h.Node}], int(busy[h.Name])
	}
	return nil
}

// named are the servers whose hosts the choice depends on: those of the group, and those of hints.
func (p *snapshot) named(r compute.Reader) ([]compute.ServerSummary, error) {
	var ids []compute.ID
	for _, hint := range [][]string{p.wanted.Same, p.wanted.Different} {
		for _, id := range hint {
			ids = append(ids, compute.ID(id))
		}
	}
	if p.wanted.Group != nil {
		for _, id := range p.wanted.Group.Members {
			ids = append(ids, compute.ID(id))
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByID, ids...))
}

// spec is the input of the query for placement.
func (p snapshot) spec(ports []compute.Port) request.Spec {
	spec := request.Spec{
		Flavor: p.flavor, Image: p.choice.Image, Project: p.server.Project, Zone: p.server.Zone,
		InTree: placement.UUID(p.choice.Node), Unlimited: p.hints.Group != "" || len(p.hints.Same)+len(p.hints.Different) > 0,
	}
	for _, port := range ports {
		spec.Ports = append(spec.Ports, port.ResourceRequest)
	}
	return spec
}
