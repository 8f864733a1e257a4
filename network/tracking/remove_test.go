package tracking_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// TestDevicesThatAreGone are removed, unless they are in use, another agent's, or
// nothing of this agent's.
func TestDevicesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("host", "other")
		for name, parent := range map[string]string{
			"host:Open vSwitch agent":             "host",
			"host:Open vSwitch agent:br-gone":     "host:Open vSwitch agent",
			"host:Open vSwitch agent:br-old-tree": "host",
			"host:Open vSwitch agent:br-used":     "host:Open vSwitch agent",
			"host:Open vSwitch agent:br-shared":   "host:Open vSwitch agent",
			"host:NIC Switch agent":               "host",
			"host:NIC Switch agent:eth0":          "host:NIC Switch agent",
			"host:numa0":                          "host",
			"host:Open vSwitch agent2:br-a":       "host",
			"other:Open vSwitch agent:br-a":       "other",
		} {
			f.add(providertree.Provider{ID: uuid(name), Name: name, Parent: uuid(parent)})
		}
		f.providers[uuid("host:Open vSwitch agent:br-used")].used = guarantee.EgressBandwidth
		var refused error
		d := run(t, f, func(o *tracking.Options) {
			o.Shared = func(_ context.Context, agent network.ID, provider string) (bool, error) {
				if agent != "a" {
					t.Errorf("Shared was requested %q", agent)
				}
				return placement.UUID(provider) == uuid("host:Open vSwitch agent:br-shared"), refused
			}
		})
		r := tracking.Report{Agent: "a", State: desired("host", "br-a")}
		got := d.report(t, r)
		if diff := cmp.Diff(network.SyncResult{
			State: r.State, Kept: []string{"host:Open vSwitch agent:br-used"},
		}, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		wantState(t, f, `host
host:NIC Switch agent below host
host:NIC Switch agent:eth0 below host:NIC Switch agent
host:Open vSwitch agent below host
host:Open vSwitch agent2:br-a below host
host:Open vSwitch agent:br-a`+device+`
host:Open vSwitch agent:br-shared below host:Open vSwitch agent
host:Open vSwitch agent:br-used below host:Open vSwitch agent
host:numa0 below host
other
other:Open vSwitch agent:br-a below other`)

		f.set(func() { f.providers[uuid("host:Open vSwitch agent:br-used")].used = "" })
		refused = errors.New("the database is away")
		if got := d.report(t, r); !strings.Contains(got.Failure, "the database is away") {
			t.Errorf("failure = %q", got.Failure)
		}
		refused = nil
		if got := d.report(t, r); got.Failure != "" || got.Kept != nil {
			t.Errorf("result = %+v", got)
		}
		if strings.Contains(f.String(), "br-used") {
			t.Error("what is not used any more is still there")
		}
	})
}

// newOld is a placement with what an agent had on a host "old", in addition to what is others'
// there, and a host "host".
func newOld() *fake {
	f := newFake("host", "old")
	for name, parent := range map[string]string{
		"old:Open vSwitch agent":       "old",
		"old:Open vSwitch agent:br-a":  "old:Open vSwitch agent",
		"old:Open vSwitch agent:br-b":  "old:Open vSwitch agent",
		"old:NIC Switch agent":         "old",
		"elsewhere:Open vSwitch agent": "old",
	} {
		f.add(providertree.Provider{ID: uuid(name), Name: name, Parent: uuid(parent)})
	}
	return f
}

// below lists what there is below a root.
func (f *fake) below(root string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for id, h := range f.providers {
		if f.root(id) == uuid(root) && h.Parent != "" {
			names = append(names, h.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestHypervisorsThatAreGone are looked at for what the agent had there, also when it
// has nothing at all any more.
func TestHypervisorsThatAreGone(t *testing.T) {
	const (
		elsewhere = "elsewhere:Open vSwitch agent"
		other     = "old:NIC Switch agent"
		agent     = "old:Open vSwitch agent"
		one, two  = agent + ":br-a", agent + ":br-b"
	)
	all := []string{elsewhere, other, agent, one, two}
	others := []string{elsewhere, other}
	nothing := guarantee.State{Driver: driver.Name}
	for _, tc := range []struct {
		name          string
		state         guarantee.State
		had           []string
		used, shared  string // what providers that are begin with
		kept, cleared []string
		left          []string // below old
	}{
		{"Moved", desired("host"), []string{"host", "old"}, "", "", nil, []string{"old"}, others},
		{"Nothing", nothing, []string{"old"}, "", "", nil, []string{"old"}, others},
		{"RootIsGone", nothing, []string{"gone", "old"}, "", "", nil, []string{"gone", "old"}, others},
		{
			"InUse", desired("host"),
			[]string{"old"},
			one, "",
			[]string{one, agent},
			nil,
			[]string{elsewhere, other, agent, one},
		},
		{"AnotherAgents", desired("host"), []string{"old"}, "", agent, nil, []string{"old"}, all},
		{
			"OneOfAnotherAgents", desired("host"),
			[]string{"old"},
			"", two,
			[]string{agent},
			nil,
			[]string{elsewhere, other, agent, two},
		},
		{"NotToldOf", desired("host"), nil, "", "", nil, nil, all},
		{
			"AnotherDrivers",
			guarantee.State{Driver: guarantee.SRIOV.Name},
			[]string{"old"},
			"", "", nil,
			[]string{"old"},
			[]string{elsewhere, agent, one, two},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newOld()
				if tc.used != "" {
					f.providers[uuid(tc.used)].used = guarantee.EgressBandwidth
				}
				d := run(t, f, func(o *tracking.Options) {
					o.Shared = func(_ context.Context, _ network.ID, provider string) (bool, error) {
						return tc.shared != "" && strings.HasPrefix(f.name(placement.UUID(provider)), tc.shared), nil
					}
				})
				got := d.report(t, tracking.Report{Agent: "a", State: tc.state, Hypervisors: tc.had})
				if diff := cmp.Diff(network.SyncResult{State: tc.state, Kept: tc.kept, Cleared: tc.cleared}, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.left, f.below("old")); diff != "" {
					t.Errorf("left below old (-want +got):\n%s", diff)
				}
			})
		})
	}
}
