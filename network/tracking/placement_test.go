package tracking_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// newPlacement returns a client of Berth's placement on a new store in memory.
func newPlacement(t *testing.T) *client.Placement {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	service, err := placement.NewService(context.Background(), store, placement.DefaultSettings())
	must(t, err)
	rules, err := policy.New(policy.Options{Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true})
	must(t, err)
	api := &placementapi.API{Placement: service, Policy: rules, Now: time.Now}
	server := httptest.NewServer(httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), Authenticate: httpapi.NoAuth,
		CodeSince: 23, UndefinedCode: placement.CodeUndefined, MaxBody: 1 << 20,
	}))
	t.Cleanup(server.Close)
	access, err := client.Fixed(server.URL, client.NoAuth)
	must(t, err)
	p := client.NewPlacement(client.Options{Access: access})
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
	hostID   = "9cbd0c2a-1d5b-4db7-a573-69912c693d79"
	agentID  = "89ca1421-5117-5348-acab-6d0e2054239c"
	bridgeID = "4a6f5f40-b7a1-5df4-9938-63983543f365"
	goneID   = "193134fd-464c-5545-9d20-df7d58c0166f"
)

// TestPlacementService tracks the guide's host in a real placement service, through
// a change of its devices.
func TestPlacementService(t *testing.T) {
	ctx := t.Context()
	p := newPlacement(t)
	agent := tracking.Provider{UUID: agentID, Name: "devstack0:Open vSwitch agent", Root: "devstack0"}
	device := func(uuid, name string) tracking.Provider {
		return tracking.Provider{
			UUID: uuid, Name: agent.Name + ":" + name, Root: agent.Root, Parent: agentID,
			Traits:      []string{"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL"},
			Inventories: map[string]network.Inventory{"NET_BW_EGR_KILOBIT_PER_SEC": {Total: 10_000_000}},
		}
	}
	want := func(providers ...tracking.Provider) tracking.Report {
		return tracking.Report{Agent: "a", Started: true, Desired: tracking.Desired{
			Traits:    []string{"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_NORMAL"},
			Providers: append([]tracking.Provider{agent}, providers...),
		}}
	}
	results := make(chan tracking.Result)
	tr := tracking.New(tracking.Options{Placement: p, Done: func(_ context.Context, _ network.ID, r tracking.Result) { results <- r }})
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() { tr.Run(ctx); close(stopped) }()
	defer func() { cancel(); <-stopped }()
	sync := func(r tracking.Report) tracking.Result {
		tr.Report(r)
		return <-results
	}
	wantFailure := func(when string, got tracking.Result, want string) {
		t.Helper()
		if want == "" && got.Failure != "" || !strings.Contains(got.Failure, want) {
			t.Errorf("%s: failure = %q, want %q", when, got.Failure, want)
		}
	}

	wantFailure("before compute", sync(want(device(bridgeID, "br-physnet0"))), "devstack0: placement has no resource provider of this name")
	must(t, p.EnsureProvider(ctx, network.Provider{UUID: hostID, Name: "devstack0"}))
	must(t, p.EnsureProvider(ctx, network.Provider{UUID: goneID, Name: agent.Name + ":br-ex", Parent: hostID}))
	wantFailure("with a wrong parent", sync(want(device(bridgeID, "br-physnet0"), device(goneID, "br-ex"))), "")
	wantTree(t, p, map[string]string{
		"devstack0": "", agent.Name: hostID, agent.Name + ":br-physnet0": agentID, agent.Name + ":br-ex": agentID,
	})

	must(t, p.SetAllocations(ctx, hostID, network.Allocations{
		Providers: map[string]map[string]int64{goneID: {"NET_BW_EGR_KILOBIT_PER_SEC": 1}}, Project: "p", User: "u",
	}))
	got := sync(want(device(bridgeID, "br-physnet0")))
	wantFailure("without a device in use", got, "")
	if diff := cmp.Diff([]string{agent.Name + ":br-ex"}, got.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	held, err := p.Allocations(ctx, hostID)
	must(t, err)
	held.Providers = nil
	must(t, p.SetAllocations(ctx, hostID, held))
	if got := sync(want(device(bridgeID, "br-physnet0"))); got.Failure != "" || got.Kept != nil {
		t.Errorf("result = %+v", got)
	}
	wantTree(t, p, map[string]string{"devstack0": "", agent.Name: hostID, agent.Name + ":br-physnet0": agentID})

	bad := device(bridgeID, "br-physnet0")
	bad.Inventories = map[string]network.Inventory{"CUSTOM_NONE": {Total: 1}}
	wantFailure("with a class that is not there", sync(want(bad)), agent.Name+":br-physnet0: setting its inventories: placement answered 400")
}

// wantTree compares the names and parents of devstack0's tree.
func wantTree(t *testing.T, p network.Placement, want map[string]string) {
	t.Helper()
	tree, err := p.ProvidersBelow(t.Context(), hostID)
	must(t, err)
	got := make(map[string]string)
	for _, p := range tree {
		got[p.Name] = p.Parent
		if p.UUID == agentID && p.Generation != 0 {
			t.Errorf("the agent's provider has generation %d: there was nothing to write", p.Generation)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(tree, func(p network.Provider) bool { return p.UUID == agentID }) {
		t.Error("the agent has no provider")
	}
}
