package compute

import (
	"cmp"
	"context"
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
	job        *job
	hints      hints
	wanted     selection.Wanted
	hosts      []selection.Host
	aggregates []request.Aggregate
}

// snapshot reads it in one View.
func (s *Service) snapshot(ctx context.Context, jobs []*job) (p snapshot, err error) {
	p.job = jobs[0]
	own := map[ID]bool{}
	for _, j := range jobs {
		p.wanted.Servers = append(p.wanted.Servers, string(j.op.Server))
		own[j.op.Server] = true
	}
	err = s.store.View(ctx, func(r Reader) error {
		if p.server, err = One[ServerRow](r, Where(ByID, p.job.op.Server)); err != nil {
			return err
		}
		if p.flavor, err = p.server.flavor(); err != nil {
			return err
		}
		if p.hints, err = readHints(p.server.Hints); err != nil {
			return err
		}
		p.wanted.Forced, p.wanted.Same, p.wanted.Different = p.job.b.Forced, p.hints.Same, p.hints.Different
		if p.wanted.Group, err = wantedGroup(r, p.server.Group, own); err != nil {
			return err
		}
		return s.hostsFor(r, &p, own)
	})
	return p, err
}

// wantedGroup is the server group as the choice sees it, nil for none.
func wantedGroup(r Reader, id ID, own map[ID]bool) (*selection.Group, error) {
	if id == "" {
		return nil, nil
	}
	row, err := One[GroupRow](r, Where(ByID, id))
	if err != nil {
		return nil, err
	}
	members, err := Rows[ServerRow](r, Where(ByGroup, id))
	g := &selection.Group{Policy: row.Policy, Most: row.MaxPerHost}
	for _, m := range members {
		if m.Task == Deleting {
			continue
		}
		g.Members = append(g.Members, string(m.ID))
		if m.Host != "" && !own[m.ID] && !slices.Contains(g.Hosts, m.Host) {
			g.Hosts = append(g.Hosts, m.Host)
		}
	}
	return g, err
}

// hostsFor reads the hosts, without the servers that are being scheduled.
func (s *Service) hostsFor(r Reader, p *snapshot, own map[ID]bool) error {
	nodes, err := Rows[NodeRow](r)
	if err != nil {
		return err
	}
	slices.SortFunc(nodes, func(a, b NodeRow) int { return cmp.Compare(a.Number, b.Number) })
	services, err := s.services(r)
	if err != nil {
		return err
	}
	byHost := make(map[string]HostService, len(services))
	for _, h := range services {
		byHost[h.Host] = h
	}
	servers, err := p.others(r)
	if err != nil {
		return err
	}
	on := map[[2]string][]ServerRow{}
	for _, row := range servers {
		if at := [2]string{row.Host, row.Node}; !own[row.ID] {
			on[at] = append(on[at], row)
		}
	}
	all, err := aggregates(r)
	if err != nil {
		return err
	}
	for _, a := range all {
		p.aggregates = append(p.aggregates, request.Aggregate{UUID: placement.UUID(a.ID), Metadata: a.Metadata})
	}
	for _, n := range nodes {
		service := byHost[n.Host]
		h := selection.Host{
			Name: n.Host, Node: n.Name, Provider: placement.UUID(n.ID), Enabled: !service.Disabled, Up: service.Up, Failed: n.Failed,
		}
		for _, row := range on[[2]string{n.Host, n.Name}] {
			h.Servers = append(h.Servers, string(row.ID))
			if row.Task != "" {
				h.Busy++
			}
		}
		for _, a := range all {
			if slices.Contains(a.Hosts, n.Host) {
				h.Metadata = append(h.Metadata, a.Metadata)
			}
		}
		p.hosts = append(p.hosts, h)
	}
	return nil
}

// others are the servers that the choice depends on: all of them when a group or a hint needs their
// hosts, else those with an operation in progress.
func (p *snapshot) others(r Reader) ([]ServerRow, error) {
	if p.wanted.Group != nil || len(p.wanted.Same)+len(p.wanted.Different) > 0 {
		return Rows[ServerRow](r)
	}
	operations, err := Rows[OperationRow](r)
	if err != nil || len(operations) == 0 {
		return nil, err
	}
	ids := make([]ID, len(operations))
	for i, op := range operations {
		ids[i] = op.Server
	}
	return Rows[ServerRow](r, Where(ByID, ids...))
}

// spec is the input of the query for placement.
func (p snapshot) spec(ports []Port) request.Spec {
	spec := request.Spec{
		Flavor: p.flavor, Image: p.job.b.Image, Project: p.server.Project, Zone: p.server.Zone, InTree: placement.UUID(p.job.b.Node),
		Unlimited: p.hints.Group != "" || len(p.hints.Same)+len(p.hints.Different) > 0,
	}
	for _, port := range ports {
		spec.Ports = append(spec.Ports, port.Asks)
	}
	return spec
}
