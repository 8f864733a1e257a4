package boots

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/berthcloud/berth/internal/records"
)

// An auditing compares the records of the three services and the hosts.
type auditing struct {
	*cloud
	roots   map[string]string // root providers by provider
	servers map[string]records.Server
	want    map[string]records.Allocations // by server

	mu    sync.Mutex // guards what follows
	wrong []string
}

func (a *auditing) complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// audit checks that each server is active on a host that has it, that its allocations are those of
// its flavor and its ports, from providers of that host, and that no other consumer has
// allocations.
func (c *cloud) audit(ctx context.Context, r *Result) error {
	a := &auditing{
		cloud: c, roots: map[string]string{}, servers: map[string]records.Server{}, want: map[string]records.Allocations{},
	}
	if err := a.read(ctx); err != nil {
		return err
	}
	ids := make([]string, 0, len(a.servers))
	for id, s := range a.servers {
		ids = append(ids, id)
		if s.Status != "ACTIVE" || s.Task != nil {
			r.NotUp++
		}
	}
	if len(ids) != c.Boots {
		a.complain("there are %d servers, not %d", len(ids), c.Boots)
	}
	for len(ids) < c.Boots {
		ids = append(ids, "") // each requests as many as there are boots
	}
	total := records.Allocations{}
	for _, want := range a.want {
		total.AddAll(want)
	}
	err := c.each(func(i int) error { return a.compare(ctx, ids[i]) })
	if err != nil {
		return err
	}
	err = a.compareUse(ctx, total)
	r.Wrong = a.wrong
	return err
}

// read reads all servers, ports and providers.
func (a *auditing) read(ctx context.Context) error {
	var providers struct {
		Providers []struct {
			UUID string
			Root string `json:"root_provider_uuid"`
		} `json:"resource_providers"`
	}
	if err := a.call(ctx, "GET", a.Placement+"/resource_providers", nil, &providers); err != nil {
		return err
	}
	for _, p := range providers.Providers {
		a.roots[p.UUID] = p.Root
	}
	if err := a.readServers(ctx); err != nil {
		return err
	}
	var ports struct{ Ports []records.Port }
	if err := a.call(ctx, "GET", a.Network+"/v2.0/ports", nil, &ports); err != nil {
		return err
	}
	if want := a.Boots * len(a.networks); len(ports.Ports) != want {
		a.complain("there are %d ports, not %d", len(ports.Ports), want)
	}
	for _, p := range ports.Ports {
		a.port(p)
	}
	return nil
}

// readServers reads all servers, page by page, and the servers of hosts.
func (a *auditing) readServers(ctx context.Context) error {
	roots := map[string]string{}
	for _, h := range a.hosts {
		roots[h.Name] = h.ID
		all, err := h.Driver.Servers(ctx)
		if err != nil {
			return err
		}
		for _, s := range all {
			a.want[s.ID] = records.Allocations{h.ID: maps.Clone(flavor)}
			if len(s.Ports) != len(a.networks) || !s.Running {
				a.complain("%s has server %s with %d ports, running: %t", h.Name, s.ID, len(s.Ports), s.Running)
			}
		}
	}
	for marker := ""; ; {
		var page struct{ Servers []records.Server }
		if err := a.call(ctx, "GET", a.Compute+"/v2.1/servers/detail?limit=500&marker="+marker, nil, &page); err != nil {
			return err
		}
		for _, s := range page.Servers {
			a.servers[s.ID] = s
			marker = s.ID
			if s.Host == nil || a.want[s.ID][roots[*s.Host]] == nil {
				a.complain("server %s is %s, and its host does not have it. %s\n%s", s.ID, s.Status, s.Fault.Message,
					s.Fault.Details)
			}
		}
		if len(page.Servers) == 0 {
			return nil
		}
	}
}

// port checks a port, and adds its request to the expected allocations.
func (a *auditing) port(p records.Port) {
	s, ok := a.servers[p.Device]
	if !ok || s.Host == nil || p.Host != *s.Host || p.VIF != "ovs" || len(p.Request.Groups) == 0 {
		a.complain("port %s of %q is bound to %q as %q", p.ID, p.Device, p.Host, p.VIF)
		return
	}
	for _, g := range p.Request.Groups {
		host := p.Profile.Allocation[g.ID]
		if allocated := a.want[p.Device]; allocated == nil || allocated[a.roots[host]] == nil {
			a.complain("port %s gets its group from provider %q, which is not of the host of its server", p.ID, host)
			continue
		}
		a.want[p.Device].Add(host, g.Resources)
	}
}

// compare compares a server's allocations with the expected ones.
func (a *auditing) compare(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	var allocated records.Consumer
	if err := a.call(ctx, "GET", a.Placement+"/allocations/"+id, nil, &allocated); err != nil {
		return err
	}
	if got := allocated.ByProvider(); !maps.EqualFunc(a.want[id], got, maps.Equal[records.Amounts, records.Amounts]) {
		a.complain("server %s holds %v, want %v", id, got, a.want[id])
	}
	return nil
}

// compareUse checks that the use of each provider equals the sum of the servers' allocations.
func (a *auditing) compareUse(ctx context.Context, total records.Allocations) error {
	for provider := range a.roots {
		var got struct{ Usages records.Amounts }
		if err := a.call(ctx, "GET", a.Placement+"/resource_providers/"+provider+"/usages", nil, &got); err != nil {
			return err
		}
		for class, n := range got.Usages {
			if n != total[provider][class] {
				a.complain("of provider %s %d of %s is in use, want %d", provider, n, class, total[provider][class])
			}
		}
	}
	return nil
}
