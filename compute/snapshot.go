package compute

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// A snapshot is a snapshot of what the choice of hosts depends on.
type snapshot struct {
	server     ServerRow // the first one
	flavor     extraspecs.Flavor
	choice     *hostChoice // of the first one
	hints      hints
	wanted     selection.Wanted
	hosts      []selection.Host
	aggregates []request.Aggregate
}

// snapshot reads it. With again the hosts and the aggregates are read as well, instead of taken from the
// cache.
func (s *Service) snapshot(ctx context.Context, jobs []claimant, again bool) (p snapshot, err error) {
	if p.hosts, p.aggregates, err = s.choosable(ctx, again); err != nil {
		return p, err
	}
	p.choice = jobs[0].choice()
	target := jobs[0].target()
	own := map[ID]bool{}
	for _, j := range jobs {
		p.wanted.Servers = append(p.wanted.Servers, string(j.serverID()))
		own[j.serverID()] = true
	}
	err = s.store.View(ctx, func(r Reader) error {
		if p.server, err = One[ServerRow](r, Where(ByID, jobs[0].serverID())); err != nil {
			return err
		}
		wanted := p.server
		if target != nil {
			wanted.Flavor = target.flavor
			if !s.rules.Settings.ResizeOnHost || target.flavorID == p.server.FlavorID {
				p.wanted.Ignored = p.server.Host
			}
		}
		if p.flavor, err = wanted.StoredFlavor(); err != nil {
			return err
		}
		if p.hints, err = readHints(p.server.Hints); err != nil {
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

// wantedGroup is the server group as the choice sees it, nil for none. Servers that are being scheduled have no host yet.
func wantedGroup(r Reader, id ID, scheduled map[ID]bool) (*selection.Group, error) {
	if id == "" {
		return nil, nil
	}
	row, err := One[GroupRow](r, Where(ByID, id))
	if err != nil {
		return nil, err
	}
	members, err := Rows[ServerSummary](r, Where(ByGroup, id))
	g := &selection.Group{Policy: row.Policy, Most: row.MaxPerHost}
	for _, m := range members {
		if m.Task == Deleting {
			continue
		}
		g.Members = append(g.Members, string(m.ID))
		if m.Host != "" && !scheduled[m.ID] && !slices.Contains(g.Hosts, m.Host) {
			g.Hosts = append(g.Hosts, m.Host)
		}
	}
	return g, err
}

// serversOn adds to the hosts what the choice needs to know of their servers, without those that are being scheduled: which of
// those that the group and the hints name are there, and how many are busy.
func (p *snapshot) serversOn(r Reader, own map[ID]bool) error {
	named, err := p.named(r)
	if err != nil {
		return err
	}
	busy, err := r.CountEach(&ServerRow{}, ByBusyHost)
	if err != nil {
		return err
	}
	scheduled, err := Rows[ServerSummary](r, Where(ByID, slices.Sorted(maps.Keys(own))...))
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
func (p *snapshot) named(r Reader) ([]ServerSummary, error) {
	var ids []ID
	for _, hint := range [][]string{p.wanted.Same, p.wanted.Different} {
		for _, id := range hint {
			ids = append(ids, ID(id))
		}
	}
	if p.wanted.Group != nil {
		for _, id := range p.wanted.Group.Members {
			ids = append(ids, ID(id))
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return Rows[ServerSummary](r, Where(ByID, ids...))
}

// spec is the input of the query for placement.
func (p snapshot) spec(ports []Port) request.Spec {
	spec := request.Spec{
		Flavor: p.flavor, Image: p.choice.Image, Project: p.server.Project, Zone: p.server.Zone, InTree: placement.UUID(p.choice.Node),
		Unlimited: p.hints.Group != "" || len(p.hints.Same)+len(p.hints.Different) > 0,
	}
	for _, port := range ports {
		spec.Ports = append(spec.Ports, port.Asks)
	}
	return spec
}
