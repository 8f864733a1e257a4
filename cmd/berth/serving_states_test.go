package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/network"
)

// The metrics of each service have its contents: units of each resource class in placement, agents
// in the network service, hosts in compute, and those that no longer report.
func TestMetricsOfWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	ops := func(service string) string { return filepath.Join(dir, service) }
	shows := func(service string, lines ...string) func() bool {
		connection := overUnix(ops(service))
		return func() bool {
			_, body := call(t, connection, "GET", "http://h/metrics", "")
			for _, line := range lines {
				if !strings.Contains(body, "\n"+line+"\n") {
					return false
				}
			}
			return true
		}
	}
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config",
		settings(t, database("sqlite://"), "[berth]\nmetrics_listen = unix:"+ops("placement")))
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, "service_plugins = placement\nagent_down_time = 3", networkDatabaseAt("sqlite://"), "[placement]\nauth_type = none\nendpoint_override = "+places.url,
			"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[berth]\nmetrics_listen = unix:"+ops("network")))
	nova := novaConf(t, places)
	more := filepath.Join(dir, "more.conf")
	rewrite(t, more, "[DEFAULT]\nservice_down_time = 3\n[berth]\nmetrics_listen = unix:"+ops("compute")+"\n")
	h := &hostedCompute{compute: start(t, t.TempDir(), "compute", "serve", "--listen", "127.0.0.1:0", "--config", nova, "--config", more)}
	wait(t, "there is no host and no agent", func() bool {
		return shows("network", `berth_network_agents{state="alive"} 0`, `berth_network_agents{state="unsynced"} 0`, `berth_network_agents{state="dead"} 0`)() &&
			shows("compute", `berth_compute_hosts{state="up"} 0`, `berth_compute_operations 0`, `berth_compute_oldest_operation_seconds 0`)()
	})

	file := filepath.Join(dir, "nova.conf")
	rewrite(t, file, h.hostText(t.TempDir()))
	host := launch(t, nil, nil, "agent", "--compute-config", file)
	agent := launch(t, nil, nil, "agent", "--config", agentFile(t, "[berth]", "network_urls = "+networks.url, "network_token = admin"))
	wait(t, "the host is up", shows("compute", `berth_compute_hosts{state="up"} 1`, `berth_compute_hosts{state="down"} 0`))
	wait(t, "the agents of both kinds are without a provider of their host", shows("network", `berth_network_agents{state="unsynced"} 2`, `berth_network_agents{state="dead"} 0`))
	wait(t, "placement has the host's units", shows("placement",
		`berth_capacity_total_units{resource_class="VCPU"} 6`, `berth_capacity_usable_units{resource_class="VCPU"} 24`,
		`berth_capacity_total_units{resource_class="MEMORY_MB"} 4096`, `berth_capacity_reserved_units{resource_class="MEMORY_MB"} 64`,
		`berth_capacity_used_units{resource_class="MEMORY_MB"} 0`, `berth_capacity_providers{resource_class="DISK_GB"} 1`))
	ask(t, places, "POST", "/resource_providers", `{"name": "devstack0"}`)
	wait(t, "the agents' devices are in placement", shows("network", `berth_network_agents{state="alive"} 2`, `berth_network_agents{state="unsynced"} 0`))

	for _, r := range []*running{host, agent} {
		r.signal(syscall.SIGKILL)
		_ = r.cmd.Wait()
	}
	wait(t, "the host is down", shows("compute", `berth_compute_hosts{state="up"} 0`, `berth_compute_hosts{state="down"} 1`))
	wait(t, "the agents are dead", shows("network", `berth_network_agents{state="alive"} 0`, `berth_network_agents{state="dead"} 2`))
}

// Each agent and host counts in one state; none counts while the database cannot be read.
func TestStates(t *testing.T) {
	m := newServiceMetrics()
	failure := error(nil)
	m.watchAgents(func(context.Context) ([]network.Agent, error) {
		of := func(alive bool, synced network.SyncState) network.Agent {
			return network.Agent{Alive: alive, AgentRow: network.AgentRow{Synced: synced}}
		}
		return []network.Agent{
			of(true, network.SyncDone), of(true, network.SyncNever), of(true, network.SyncDue), of(true, network.SyncFailed), of(false, network.SyncFailed),
		}, failure
	})
	m.watchHosts(func(context.Context) ([]compute.HostService, error) {
		of := func(up, disabled bool) compute.HostService {
			return compute.HostService{Up: up, ServiceRow: compute.ServiceRow{Disabled: disabled}}
		}
		return []compute.HostService{of(true, false), of(false, false), of(false, false), of(true, true), of(false, true), of(false, true)}, failure
	})
	m.watchOperations(func(context.Context) (int, time.Duration, error) { return 7, time.Minute, failure })
	want := map[string]float64{
		"berth_network_agents alive": 2, "berth_network_agents unsynced": 2, "berth_network_agents dead": 1,
		"berth_compute_hosts up": 1, "berth_compute_hosts down": 2, "berth_compute_hosts disabled": 3,
		"berth_compute_operations": 7, "berth_compute_oldest_operation_seconds": 60,
	}
	if diff := cmp.Diff(want, counted(t, m)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	failure = errors.New("the database cannot be read")
	for name, value := range counted(t, m) {
		if value == value {
			t.Errorf("%s is %v while the database cannot be read, want NaN", name, value)
		}
	}
}

// counted returns the gauges that are read from the database, with their state.
func counted(t *testing.T, m *serviceMetrics) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "berth_network_") && !strings.HasPrefix(f.GetName(), "berth_compute_") {
			continue
		}
		for _, s := range f.GetMetric() {
			name := f.GetName()
			for _, label := range s.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = s.GetGauge().GetValue()
		}
	}
	return values
}
