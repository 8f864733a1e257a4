package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
)

// Each agent and host counts in one state; none counts while the database cannot be read.
func TestStates(t *testing.T) {
	m := newServiceMetrics()
	failure := error(nil)
	m.watchAgents(func(context.Context) ([]agents.Agent, error) {
		agent := func(alive bool, synced network.SyncState) agents.Agent {
			return agents.Agent{Alive: alive, AgentRow: network.AgentRow{Synced: synced}}
		}
		return []agents.Agent{
			agent(true, network.SyncDone), agent(true, network.SyncNever), agent(true, network.SyncDue),
			agent(true, network.SyncFailed), agent(false, network.SyncFailed),
		}, failure
	})
	m.watchHosts(func(context.Context) ([]compute.HostService, error) {
		service := func(up, disabled bool) compute.HostService {
			return compute.HostService{Up: up, ServiceRow: compute.ServiceRow{Disabled: disabled}}
		}
		return []compute.HostService{
			service(true, false), service(false, false), service(false, false), service(true, true), service(false, true),
			service(false, true),
		}, failure
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
