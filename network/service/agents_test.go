package service_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

const (
	noDevice = `{"bridge_mappings": {}}`
	aDevice  = `{"bridge_mappings": {"physnet0": "br0"}, "resource_provider_bandwidths": {"br0": {"egress": 1000, ` +
		`"ingress": 1000}}, "resource_provider_hypervisors": {"br0": "h"}}`
	fast = `{"bridge_mappings": {"physnet0": "br0"}, "resource_provider_bandwidths": {"br0": {"egress": 2000, ` +
		`"ingress": 1000}}, "resource_provider_hypervisors": {"br0": "h"}}`
	malformed = `{"resource_provider_bandwidths": 7}`
)

// What an agent reports is due until a sync of it has ended: a service that is killed
// in between requests the sync with the next heartbeat.
func TestHeartbeatsAskForSyncs(t *testing.T) {
	type step struct {
		config string
		start  bool
		ended  string // how the sync that follows ends: "done", "failed", or the service dies before: ""
		want   bool   // whether a sync is requested
		state  network.SyncState
	}
	const done, failed = "done", "failed"
	for name, steps := range map[string][]step{
		"NothingToSync": {
			{noDevice, true, "", false, network.SyncNever},
			{noDevice, false, "", false, network.SyncNever},
		},
		"OnceIsEnough": {{aDevice, true, done, true, network.SyncDue}, {aDevice, false, "", false, network.SyncDone}},
		"AfterAFailure": {
			{aDevice, true, failed, true, network.SyncDue},
			{aDevice, false, "", true, network.SyncFailed},
		},
		"KilledAtFirst": {
			{aDevice, true, "", true, network.SyncDue},
			{aDevice, false, done, true, network.SyncDue},
			{aDevice, false, "", false, network.SyncDone},
		},
		"KilledAtStart": {
			{aDevice, true, done, true, network.SyncDue},
			{aDevice, true, "", true, network.SyncDue},
			{aDevice, false, "", true, network.SyncDue},
		},
		"KilledAtChange": {
			{aDevice, true, done, true, network.SyncDue},
			{fast, false, "", true, network.SyncDue},
			{fast, false, "", true, network.SyncDue},
		},
		"NoneAnyMore": {
			{aDevice, true, done, true, network.SyncDue},
			{noDevice, false, "", true, network.SyncDue},
			{noDevice, false, done, true, network.SyncDue},
			{noDevice, false, "", false, network.SyncDone},
		},
		"NotUnderstood": {
			{aDevice, true, done, true, network.SyncDue},
			{malformed, true, "", false, network.SyncFailed},
			{aDevice, false, done, true, network.SyncDue},
			{aDevice, false, "", false, network.SyncDone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			for i, s := range steps {
				a, sync, err := c.service.Beat(context.Background(), agents.Heartbeat{
					Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "h", Start: s.start,
					Configurations: []byte(s.config),
				})
				c.must(err)
				if sync != s.want || a.Synced != s.state {
					t.Fatalf("heartbeat %d: sync %v, state %v; want %v, %v", i+1, sync, a.Synced, s.want, s.state)
				}
				switch s.ended {
				case done:
					c.must(c.service.RecordSync(context.Background(), a.ID, result(t, c.service, a, "")))
				case failed:
					c.must(c.service.RecordSync(context.Background(), a.ID,
						result(t, c.service, a, "placement is away")))
				}
			}
		})
	}
}

// newStore returns a new store in memory.
func newStore(t *testing.T) network.Store {
	t.Helper()
	store, err := rowtable.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return storetest.Rerun(store)
}

