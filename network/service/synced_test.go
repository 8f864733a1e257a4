package service_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
)

// on is what an agent with a bridge on a hypervisor reports.
func on(hypervisor string) string {
	return `{"bridge_mappings": {"physnet0": "br0"}, "resource_provider_bandwidths": {"br0": {"egress": 1000}},
		"resource_provider_hypervisors": {"br0": "` + hypervisor + `"}}`
}

// A freeAddresses is a service with an agent on the host "host", and a clock of its own.
type freeAddresses struct {
	t *testing.T
	*service.Service
	store *dying
	at    time.Time
	agent agents.Agent
}

func newRoom(t *testing.T) *freeAddresses {
	t.Helper()
	r := &freeAddresses{t: t, store: &dying{Store: newStore(t)}, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.Service = service.New(r.store, network.DefaultSettings(), service.Peers{Log: logtest.Logger()})
	r.SetClock(func() time.Time { return r.at })
	return r
}

// beat reports configurations, and checks whether that makes a sync due.
func (r *freeAddresses) beat(configurations string, want bool) {
	r.t.Helper()
	var sync bool
	if r.agent, sync = beat(r.t, r.Service, configurations); sync != want {
		r.t.Errorf("the heartbeat requests a sync: %t, want %t", sync, want)
	}
}

// ends notes how a sync of what the agent reported last ended.
func (r *freeAddresses) ends(failure string, kept []string, cleared ...string) {
	r.t.Helper()
	end := result(r.t, r.Service, r.agent, failure)
	end.Kept, end.Cleared = kept, cleared
	r.noted(end)
}

func (r *freeAddresses) noted(end network.SyncResult) {
	r.t.Helper()
	if err := r.RecordSync(r.t.Context(), r.agent.ID, end); err != nil {
		r.t.Fatal(err)
	}
}

// wants compares the record with what it should say.
func (r *freeAddresses) wants(state network.SyncState, failure string, hypervisors, kept []string) {
	r.t.Helper()
	all, err := r.Agents(r.t.Context())
	if err != nil || len(all) != 1 {
		r.t.Fatalf("agents = %v, %v", all, err)
	}
	a := all[0]
	if a.Synced != state || a.SyncError != failure {
		r.t.Errorf("the record says %v, %q; want %v, %q", a.Synced, a.SyncError, state, failure)
	}
	if diff := cmp.Diff([][]string{hypervisors, kept}, [][]string{a.Hypervisors, a.Kept}); diff != "" {
		r.t.Errorf("hypervisors and kept providers (-want +got):\n%s", diff)
	}
}

// Hypervisors below which an agent had providers are remembered until nothing is left
// there, and what is left is looked at again.
func TestWhatIsLeftIsRemembered(t *testing.T) {
	const left = "h1:Open vSwitch agent:br0"
	r := newRoom(t)
	r.beat(on("h1"), true)
	r.wants(network.SyncDue, "", []string{"h1"}, nil)
	r.ends("", nil)
	r.beat(on("h2"), true)
	r.wants(network.SyncDue, "", []string{"h1", "h2"}, nil)
	r.ends("placement is away", nil)
	r.wants(network.SyncFailed, "placement is away", []string{"h1", "h2"}, nil)
	r.beat(on("h2"), true)
	r.ends("", []string{left})
	r.wants(network.SyncDone, "", []string{"h1", "h2"}, []string{left})

	r.at = r.at.Add(4 * time.Minute)
	r.beat(on("h2"), false)
	r.at = r.at.Add(2 * time.Minute)
	r.beat(on("h2"), true)
	r.ends("placement is away", nil)
	r.wants(network.SyncFailed, "placement is away", []string{"h1", "h2"}, []string{left})
	r.ends("", nil, "h1")
	r.wants(network.SyncDone, "", []string{"h2"}, nil)
	r.at = r.at.Add(time.Hour)
	r.beat(on("h2"), false)

	r.beat(`{}`, true)
	r.wants(network.SyncDue, "", []string{"h2"}, nil)
	r.ends("", nil, "h2")
	r.wants(network.SyncDone, "", nil, nil)
	r.beat(`{}`, false)
}

// A sync of what the agent does not report any more says nothing about what it
// reports now, whose sync is still to come.
func TestLateResults(t *testing.T) {
	for name, tc := range map[string]struct {
		now     string
		cleared string
		state   network.SyncState
		failure string
		left    []string
	}{
		"Same":      {on("h1"), "h0", network.SyncDone, "", []string{"h1"}},
		"Moved":     {on("h2"), "h0", network.SyncDue, "", []string{"h1", "h2"}},
		"MovedBack": {on("h0"), "h0", network.SyncDue, "", []string{"h0", "h1"}},
		"Nonsense": {
			`{"bridge_mappings": 7}`, "h0", network.SyncFailed,
			"configurations: \"bridge_mappings\" must be an object, not `7`",
			[]string{"h1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.beat(on("h0"), true)
			r.ends("", nil)
			r.beat(on("h1"), true)
			late := result(t, r.Service, r.agent, "")
			late.Cleared = []string{tc.cleared}
			_, _ = beat(t, r.Service, tc.now)
			r.noted(late)
			r.wants(tc.state, tc.failure, tc.left, nil)
		})
	}
}

// A sync that fails as the one before it did writes nothing.
func TestEqualFailuresAreNotWritten(t *testing.T) {
	r := newRoom(t)
	r.beat(on("h1"), true)
	for _, tc := range []struct {
		failure string
		writes  int
	}{{"away", 1}, {"away", 0}, {"full", 1}, {"full", 0}, {"", 1}, {"", 0}, {"away", 1}} {
		before := r.store.updates
		r.ends(tc.failure, nil)
		if n := r.store.updates - before; n != tc.writes {
			t.Errorf("%q: %d transactions, want %d", tc.failure, n, tc.writes)
		}
	}
	r.at = r.at.Add(time.Minute)
	before := r.store.updates
	r.ends("", nil)
	if r.store.updates == before {
		t.Error("a success at another time was not noted")
	}
}

// An agent whose record was deleted has no results.
func TestResultsOfAgentsThatAreGone(t *testing.T) {
	r := newRoom(t)
	r.beat(on("h1"), true)
	if _, err := r.DeleteAgent(t.Context(), r.agent.ID); err != nil {
		t.Fatal(err)
	}
	r.ends("", nil)
	if all, err := r.Agents(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("agents = %v, %v", all, err)
	}
}
