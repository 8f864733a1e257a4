package servers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

// portInterval is the interval in these tests.
const portInterval = time.Minute

func eachMinute(s *compute.Settings) { s.PortInterval, s.ServiceDownTime = portInterval, 24*time.Hour }

// reconcile lets an interval pass, with services that reconcile ports and hosts that do what they
// are to.
func (w *fixture) reconcile(services ...*cloudService) {
	w.Helper()
	for range portInterval / (5 * time.Second) {
		w.later(5 * time.Second)
		for _, s := range services {
			if err := s.ReconcilePorts(ctx); err != nil {
				w.Log("ports are not reconciled:", err)
			}
		}
		w.work(services[0], nil)
	}
}

// listed are the ports of a server in the list of its host.
func (w *fixture) listed(host string, server compute.ID) (all []string) {
	w.Helper()
	for _, one := range must(w.Wanted(ctx, host)) {
		if one.ID != string(server) {
			continue
		}
		for _, p := range one.Ports {
			text := p.ID
			for _, a := range p.Addresses {
				text += " " + a.IP
			}
			all = append(all, text)
		}
	}
	return all
}

func (w *fixture) deletePort(id compute.ID) {
	w.Helper()
	w.must(w.network.DeletePort(ctx, network.ID(id)))
}

// What an event would have said of a port is seen within the interval when the event is lost.
func TestLostPortEvents(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, eachMinute)
	w.nics("cn1", "2000")
	functions := []compute.ID{w.port(0, "direct"), w.port(0, "direct"), w.port(0, "direct")}
	plain := w.port(1000)
	vm := w.boot("vm", append(functions, plain)...)
	w.work(w.cloudService, nil)
	if got := w.state(vm); got != compute.Active {
		t.Fatalf("the server is %s: %s", got, w.why(vm))
	}
	w.deletePort(functions[1])
	must(w.network.UpdatePort(ctx, network.ID(plain), func(p *ports.Spec) error {
		p.AnyIPs, p.FixedIPs = false, []ports.FixedIP{{IP: "10.0.0.77"}}
		return nil
	}))
	w.must(w.network.SetPortsUp(ctx, "cn1", []network.ID{network.ID(plain)}, true))
	if got := w.listed("cn1", vm); len(got) != 4 {
		t.Fatalf("the host has %v before", got)
	}
	w.reconcile(w.cloudService)
	w.agrees("events were lost")
	got := w.listed("cn1", vm)
	if len(got) != 3 || slices.ContainsFunc(got, func(p string) bool {
		return strings.HasPrefix(p, string(functions[1]))
	}) || !slices.Contains(got, string(plain)+" 10.0.0.77") {
		t.Errorf("the host has %v", got)
	}
	ports := must(w.Server(ctx, vm)).Ports
	if i := slices.IndexFunc(ports, func(p compute.ServerPort) bool {
		return p.Port == plain
	}); i < 0 || ports[i].Shown.Status != "ACTIVE" {
		t.Errorf("the server's ports are %+v", ports)
	}
	other := w.boot("other", w.port(0, "direct"))
	w.work(w.cloudService, nil)
	if got := w.state(other); got != compute.Active {
		t.Errorf("the device of the deleted port is nobody's: the other server is %s: %s", got, w.why(other))
	}
	w.agrees("the device was given to another server")
}

// The host has unplugged a device before another server gets it.
func TestDeviceOfADeletedPort(t *testing.T) {
	for _, how := range []string{"event", "reconciled"} {
		t.Run(how, func(t *testing.T) {
			w := newFixture(t, 2500, "cn1")
			w.cloudService = w.serve(w.store, eachMinute)
			w.nics("cn1", "2000")
			functions := []compute.ID{w.port(0, "direct"), w.port(0, "direct"), w.port(0, "direct")}
			vm := w.boot("vm", functions...)
			w.work(w.cloudService, nil)
			if got := w.state(vm); got != compute.Active {
				t.Fatalf("the server is %s: %s", got, w.why(vm))
			}
			w.deletePort(functions[1])
			if how == "event" {
				must(w.Receive(ctx, []servers.ExternalEvent{{Name: "network-vif-deleted", Server: vm, Tag: string(functions[1])}}))
			} else {
				w.later(portInterval)
				w.must(w.ReconcilePorts(ctx))
			}
			slow := func(_ string, want fleet.Wanted) *fleet.Result {
				if want.ID == string(vm) {
					return &fleet.Result{Error: "the device is busy"}
				}
				return nil
			}
			early := w.boot("early", w.port(0, "direct"))
			must(w.Recover(ctx))
			if got := w.state(early); got != compute.Error {
				t.Errorf("a server is %s with a device that the host has not unplugged: %s", got, w.why(early))
			}
			w.work(w.cloudService, slow)
			w.reconcile(w.cloudService)
			after := w.boot("after", w.port(0, "direct"))
			w.work(w.cloudService, nil)
			if got := w.state(after); got != compute.Active {
				t.Errorf("the server is %s: %s", got, w.why(after))
			}
			w.agrees("the device is another server's")
		})
	}
}

