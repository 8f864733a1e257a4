package servers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/records"
)

// The services' records of servers and ports.
type (
	vm          = records.Server
	port        = records.Port
	allocations = records.Allocations
)

func (c *cloud) vms() []vm {
	c.Helper()
	var all struct{ Servers []vm }
	c.ask.Read(c, "/servers/detail?all_tenants=1", &all)
	return all.Servers
}

func (c *cloud) ports() []port {
	c.Helper()
	var all struct{ Ports []port }
	c.nets.Read(c, "/v2.0/ports", &all)
	return all.Ports
}

// A provider is one of placement's.
type provider struct {
	UUID string
	Root string `json:"root_provider_uuid"`
}

func (c *cloud) providers() []provider {
	c.Helper()
	var all struct {
		Providers []provider `json:"resource_providers"`
	}
	c.places.Read(c, "/resource_providers", &all)
	return all.Providers
}

func (c *cloud) allocated(server string) allocations {
	c.Helper()
	var allocated records.Consumer
	c.places.Read(c, "/allocations/"+server, &allocated)
	return allocated.ByProvider()
}

// agrees waits until the three services and the hosts agree, and reports the differences if they do
// not.
func (c *cloud) agrees() {
	c.Helper()
	for end, pause := time.Now().Add(soon), 5*time.Millisecond; ; time.Sleep(pause) {
		pause = min(2*pause, time.Second)
		wrong := c.wrong()
		if len(wrong) == 0 {
			return
		}
		if time.Now().After(end) {
			c.Errorf("after %s:\n%s", soon, strings.Join(wrong, "\n"))
			return
		}
	}
}

// A look is one reading of all records.
type look struct {
	hosts map[string]string // names by root provider
	roots map[string]string // root providers by provider
	vms   map[string]vm
	want  map[string]allocations // by server
	wrong []string
}

func (l *look) complain(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// wrong returns the inconsistencies: each server has no task, its allocations are those of its
// flavor and its bound ports, no other consumer has allocations, each port is unbound or bound on
// its server's host, to providers there, and hosts have exactly their servers.
func (c *cloud) wrong() []string {
	c.Helper()
	if left := c.underWay(); left != "" {
		return []string{"under way: " + left}
	}
	l := &look{hosts: map[string]string{}, roots: map[string]string{}, vms: map[string]vm{}, want: map[string]allocations{}}
	for _, h := range c.hosts {
		l.hosts[h.ID] = h.Name
	}
	providers := c.providers()
	for _, p := range providers {
		l.roots[p.UUID] = p.Root
	}
	for _, v := range c.vms() {
		l.server(v)
	}
	ports := c.ports()
	for _, p := range ports {
		l.port(p, c.given[p.ID])
	}
	total := allocations{}
	for id, want := range l.want {
		if diff := cmp.Diff(want, c.allocated(id)); diff != "" {
			l.complain("the allocations of server %s (-want +got):\n%s", id, diff)
		}
		total.AddAll(want)
	}
	for _, p := range providers {
		for class, n := range c.places.Usages(c, p.UUID) {
			if want := total[p.UUID][class]; n != want {
				l.complain("of provider %s in %s %d of %s is in use, want %d", p.UUID, l.hosts[p.Root], n, class, want)
			}
		}
	}
	for _, h := range c.hosts {
		l.host(c, h, ports)
	}
	return l.wrong
}

// server checks a server, and adds its flavor's resources to the expected allocations.
func (l *look) server(v vm) {
	l.vms[v.ID] = v
	l.want[v.ID] = allocations{}
	if v.Task != nil || !slices.Contains([]string{"ACTIVE", "ERROR", "SHUTOFF"}, v.Status) {
		l.complain("server %s is stuck: %s, %v", v.ID, v.Status, v.Task)
	}
	for root, host := range l.hosts {
		if host == v.At() {
			l.want[v.ID].Add(root, flavor)
		}
	}
	if (v.Status == "ERROR") != (v.At() == "") {
		l.complain("server %s is %s on %q", v.ID, v.Status, v.At())
	}
}

// port checks a port, and adds its request to the expected allocations.
func (l *look) port(p port, given bool) {
	if p.Device == "" {
		if !given {
			l.complain("port %s was created for a server and remains", p.ID)
		}
		if p.Host != "" || len(p.Profile.Allocation) > 0 {
			l.complain("port %s has no device and is bound to %q by %v", p.ID, p.Host, p.Profile.Allocation)
		}
		return
	}
	server, there := l.vms[p.Device]
	if !there {
		l.complain("port %s is of server %s, which does not exist", p.ID, p.Device)
		return
	}
	if p.Host != server.At() || p.Host == "" || p.VIF != "ovs" {
		l.complain("port %s is bound to %q as %q, its server is %s on %q", p.ID, p.Host, p.VIF, server.Status, server.At())
	}
	if len(p.Profile.Allocation) != len(p.Request.Groups) {
		l.complain("port %s asks for %d groups, its profile has %v", p.ID, len(p.Request.Groups), p.Profile.Allocation)
	}
	for _, g := range p.Request.Groups {
		at := p.Profile.Allocation[g.ID]
		if l.hosts[l.roots[at]] != server.At() {
			l.complain("port %s gets group %s from provider %q, which %s does not have", p.ID, g.ID, at, server.At())
		}
		l.want[p.Device].Add(at, g.Resources)
	}
}

// host checks that a host has exactly its servers with their ports.
func (l *look) host(c *cloud, h *fakehosts.Host, ports []port) {
	c.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for id, v := range l.vms {
		if v.At() == h.Name {
			want[id] = []string{}
		}
	}
	for _, p := range ports {
		if l.vms[p.Device].At() == h.Name {
			want[p.Device] = append(want[p.Device], p.ID)
		}
	}
	for _, ids := range want {
		slices.Sort(ids)
	}
	all, err := h.Driver.Servers(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, s := range all {
		got[s.ID] = append([]string{}, s.Ports...)
		if !s.Built {
			l.complain("%s has an incomplete server %s", h.Name, s.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.complain("the servers of %s (-want +got):\n%s", h.Name, diff)
	}
}

// clear removes all servers and ports, and checks that nothing is left.
func (c *cloud) clear() {
	c.Helper()
	for _, v := range c.vms() {
		c.ask.Must(c, 204, "DELETE", "/servers/"+v.ID, nil)
	}
	c.rests()
	for _, p := range c.ports() {
		c.nets.Must(c, 204, "DELETE", "/v2.0/ports/"+p.ID, nil)
	}
	clear(c.given)
	c.agrees()
}
