package ovnagents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
)

// A registry records reports.
type registry struct {
	beats []string // "host chassis", and other values
	rows  map[string]agents.Agent
	away  bool
}

func (r *registry) beat(_ context.Context, h agents.Heartbeat) (agents.Agent, bool, error) {
	if r.away {
		return agents.Agent{}, false, errors.New("the database is away")
	}
	line := h.Host
	if h.Start {
		line += " starts"
	}
	if h.Unchanged {
		line += " unchanged"
	}
	if h.Problem != "" {
		line += " puzzled"
	}
	r.beats = append(r.beats, line)
	r.rows[h.Host] = agents.Agent{AgentRow: network.AgentRow{Host: h.Host, HeartbeatAt: time.Now()}}
	return r.rows[h.Host], true, nil
}

func (r *registry) agents(context.Context, ...network.Match) (all []agents.Agent, err error) {
	if r.away {
		err = errors.New("the database is away")
	}
	for _, a := range r.rows {
		all = append(all, a)
	}
	return all, err
}

// age sets all records' last heartbeat back to the limit.
func (r *registry) age() {
	for host, a := range r.rows {
		a.HeartbeatAt = time.Now().Add(-time.Hour)
		r.rows[host] = a
	}
}

// The reports, and the cases without one.
func TestChassisReports(t *testing.T) {
	kept := &registry{rows: make(map[string]agents.Agent)}
	syncs := 0
	r := New(new(service.Service), func(agents.Agent, bool) { syncs++ }, 6*time.Minute, logtest.Logger())
	r.beat, r.agents = kept.beat, kept.agents
	event := func(kind ovn.Kind, c ovn.Chassis) {
		for _, host := range r.take(ovn.Event{Kind: kind, Chassis: c}) {
			r.report(t.Context(), host)
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, kept.beats); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if syncs != len(kept.beats) {
			t.Errorf("%s: %d of %d agents were brought into placement", what, syncs, len(kept.beats))
		}
		kept.beats, syncs = nil, 0
	}
	one := ovn.Chassis{Name: "1", Hostname: "h1", Alive: true}
	event(ovn.Added, one)
	event(ovn.Listed, ovn.Chassis{})
	r.refresh(t.Context())
	expect("a new chassis", "h1 starts")

	kept.age()
	r.refresh(t.Context())
	r.refresh(t.Context())
	expect("one beats when it is time", "h1 unchanged")

	one.Alive = false
	event(ovn.Changed, one)
	kept.age()
	r.refresh(t.Context())
	expect("one that is silent")
	one.CMSOptions = "resource_provider_bandwidths=br0:pony"
	event(ovn.Changed, one)
	expect("a change is a sign of life", "h1 puzzled")
	one.Alive, one.CMSOptions = true, ""
	kept.away = true
	event(ovn.Changed, one)
	r.refresh(t.Context())
	kept.away = false
	r.refresh(t.Context())
	r.refresh(t.Context())
	expect("what could not be reported is later", "h1")

	delete(kept.rows, "h1")
	r.refresh(t.Context())
	expect("one whose record was deleted", "h1 starts")

	two := ovn.Chassis{Name: "2", Hostname: "h1", Alive: true}
	event(ovn.Added, two)
	expect("a second chassis", "h1 starts")
	one.Hostname = "h2"
	event(ovn.Changed, one)
	expect("one that is called otherwise", "h1", "h2")
	event(ovn.Removed, one)
	kept.age()
	r.refresh(t.Context())
	expect("one that is gone", "h1 unchanged")
	two.Hostname = strings.Repeat("h", 256)
	event(ovn.Changed, two)
	kept.age()
	r.refresh(t.Context())
	expect("one whose name is too long")
	event(ovn.Removed, two)
	if len(r.chassis)+len(r.hosts)+len(r.pending) != 0 {
		t.Errorf("something is left: %v, %v, %v", r.chassis, r.hosts, r.pending)
	}
}

// A live agent's heartbeat is in every third of the time-out after which it counts as dead.
func TestChassisPause(t *testing.T) {
	r := New(new(service.Service), nil, 75*time.Second, nil)
	for range 1000 {
		if p := r.pause(); p+r.every > 25*time.Second || p < 5*time.Second {
			t.Fatalf("a pause of %s", p)
		}
	}
}

func TestProblemsAreOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a"), fmt.Errorf("b%s", strings.Repeat("ä", 300)))); !strings.HasPrefix(
		got, "a; bä") || len(got) > 500 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("oneLine = %q", got)
	}
}

// The values for plugging ports on a chassis with DPDK are in the configurations of its agent, and
// not in those of others.
func TestChassisWithDPDK(t *testing.T) {
	for datapath, want := range map[string]string{
		"":       `"chassis_name":"1"`,
		"netdev": `"datapath_type":"netdev","ovs_capabilities":{"datapath_types":[],"iface_types":["dpdk","dpdkvhostuser"]}`,
	} {
		h := chassisHeartbeat(ovn.Chassis{
			Name: "1", Hostname: "h", DatapathType: datapath, InterfaceTypes: "dpdk,dpdkvhostuser",
		}, logtest.Logger())
		got := string(h.Configurations)
		if h.Problem != "" || !strings.Contains(got, want) || strings.Contains(got, "iface_types") != (datapath != "") {
			t.Errorf("with the datapath %q the configurations are %s (%s), without %s", datapath, got, h.Problem, want)
		}
	}
}

// Plugged ports are reported until the service has accepted that, in groups; and again when the
// service has changed one.
func TestPortReports(t *testing.T) {
	reported, away := map[network.ID]string{}, true
	r := newPortReporter(func(_ context.Context, driver string, hosts map[network.ID]string) error {
		if driver != "ovn" || len(hosts) > portGroup {
			t.Errorf("got %d ports of %s", len(hosts), driver)
		}
		if away {
			return errors.New("the database is away")
		}
		maps.Copy(reported, hosts)
		return nil
	}, logtest.Logger())
	var all []ovn.Port
	want := map[network.ID]string{}
	for i := range 2*portGroup + 1 {
		p := ovn.Port{Name: fmt.Sprint(i), Hostname: "h"}
		if i == 0 {
			p.Hostname = ""
		}
		all, want[network.ID(p.Name)] = append(all, p), p.Hostname
	}
	r.take(all)
	r.report(t.Context())
	away = false
	r.report(t.Context())
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	clear(reported)
	r.report(t.Context())
	r.written([]network.ID{"0", "1", "unknown"})
	r.report(t.Context())
	if diff := cmp.Diff(map[network.ID]string{"1": "h"}, reported); diff != "" {
		t.Errorf("after a change of ports (-want +got):\n%s", diff)
	}
}