// A network service that is away, or shows ports of other projects no more, takes no port from a
// server.
func TestUnseenPortsStay(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, eachMinute)
	port := w.port(1000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	inner := w.paths.network.handler
	status := func(code int, body string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(code)
			_, _ = out.Write([]byte(body))
		}
	}
	const none, absent, denied = `{"ports": []}`,
		`{"NeutronError": {"type": "PortNotFound", "message": "no", "detail": ""}}`,
		`{"NeutronError": {"type": "PolicyNotAuthorized", "message": "no", "detail": ""}}`
	for name, answers := range map[string]map[string]http.HandlerFunc{
		"down":        {"list": status(503, ""), "port": status(503, ""), "quota": status(503, "")},
		"empty list":  {"list": status(200, none)},
		"half down":   {"list": status(200, none), "port": status(503, "")},
		"proxy":       {"list": status(200, none), "port": status(404, "not here")},
		"member only": {"list": status(200, none), "port": status(404, absent), "quota": status(403, denied)},
		"other server": {
			"list": status(200, none),
			"port": status(200, `{"port": {"id": "`+string(port)+`", "network_id": "`+string(w.net)+`", "device_id": ""}}`),
		},
	} {
		w.paths.network.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			kind := ""
			switch {
			case r.URL.Path == "/v2.0/ports":
				kind = "list"
			case strings.HasPrefix(r.URL.Path, "/v2.0/ports/"):
				kind = "port"
			case strings.HasPrefix(r.URL.Path, "/v2.0/quotas"):
				kind = "quota"
			}
			if answer, ok := answers[kind]; ok {
				answer(out, r)
				return
			}
			inner.ServeHTTP(out, r)
		})
		w.reconcile(w.cloudService)
		if got := w.listed("cn1", vm); len(got) != 1 {
			t.Errorf("%s: the host has %v", name, got)
		}
	}
	w.paths.network.handler = inner
	w.reconcile(w.cloudService)
	w.agrees("the network service was away")
}

// A port whose deletion cannot be confirmed does not end the comparison of the others in the same
// request.
func TestUnconfirmedDeletionDoesNotStopOthers(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, eachMinute)
	deleted, changed := w.port(1000), w.port(1000)
	first, second := w.boot("first", deleted), w.boot("second", changed)
	w.work(w.cloudService, nil)
	w.deletePort(deleted)
	must(w.network.UpdatePort(ctx, network.ID(changed), func(p *ports.Spec) error {
		p.AnyIPs, p.FixedIPs = false, []ports.FixedIP{{IP: "10.0.0.77"}}
		return nil
	}))
	inner := w.paths.network.handler
	w.paths.network.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v2.0/quotas") {
			inner.ServeHTTP(out, r)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusForbidden)
		_, _ = out.Write([]byte(`{"NeutronError": {"type": "PolicyNotAuthorized", "message": "no", "detail": ""}}`))
	})
	w.later(portInterval)
	if err := w.ReconcilePorts(ctx); err == nil || !strings.Contains(err.Error(), string(deleted)) {
		t.Errorf("the error is %v, want one that names port %s", err, deleted)
	}
	if got := w.listed("cn1", first); len(got) != 1 {
		t.Errorf("the host has %v of the server whose port may be hidden", got)
	}
	if got := w.listed("cn1", second); !slices.Equal(got, []string{string(changed) + " 10.0.0.77"}) {
		t.Errorf("the host has %v of the other server, whose port has another address", got)
	}
}

// Each server's ports are read once in an interval, by one of several services, many with one
// request, and an interval in which nothing differs changes no row of a server.
func TestReconciliationIsBounded(t *testing.T) {
	var hosts []string
	for n := range 12 {
		hosts = append(hosts, fmt.Sprint("cn", n))
	}
	w := newFixture(t, 2500, hosts...)
	one, other := w.serve(w.store, eachMinute), w.serve(w.store, eachMinute)
	servers := 0
	for _, h := range hosts {
		for range 60 / len(hosts) {
			w.add(w.hostedServer(h, servers)...)
			servers++
		}
	}
	for range 120 {
		w.add(w.hostedServer("cn3", servers)...)
		servers++
	}
	w.reconcile(one, other) // what was seen of them is not what the network service shows
	before := computetest.Read[compute.PortRow](w, w.store)
	var lists, named, others atomic.Int64
	inner := w.paths.network.handler
	w.paths.network.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if ids := r.URL.Query()["device_id"]; r.URL.Path == "/v2.0/ports" && len(ids) > 0 {
			lists.Add(1)
			named.Add(int64(len(ids)))
			if len(r.URL.RequestURI()) > 8000 {
				t.Errorf("a URL has %d bytes", len(r.URL.RequestURI()))
			}
		} else {
			others.Add(1)
		}
		inner.ServeHTTP(out, r)
	})
	w.reconcile(one, other)
	if most := int64(len(hosts) + 120/50); named.Load() != int64(servers) || lists.Load() > most {
		t.Errorf("%d of %d servers are read with %d requests, want at most %d", named.Load(), servers, lists.Load(), most)
	}
	if others.Load() > 2*lists.Load() {
		t.Errorf("there are %d other requests", others.Load())
	}
	after := computetest.Read[compute.PortRow](w, w.store)
	if !slices.EqualFunc(before, after, func(a, b compute.PortRow) bool {
		return string(a.Seen) == string(b.Seen) && a.Port == b.Port
	}) {
		t.Error("rows have changed")
	}
}