// beat reports configurations of an Open vSwitch agent on the host "host".
func beat(t *testing.T, s *service.Service, configurations string) (a agents.Agent, sync bool) {
	t.Helper()
	a, sync, err := s.Beat(t.Context(), agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "host",
		Configurations: []byte(configurations),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, sync
}

// result is how a sync of what an agent reported ended.
func result(t *testing.T, s *service.Service, a agents.Agent, failure string) network.SyncResult {
	t.Helper()
	state, err := s.State(a.AgentRow)
	if err != nil {
		t.Fatal(err)
	}
	return network.SyncResult{State: state, Failure: failure}
}

// reportOf is what an agent reports that has a bridge with a trait.
func reportOf(trait string) string {
	return `{"bridge_mappings": {"physnet0": "br0"}, "resource_provider_bandwidths": {"br0": {"egress": 1000}},
		"resource_provider_traits": {"br0": ["` + trait + `"]}}`
}

// A report that makes no sense is noted with what is wrong with it, and not brought
// into placement. The next one that does is.
func TestReportsThatMakeNoSense(t *testing.T) {
	s := newRoom(t).Service
	a, sync := beat(t, s, reportOf("CUSTOM_GUARANTEED"))
	if state, err := s.State(a.AgentRow); err != nil || !sync || len(state.Providers) != 2 ||
		state.Providers[1].Traits[0] != "CUSTOM_GUARANTEED" {
		t.Fatalf("sync = %t, the state is %+v, %v", sync, state, err)
	}
	if err := s.RecordSync(t.Context(), a.ID, result(t, s, a, "")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, sync = beat(t, s, reportOf("gold"))
		if sync || a.Synced != network.SyncFailed || !strings.Contains(a.SyncError,
			`"resource_provider_traits.br0" must be a trait of CUSTOM_`) {
			t.Errorf("sync = %t, the record says %v, %q", sync, a.Synced, a.SyncError)
		}
	}
	if _, sync = beat(t, s, reportOf("CUSTOM_GUARANTEED")); !sync {
		t.Error("the report that makes sense again is not brought into placement")
	}
}

// An agent that says that it is as it was, or what is wrong with it, keeps the
// configurations of its record; a problem is noted until a heartbeat comes without one.
func TestHeartbeatsThatKeepConfigurations(t *testing.T) {
	r := newRoom(t)
	set := network.DefaultSettings()
	set.Drivers = []guarantee.Driver{guarantee.OVN}
	r.Service = service.New(r.store, set, service.Peers{Log: logtest.Logger()})
	r.SetClock(func() time.Time { return r.at })
	say := func(h agents.Heartbeat, sync bool, state network.SyncState, failure, configurations string) {
		t.Helper()
		h.Type, h.Binary, h.Host = guarantee.OVN.AgentType, guarantee.OVN.Binary, "h"
		r.at = r.at.Add(time.Second)
		a, due, err := r.Beat(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		if due != sync || a.Synced != state || a.SyncError != failure || string(a.Configurations) != configurations ||
			!a.HeartbeatAt.Equal(r.at) {
			t.Errorf("sync = %t, the record says %v, %q, %s at %s; want %t, %v, %q, %s", due, a.Synced, a.SyncError,
				a.Configurations, a.HeartbeatAt, sync, state, failure, configurations)
		}
		r.agent = a
	}
	say(agents.Heartbeat{Configurations: []byte(noDevice), Problem: "a riddle"}, false, network.SyncFailed, "a riddle",
		noDevice)
	say(agents.Heartbeat{Configurations: []byte(aDevice)}, true, network.SyncDue, "a riddle", aDevice)
	r.ends("", nil)
	say(agents.Heartbeat{Configurations: []byte(noDevice), Unchanged: true}, false, network.SyncDone, "", aDevice)
	say(agents.Heartbeat{Configurations: []byte(noDevice), Problem: "a riddle", Start: true}, false, network.SyncFailed,
		"a riddle", aDevice)
	say(agents.Heartbeat{Unchanged: true, Problem: "a riddle"}, false, network.SyncFailed, "a riddle", aDevice)
	say(agents.Heartbeat{Configurations: []byte(aDevice)}, true, network.SyncFailed, "a riddle", aDevice)
	r.ends("", nil)
	say(agents.Heartbeat{Configurations: []byte(aDevice)}, false, network.SyncDone, "", aDevice)
	if _, err := r.DeleteAgent(t.Context(), r.agent.ID); err != nil {
		t.Fatal(err)
	}
	say(agents.Heartbeat{Configurations: []byte(fast), Unchanged: true}, true, network.SyncDue, "", fast)
}

// Agents are turned on when they are new, unless an operator wants to do that.
func TestNewAgents(t *testing.T) {
	for _, down := range []bool{false, true} {
		set := network.DefaultSettings()
		set.NewAgentsDown = down
		s := service.New(newStore(t), set, service.Peers{Log: logtest.Logger()})
		beat := func() agents.Agent {
			t.Helper()
			a, _, err := s.Beat(t.Context(), agents.Heartbeat{Type: "t", Host: "h"})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a := beat()
		if a.AdminStateUp == down {
			t.Errorf("NewAgentsDown is %t, and AdminStateUp of a new one too", down)
		}
		if _, err := s.UpdateAgent(t.Context(), a.ID, func(row *network.AgentRow) error {
			row.AdminStateUp = !row.AdminStateUp
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if again := beat(); again.AdminStateUp != down {
			t.Errorf("a heartbeat has undone what the administrator did, with NewAgentsDown %t", down)
		}
	}
}

// An agent whose newest heartbeat is from the future is not alive: it was sent before the clock was
// set back.
func TestHeartbeatsFromTheFuture(t *testing.T) {
	r := newRoom(t)
	h := agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "h",
		Configurations: []byte(noDevice),
	}
	if _, _, err := r.Beat(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		by    time.Duration
		alive bool
	}{{-time.Hour, false}, {-time.Minute, true}, {time.Minute, true}, {time.Hour, false}} {
		r.SetClock(func() time.Time { return r.at.Add(tc.by) })
		all, err := r.Agents(t.Context())
		if err != nil || len(all) != 1 || all[0].Alive != tc.alive {
			t.Errorf("the clock set by %v: %+v, %v, want alive %v", tc.by, all, err, tc.alive)
		}
	}
}
