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

// The services' records of servers, their moves and ports.
type (
	vm          = records.Server
	migration   = records.Migration
	port        = records.Port
	allocations = records.Allocations
)

// The states of servers that have no host.
var hostless = []string{"ERROR", "SHELVED_OFFLOADED"}

func (c *cloud) vms() []vm {
	c.Helper()
	var all struct{ Servers []vm }
	c.address.Read(c, "/servers/detail?all_tenants=1", &all)
	return all.Servers
}

func (c *cloud) ports() []port {
	c.Helper()
	var all struct{ Ports []port }
	c.nets.Read(c, "/v2.0/ports", &all)
	return all.Ports
}

// migrations are the moves of the servers that exist.
func (c *cloud) migrations() []migration {
	c.Helper()
	var all struct{ Migrations []migration }
	c.address.Read(c, "/os-migrations", &all)
	return all.Migrations
}

// A provider is one of placement's.
type provider struct {
	UUID string
	Name string
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
	hosts     map[string]string // names by root provider
	providers map[string]provider
	vms       map[string]vm
	left      map[string]string      // the hosts that servers may come back to
	want      map[string]allocations // by consumer
	slots     map[string]string      // ports by host and device
	wrong     []string
}

func (l *look) complain(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// wrong returns the inconsistencies: each server has no task, its allocations are those of its
// flavor and its bound ports on each provider, a move that can be reverted has what the server had
// before, no other consumer has allocations, each port is unbound or has one binding, to its
// server's host and with the providers and the device there, hosts that live have exactly their
// servers, and nothing else is expected of them. What the hosts have done wrong on the way is among
// it.
func (c *cloud) wrong() []string {
	c.Helper()
	if remaining := c.underWay(); remaining != "" {
		return []string{"under way: " + remaining}
	}
	l := &look{
		hosts: map[string]string{}, providers: map[string]provider{}, vms: map[string]vm{}, left: map[string]string{},
		want: map[string]allocations{}, slots: map[string]string{},
	}
	for _, h := range c.hosts {
		l.hosts[h.ID] = h.Name
	}
	for _, p := range c.providers() {
		l.providers[p.UUID] = p
	}
	for _, v := range c.vms() {
		l.server(v, c.broken)
	}
	for _, m := range c.migrations() {
		l.migration(m, c)
	}
	ports := c.ports()
	for _, p := range ports {
		l.port(p, c)
	}
	total := allocations{}
	for id, want := range l.want {
		if diff := cmp.Diff(want, c.allocated(id)); diff != "" {
			l.complain("the allocations of %s (-want +got):\n%s", id, diff)
		}
		total.AddAll(want)
	}
	for _, p := range l.providers {
		for class, n := range c.places.Usages(c, p.UUID) {
			if want := total[p.UUID][class]; n != want {
				l.complain("of provider %s in %s %d of %s is in use, want %d", p.Name, l.hosts[p.Root], n, class, want)
			}
		}
	}
	for _, h := range c.hosts {
		if c.lives(h.Name) {
			l.host(c, h, ports)
			l.listed(c, h.Name)
		}
	}
	return append(l.wrong, c.copies.complaints()...)
}

// server checks a server, which may be in error on its host if it is broken, and adds its flavor's
// resources to the expected allocations.
func (l *look) server(v vm, broken bool) {
	l.vms[v.ID] = v
	l.want[v.ID] = allocations{}
	if v.Task != nil || !slices.Contains([]string{
		"ACTIVE", "ERROR", "SHUTOFF", "PAUSED", "SUSPENDED", "VERIFY_RESIZE", "SHELVED_OFFLOADED",
	}, v.Status) {
		l.complain("server %s is stuck: %s, %v", v.ID, v.Status, v.Task)
	}
	for root, host := range l.hosts {
		if host == v.At() {
			l.want[v.ID].Add(root, v.Size())
		}
	}
	if slices.Contains(hostless, v.Status) != (v.At() == "") && !(broken && v.Status == "ERROR") {
		l.complain("server %s is %s on %q: %s", v.ID, v.Status, v.At(), v.Fault.Message)
	}
}

// migration checks a move, and adds what it is to have to the expected allocations: until it is
// confirmed, or until the source of an evacuation is back, what the server had before.
func (l *look) migration(m migration, c *cloud) {
	v := l.vms[m.Server]
	switch m.Status {
	case "confirmed", "reverted", "completed", "cancelled", "error":
		l.want[m.ID] = allocations{}
		return
	case "finished":
		if v.Status != "VERIFY_RESIZE" || v.At() != m.Dest {
			l.complain("the move of server %s from %s to %s waits, and the server is %s on %q", m.Server, m.Source, m.Dest,
				v.Status, v.At())
		}
		l.left[m.Server] = m.Source
	case "done":
		if c.lives(m.Source) {
			l.complain("server %s was evacuated from %s, which is back", m.Server, m.Source)
		}
	default:
		l.complain("the move of server %s from %s to %s is stuck: %s", m.Server, m.Source, m.Dest, m.Status)
	}
	l.want[m.ID] = c.delayed[m.Server]
}

// port checks a port, and adds its request to the expected allocations.
func (l *look) port(p port, c *cloud) {
	c.Helper()
	if p.Device == "" {
		if !c.given[p.ID] {
			l.complain("port %s was created for a server and remains", p.ID)
		}
		if p.Host != "" || len(p.Profile.Allocation) > 0 || p.Profile.Slot != "" {
			l.complain("port %s has no device and is bound to %q by %v", p.ID, p.Host, p.Profile)
		}
		return
	}
	server, found := l.vms[p.Device]
	if !found {
		l.complain("port %s is of server %s, which does not exist", p.ID, p.Device)
		return
	}
	l.bindings(p, c)
	if server.Status == "SHELVED_OFFLOADED" {
		if p.Host != "" || len(p.Profile.Allocation) > 0 || p.Profile.Slot != "" {
			l.complain("port %s is bound to %q by %v, and its server is shelved", p.ID, p.Host, p.Profile)
		}
		return
	}
	kind := kinds[p.VNIC]
	if p.Host != server.At() || p.Host == "" || p.VIF != kind.vif {
		l.complain("port %s is bound to %q as %q, its server is %s on %q", p.ID, p.Host, p.VIF, server.Status, server.At())
	}
	if len(p.Profile.Allocation) != len(p.Request.Groups) {
		l.complain("port %s requests %d groups, its profile has %v", p.ID, len(p.Request.Groups), p.Profile.Allocation)
	}
	l.device(p)
	for _, g := range p.Request.Groups {
		at := l.providers[p.Profile.Allocation[g.ID]]
		if l.hosts[at.Root] != server.At() || at.Name != server.At()+":"+kind.agent+":"+kind.device(p.Profile.Slot) {
			l.complain("port %s, which is %q, gets group %s from provider %q; its server is on %s", p.ID, p.Profile.Slot, g.ID,
				at.Name, server.At())
		}
		l.want[p.Device].Add(at.UUID, g.Resources)
	}
}

// bindings checks that the only binding of a server's port is the one that the port shows.
func (l *look) bindings(p port, c *cloud) {
	c.Helper()
	if p.Owner == "" || c.oneBinding {
		return
	}
	var all struct{ Bindings []records.Binding }
	c.nets.Read(c, "/v2.0/ports/"+p.ID+"/bindings", &all)
	want := []records.Binding{{Host: p.Host, Status: "ACTIVE", VIF: p.VIF, VNIC: p.VNIC, Profile: p.Profile}}
	if diff := cmp.Diff(want, all.Bindings); diff != "" {
		l.complain("the bindings of port %s (-want +got):\n%s", p.ID, diff)
	}
}

// device checks that a port that is a device has one, and no other port has it.
func (l *look) device(p port) {
	if (p.VNIC == "direct") != (p.Profile.Slot != "") {
		l.complain("port %s, of type %s, is device %q", p.ID, p.VNIC, p.Profile.Slot)
	}
	if p.Profile.Slot == "" {
		return
	}
	at := p.Host + " " + p.Profile.Slot
	if other := l.slots[at]; other != "" {
		l.complain("ports %s and %s are both device %s", other, p.ID, at)
	}
	l.slots[at] = p.ID
}

// host checks that a host has exactly its servers with their ports, running if they should be, and
// those that may come back to it, which do not run.
func (l *look) host(c *cloud, h *fakehosts.Host, ports []port) {
	c.Helper()
	type state struct {
		Running bool
		Power   string
		Ports   []string
	}
	want, got := map[string]state{}, map[string]state{}
	for id, v := range l.vms {
		switch {
		case l.left[id] == h.Name:
			want[id] = state{Ports: []string{}}
		case v.At() == h.Name:
			all := []string{}
			for _, p := range ports {
				if p.Device == id {
					all = append(all, p.ID)
				}
			}
			slices.Sort(all)
			running, power := hostPower(v)
			want[id] = state{running, power, all}
		}
	}
	all, err := h.Driver.Servers(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, s := range all {
		got[s.ID] = state{s.Running, s.Power, append([]string{}, s.Ports...)}
		if !s.Built {
			l.complain("%s has an incomplete server %s", h.Name, s.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.complain("the servers of %s (-want +got):\n%s", h.Name, diff)
	}
}

// hostPower is what the host of a server is to make of it.
func hostPower(v vm) (running bool, power string) {
	switch v.Status {
	case "PAUSED":
		return true, "paused"
	case "SUSPENDED":
		return false, "suspended"
	}
	return v.Power == records.Running, ""
}

// listed checks that a host is expected to have those servers and nothing else, and not to report
// anything.
func (l *look) listed(c *cloud, host string) {
	c.Helper()
	var list struct{ Servers []records.Listed }
	c.report.Read(c, "/berth/v1/hosts/"+host+"/servers", &list)
	for _, s := range list.Servers {
		v := l.vms[s.ID]
		remaining := l.left[s.ID] == host
		running, power := hostPower(v)
		if s.Deleted || s.Event != "" || s.Kept != remaining ||
			!remaining && (v.At() != host || s.Running != running || s.Power != power) {
			l.complain("%s is to have %+v; the server is %s on %q", host, s, v.Status, v.At())
		}
	}
}

// clear removes all servers and ports, and checks that nothing is left.
func (c *cloud) clear() {
	c.Helper()
	c.failing(nil)
	for _, v := range c.vms() {
		c.copies.give(v.ID)
		c.address.Must(c, 204, "DELETE", "/servers/"+v.ID, nil)
	}
	c.rests()
	for _, p := range c.ports() {
		c.nets.Must(c, 204, "DELETE", "/v2.0/ports/"+p.ID, nil)
	}
	clear(c.given)
	clear(c.delayed)
	c.agrees()
}