// hostedServer returns the rows of a running server with a port in the network service.
func (w *fixture) hostedServer(host string, n int) []any {
	w.Helper()
	id := computetest.ID(fmt.Sprint("server", n))
	made, err := w.network.CreatePorts(ctx, []ports.Spec{{
		PortRow: network.PortRow{
			Common: network.Common{Project: computetest.Project}, Network: w.net, DeviceID: string(id),
			DeviceOwner: "compute:nova", AdminStateUp: true,
		},
		AnyIPs: true, AnyGroups: true, AnyPortSecurity: true, VNIC: "normal", Host: host,
	}})
	w.must(err)
	return []any{
		&compute.ServerRow{
			ID: id, Number: int64(n), Project: computetest.Project, Host: host, State: compute.Active, Power: compute.Running,
			Flavor: []byte("{}"), CreatedAt: w.clock(),
		},
		&compute.HostedRow{Server: id, Host: host, DesiredState: compute.DesiredRunning, CreatedAt: w.clock()},
		&compute.PortRow{Port: compute.ID(made[0].ID), Server: id, Network: compute.ID(w.net), Seen: []byte("{}")},
	}
}

// An operation that is under way reads the ports by itself, and what it has stored since is newer.
func TestReconciliationBesideOperations(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, eachMinute)
	kept, detached := w.port(0), w.port(0)
	vm := w.boot("vm", kept, detached)
	w.work(w.cloudService, nil)
	w.must(w.Detach(ctx, ann, vm, detached))
	w.deletePort(kept)
	w.deletePort(detached)
	w.later(portInterval)
	w.must(w.ReconcilePorts(ctx))
	if rows := computetest.Read[compute.PortRow](w, w.store); len(rows) != 2 {
		t.Errorf("ports are %+v while one is detached", rows)
	}
	w.work(w.cloudService, nil)
	w.reconcile(w.cloudService)
	if rows := computetest.Read[compute.PortRow](w, w.store); len(rows) != 0 {
		t.Errorf("ports are %+v", rows)
	}

	port := w.port(0)
	vm = w.boot("vm2", port)
	w.work(w.cloudService, nil)
	inner, changed := w.paths.network.handler, false
	w.paths.network.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2.0/networks" { // the list of ports was read
			w.paths.network.handler, changed = inner, true
			must(w.network.UpdatePort(ctx, network.ID(port), func(p *ports.Spec) error {
				p.AnyIPs, p.FixedIPs = false, []ports.FixedIP{{IP: "10.0.0.88"}}
				return nil
			}))
			must(w.Receive(ctx, []servers.ExternalEvent{{Name: "network-changed", Server: vm, Tag: string(port)}}))
		}
		inner.ServeHTTP(out, r)
	})
	w.later(portInterval)
	w.must(w.ReconcilePorts(ctx))
	if got := w.listed("cn1", vm); !changed || len(got) != 1 || got[0] != string(port)+" 10.0.0.88" {
		t.Errorf("the host has %v, the port changed meanwhile: %v", got, changed)
	}
}

// A clock that is set back delays reconciliation by one interval at most, and a forward one by
// none.
func TestReconciliationWhenTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, -portInterval / 2, time.Hour} {
		w := newFixture(t, 2500, "cn1")
		w.cloudService = w.serve(w.store, eachMinute)
		port := w.port(0)
		vm := w.boot("vm", port)
		w.work(w.cloudService, nil)
		w.reconcile(w.cloudService)
		w.later(by)
		w.deletePort(port)
		w.reconcile(w.cloudService)
		if by < 0 && by > -portInterval {
			w.reconcile(w.cloudService)
		}
		if got := w.listed("cn1", vm); len(got) != 0 {
			t.Errorf("a clock that is set by %v: the host has %v", by, got)
		}
	}
}

// Without an interval nothing is read.
func TestReconciliationIsOff(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.cloudService = w.serve(w.store, func(s *compute.Settings) {
		eachMinute(s)
		s.PortInterval = 0
	})
	port := w.port(0)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	w.deletePort(port)
	w.reconcile(w.cloudService)
	if got := w.listed("cn1", vm); len(got) != 1 {
		t.Errorf("the host has %v", got)
	}
}
