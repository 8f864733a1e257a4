package tracking_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	"github.com/berthcloud/berth/placement/service"
)

// remote returns a client of the placement service at an address.
func remote(t *testing.T, url string) *placementclient.Client {
	t.Helper()
	access, err := client.Fixed(url, client.NoAuth)
	must(t, err)
	p := placementclient.New(client.Options{Access: access, Retries: 3})
	t.Cleanup(p.Close)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// UUIDs of the guide's host devstack0.
const (
	hostID  = "9cbd0c2a-1d5b-4db7-a573-69912c693d79"
	agentID = "89ca1421-5117-5348-acab-6d0e2054239c"
	goneID  = "193134fd-464c-5545-9d20-df7d58c0166f"
	otherID = "7d1d0f50-6a52-43c4-9f06-8fd4d1f9c3a0" // another host's
)

// guideReport is what the guide's host reports with some bridges.
func guideReport(bridges ...string) guarantee.State { return reportOf("devstack0", bridges...) }

func reportOf(host string, bridges ...string) guarantee.State {
	rate := int64(10_000_000)
	r := guarantee.Report{Bandwidths: make(map[string]guarantee.Directed), BridgeMappings: make(map[string]string)}
	for i, name := range bridges {
		r.Bandwidths[name] = guarantee.Directed{Egress: &rate, Ingress: &rate}
		r.BridgeMappings[fmt.Sprint("physnet", i)] = name
	}
	return guarantee.OpenVSwitch.State(host, r)
}

// TestPlacementService tracks the guide's host in real placement services, through
// changes of its devices and of its name.
func TestPlacementService(t *testing.T) {
	t.Run("REST", func(t *testing.T) {
		server := httptest.NewServer(placementapitest.New(t, service.DefaultSettings()))
		defer server.Close()
		testPlacementService(t, remote(t, server.URL))
	})
	t.Run("Upstream", func(t *testing.T) {
		if testing.Short() {
			t.Skip("starts the distribution's Placement")
		}
		testPlacementService(t, remote(t, server.StartUpstream(t, server.Options{}).URL()))
	})
}

func testPlacementService(t *testing.T, p providertreetest.Placement) {
	ctx := t.Context()
	const agent = "devstack0:Open vSwitch agent"
	results := make(chan network.SyncResult)
	tr := tracking.New(tracking.Options{
		Placement: p, Done: func(_ context.Context, _ network.ID, r network.SyncResult) { results <- r },
	})
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { tr.Run(ctx); close(stopped) }()
	defer func() { cancel(); <-stopped }()
	sync := func(want guarantee.State, had ...string) network.SyncResult {
		tr.Report(tracking.Report{Agent: "a", State: want, Hypervisors: had, Started: true})
		return <-results
	}
	wantFailure := func(when string, got network.SyncResult, want string) {
		t.Helper()
		if want == "" && got.Failure != "" || !strings.Contains(got.Failure, want) {
			t.Errorf("%s: failure = %q, want %q", when, got.Failure, want)
		}
	}

	wantFailure("before compute", sync(guideReport("br-physnet0")),
		"devstack0: placement has no resource provider of this name")
	must(t, providertreetest.Set(ctx, p, providertree.Provider{ID: hostID, Name: "devstack0"}))
	must(t, providertreetest.Set(ctx, p, providertree.Provider{ID: goneID, Name: agent + ":br-ex", Parent: hostID}))
	wantFailure("with a wrong parent", sync(guideReport("br-physnet0", "br-ex")), "")
	wantTree(t, p, map[string]string{
		"devstack0": "", agent: hostID, agent + ":br-physnet0": agentID, agent + ":br-ex": agentID,
	})

	must(t, p.SetAllocations(ctx, hostID, allocations.Consumer{
		Amounts: allocations.Amounts{goneID: {"NET_BW_EGR_KILOBIT_PER_SEC": 1}}, Project: "p", User: "u",
	}))
	got := sync(guideReport("br-physnet0"))
	wantFailure("without a device in use", got, "")
	if diff := cmp.Diff([]string{agent + ":br-ex"}, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	allocated, err := p.Allocations(ctx, hostID)
	must(t, err)
	allocated.Amounts = nil
	must(t, p.SetAllocations(ctx, hostID, allocated))
	if got := sync(guideReport("br-physnet0")); got.Failure != "" || got.Kept != nil {
		t.Errorf("result = %+v", got)
	}
	wantTree(t, p, map[string]string{"devstack0": "", agent: hostID, agent + ":br-physnet0": agentID})

	bad := guideReport("br-physnet0")
	bad.Providers[1].Inventories = map[string]guarantee.Inventory{"NET_NONE": {Total: 1}}
	wantFailure("with a class that is not there", sync(bad), agent+":br-physnet0: setting its inventories: ")

	// A standard trait that placement does not know cannot be created. The other devices are set.
	bad = guideReport("br-physnet0", "br-ex")
	bad.Providers[1].Traits = append(slices.Clone(bad.Providers[1].Traits), "HW_NONE")
	got = sync(bad)
	wantFailure("with a standard trait that is not there", got, agent+":br-ex: setting its traits: ")
	if strings.HasSuffix(got.Failure, " more)") || !strings.Contains(got.Failure, "HW_NONE") {
		t.Errorf("failure = %q, want the one of HW_NONE", got.Failure)
	}
	wantTree(t, p, map[string]string{
		"devstack0": "", agent: hostID, agent + ":br-physnet0": agentID, agent + ":br-ex": agentID,
	})
	wantFailure("without the trait", sync(guideReport("br-physnet0")), "")

	must(t, providertreetest.Set(ctx, p, providertree.Provider{ID: otherID, Name: "devstack1"}))
	if got := sync(reportOf("devstack1", "br-physnet0"), "devstack0"); got.Failure != "" ||
		!slices.Equal(got.Cleared, []string{"devstack0"}) {
		t.Errorf("moved to another hypervisor: %+v", got)
	}
	if got := sync(guarantee.State{Driver: guarantee.OpenVSwitch.Name}, "devstack1"); got.Failure != "" ||
		!slices.Equal(got.Cleared, []string{"devstack1"}) {
		t.Errorf("with nothing any more: %+v", got)
	}
	for _, root := range []placement.UUID{hostID, otherID} {
		if tree, err := p.Tree(ctx, root, nil); err != nil || len(tree.Providers) != 1 {
			t.Errorf("below %s there is %v, %v", root, tree, err)
		}
	}
}

// wantTree compares the names and parents of devstack0's tree.
func wantTree(t *testing.T, p providertreetest.Placement, want map[string]string) {
	t.Helper()
	tree, err := p.Tree(t.Context(), hostID, nil)
	must(t, err)
	got := make(map[string]string)
	for _, p := range tree.Providers {
		got[p.Name] = string(p.Parent)
		if p.ID == agentID && p.Generation != 0 {
			t.Errorf("the agent's provider has generation %d: there was nothing to write", p.Generation)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if _, exists := tree.Find(agentID); !exists {
		t.Error("the agent has no provider")
	}
}
