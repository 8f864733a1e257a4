package placementclient_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

func TestComputePlacementOfBerth(t *testing.T) {
	testComputePlacement(t, clienttest.NewProxy(t, clienttest.Berth(t)),
		"no host remains for _PORT: no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:1001; "+
			"1 host would fit if 1 NET_BW_EGR_KILOBIT_PER_SEC less were requested by group _PORT (1000 instead of 1001)")
}

// TestComputePlacementOfUpstream runs the same test with the distribution's service.
func TestComputePlacementOfUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement")
	}
	testComputePlacement(t, clienttest.NewProxy(t, clienttest.Forward(server.StartUpstream(t, server.Options{}).URL())),
		"")
}

// testComputePlacement tests the contract of compute.Placement against a service, which explains a
// query for more than there is with a text, "" for a service that explains nothing.
func testComputePlacement(t *testing.T, service *clienttest.Proxy, explained string) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *clienttest.Proxy, *placementclient.Compute)
	}{
		{"Candidates", testCandidates},
		{"CandidatesReadQuickly", testReadQuickly},
		{"Explain", func(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute) {
			testExplain(t, service, c, explained)
		}},
		{"Claims", testClaims},
		{"ConcurrentChanges", testConcurrentChanges},
		{"Aggregates", testGrouping},
		{"Sharing", testSharing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlacement(t, service.URL)
			providertreetest.MakeTree(t, p)
			defer providertreetest.Tidy(t, p)
			c := placementclient.NewCompute(clienttest.Options(t, service.URL))
			t.Cleanup(c.Close)
			service.Requests()
			tc.test(t, service, c)
		})
	}
}

// guaranteed requests bandwidth for a port.
func guaranteed(kbps int64, traits ...string) placement.Query {
	g := placement.RequestGroup{
		Suffix: "_PORT", Resources: []placement.ClassAmount{{Class: guarantee.EgressBandwidth, Amount: kbps}},
	}
	for _, t := range traits {
		g.Required = append(g.Required, strings.Split(t, "|"))
	}
	return placement.Query{
		Groups: []placement.RequestGroup{g}, Limit: 5, SameSubtrees: [][]string{{"_PORT"}},
		RootForbidden: []string{"COMPUTE_STATUS_DISABLED"},
	}
}

func testCandidates(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute) {
	got, err := c.Candidates(t.Context(), guaranteed(600))
	clienttest.Must(t, "Candidates", err)
	want := []selection.Candidate{{
		Amounts:  allocations.Amounts{clienttest.DeviceID: {guarantee.EgressBandwidth: 600}},
		Mappings: computerequest.Mappings{"_PORT": {clienttest.DeviceID}},
	}}
	if diff := cmp.Diff(want, got.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	device := selection.Provider{
		Root: clienttest.RootID, Stocks: map[string]selection.Stock{guarantee.EgressBandwidth: {Capacity: 1000}},
	}
	if diff := cmp.Diff(device, got.Providers[clienttest.DeviceID]); diff != "" {
		t.Errorf("the device (-want +got):\n%s", diff)
	}
	last := service.Requests()
	if v := last[len(last)-1].Version; v != "placement 1.36" {
		t.Errorf("the query is sent at %q, want 1.36 as Nova does", v)
	}
	none, err := c.Candidates(t.Context(), guaranteed(1001))
	if err != nil || len(none.Candidates) != 0 {
		t.Errorf("Candidates for more than there is = %v, %v", none.Candidates, err)
	}
	_, err = c.Candidates(t.Context(), guaranteed(1, "CUSTOM_NOBODY"))
	clienttest.WantKind(t, "Candidates with an unknown trait", err, fault.Invalid)
	_, err = c.Candidates(t.Context(), placement.Query{Groups: []placement.RequestGroup{{Suffix: "_A"}}})
	clienttest.WantKind(t, "Candidates for nothing", err, fault.Invalid)
}

func testExplain(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute, want string) {
	e, err := c.Explain(t.Context(), guaranteed(1001), "")
	if err != nil || (e != nil) != (want != "") || e != nil && e.Summary() != want {
		t.Errorf("Explain = %+v, %v, want %q", e, err, want)
	}
	if n := clienttest.Count(service.Requests(), "GET /berth/v1/explain?"); n != 1 {
		t.Errorf("it got %d requests, want one", n)
	}
	e, err = c.Explain(t.Context(), guaranteed(1001), clienttest.RootID)
	if err != nil || (e != nil) != (want != "") ||
		e != nil && (e.Host == "" || len(e.Near) != 1 || len(e.Near[0].Misses) != 1) {
		t.Errorf("Explain with a host = %+v, %v", e, err)
	}
	if e, err := c.Explain(t.Context(), guaranteed(1), "6f1b1a5e-0000-4000-8000-00000000dead"); e != nil || err != nil {
		t.Errorf("Explain with a host that does not exist = %+v, %v", e, err)
	}
	if _, err := c.Explain(t.Context(),
		placement.Query{Groups: []placement.RequestGroup{{Suffix: "_A"}}}, ""); (err == nil) != (want == "") {
		t.Errorf("Explain of nothing = %v", err)
	}
	defer service.Intercept(nil)
	service.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return r.URL.Path != "/"
	})
	if e, err := c.Explain(t.Context(), guaranteed(1), ""); e != nil || err != nil {
		t.Errorf("Explain of a service without it = %+v, %v", e, err)
	}
}

// claimed is a server's allocation on the device.
func claimed(kbps int64, generation *int64) allocations.Consumer {
	return allocations.Consumer{
		Amounts: allocations.Amounts{clienttest.DeviceID: {guarantee.EgressBandwidth: kbps}},
		Project: "project", User: "user", Type: allocations.Instance, Generation: generation,
	}
}

func testClaims(t *testing.T, _ *clienttest.Proxy, c *placementclient.Compute) {
	ctx := t.Context()
	h, err := c.Allocations(ctx, clienttest.ServerID)
	if err != nil || h.Amounts != nil || h.Generation != nil {
		t.Fatalf("Allocations before = %+v, %v", h, err)
	}
	clienttest.WantIs(t, "SetAllocations of too much", c.SetAllocations(ctx, clienttest.ServerID, claimed(1001, nil)),
		allocations.ErrCapacity)
	removed := claimed(1, nil)
	removed.Amounts = allocations.Amounts{"5e57b85f-1e1a-4a5a-8b4f-0123456789ab": {guarantee.EgressBandwidth: 1}}
	const kept = "5e57b85f-1e1a-4a5a-8b4f-0123456789ac" // of the consumer, by upstream
	for range 2 {
		clienttest.WantIs(t, "SetAllocations of a provider that does not exist", c.SetAllocations(ctx, kept, removed),
			allocations.ErrCapacity)
	}
	clienttest.Must(t, "SetAllocations of the same consumer", c.SetAllocations(ctx, kept, claimed(600, nil)))
	clienttest.WantIs(t, "SetAllocations of it again", c.SetAllocations(ctx, kept, claimed(600, nil)),
		allocations.ErrGeneration)
	h, err = c.Allocations(ctx, kept)
	clienttest.Must(t, "Allocations", err)
	h.Amounts = nil
	clienttest.Must(t, "SetAllocations of nothing", c.SetAllocations(ctx, kept, h))
	const keptToo = "5e57b85f-1e1a-4a5a-8b4f-0123456789ad"
	clienttest.WantIs(t, "SetManyAllocations of a provider that does not exist",
		c.SetManyAllocations(ctx, map[string]allocations.Consumer{keptToo: removed}), allocations.ErrCapacity)
	clienttest.Must(t, "SetManyAllocations of the same consumer",
		c.SetManyAllocations(ctx, map[string]allocations.Consumer{keptToo: claimed(600, nil)}))
	h, err = c.Allocations(ctx, keptToo)
	clienttest.Must(t, "Allocations", err)
	h.Amounts = nil
	clienttest.Must(t, "SetAllocations of nothing", c.SetAllocations(ctx, keptToo, h))
	clienttest.Must(t, "SetAllocations", c.SetAllocations(ctx, clienttest.ServerID, claimed(600, nil)))
	clienttest.WantIs(t, "SetAllocations of a new consumer again",
		c.SetAllocations(ctx, clienttest.ServerID, claimed(600, nil)), allocations.ErrGeneration)
	h, err = c.Allocations(ctx, clienttest.ServerID)
	clienttest.Must(t, "Allocations", err)
	if diff := cmp.Diff(claimed(600, h.Generation), h); diff != "" || h.Generation == nil {
		t.Errorf("Allocations (-want +got):\n%s", diff)
	}
	old := *h.Generation
	clienttest.Must(t, "SetAllocations of more", c.SetAllocations(ctx, clienttest.ServerID, claimed(1000, h.Generation)))
	clienttest.WantIs(t, "SetAllocations with an old generation",
		c.SetAllocations(ctx, clienttest.ServerID, claimed(1, &old)), allocations.ErrGeneration)
	h, err = c.Allocations(ctx, clienttest.ServerID)
	clienttest.Must(t, "Allocations", err)
	h.Amounts = nil
	clienttest.Must(t, "SetAllocations of nothing", c.SetAllocations(ctx, clienttest.ServerID, h))
	if h, err = c.Allocations(ctx, clienttest.ServerID); err != nil || h.Amounts != nil {
		t.Errorf("Allocations after = %+v, %v", h, err)
	}
}

// testConcurrentChanges has placement report a clienttest.Concurrent change of a provider, and one
// of the consumer, during the claim: neither is retried here, since only the caller knows what to
// write then.
func testConcurrentChanges(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute) {
	defer service.Intercept(nil)
	for _, detail := range []string{
		"Another thread concurrently updated the data. Please retry your update",
		"consumer generation conflict - expected 1 but got None",
	} {
		service.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"errors": [{"status": 409, "code": "placement.concurrent_update", "detail": %q}]}`, detail)
			return true
		})
		service.Requests()
		err := c.SetAllocations(t.Context(), clienttest.ServerID, claimed(600, nil))
		clienttest.WantIs(t, detail, err, allocations.ErrGeneration)
		clienttest.WantKind(t, detail, err, fault.Conflict)
		if n := clienttest.Count(service.Requests(), "PUT /allocations"); n != 1 {
			t.Errorf("%s: it got %d requests, want one", detail, n)
		}
	}
}

func testGrouping(t *testing.T, service *clienttest.Proxy, c *placementclient.Compute) {
	ctx := t.Context()
	const ssd, rack = "00000000-0000-4000-8000-0000000000b1", "00000000-0000-4000-8000-0000000000b2"
	within := func(want ...string) {
		t.Helper()
		for _, aggregate := range []string{ssd, rack} {
			q := guaranteed(1)
			q.Groups[0].InTree = clienttest.DeviceID
			q.RootForbidden = nil
			q.Groups[0].MemberOf = [][]placement.UUID{{placement.UUID(aggregate)}}
			a, err := c.Candidates(ctx, q)
			clienttest.Must(t, "Candidates", err)
			if in := len(a.Candidates) > 0; in != slices.Contains(want, aggregate) {
				t.Errorf("the device is in %s: %v", aggregate, in)
			}
		}
	}
	clienttest.Must(t, "Group", c.Group(ctx, clienttest.DeviceID, ssd, true))
	clienttest.Must(t, "Group into another", c.Group(ctx, clienttest.DeviceID, rack, true))
	within(ssd, rack)
	service.Requests()
	clienttest.Must(t, "Group again", c.Group(ctx, clienttest.DeviceID, ssd, true))
	clienttest.Must(t, "Group out of it", c.Group(ctx, clienttest.DeviceID, rack, false))
	clienttest.Must(t, "Group out of it again", c.Group(ctx, clienttest.DeviceID, rack, false))
	if n := clienttest.Count(service.Requests(), "PUT"); n != 1 {
		t.Errorf("%d changes were made, want 1", n)
	}
	within(ssd)
	clienttest.Must(t, "Group out of all", c.Group(ctx, clienttest.DeviceID, ssd, false))
	clienttest.WantIs(t, "Group of nobody", c.Group(ctx, clienttest.NoneID, ssd, true), allocations.ErrNoProvider)
}

// TestComputeNeedsVersions: a placement service that is too old for a request is not one to wait
// for.
func TestComputeNeedsVersions(t *testing.T) {
	for _, tc := range []struct {
		max   string
		query placement.Query
		ok    bool
	}{
		{"1.35", guaranteed(1), false},
		{"1.36", guaranteed(1), true},
		{"1.38", guaranteed(1, "CUSTOM_A|CUSTOM_B"), false},
		{"1.39", guaranteed(1, "CUSTOM_A|CUSTOM_B"), true},
	} {
		p := clienttest.NewProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				fmt.Fprintf(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": %q}]}`, tc.max)
			} else {
				fmt.Fprint(w, `{"allocation_requests": [], "provider_summaries": {}}`)
			}
		}))
		c := placementclient.NewCompute(clienttest.Options(t, p.URL))
		t.Cleanup(c.Close)
		_, err := c.Candidates(t.Context(), tc.query)
		if kind, _ := fault.Of(err); (err == nil) != tc.ok || err != nil && kind != fault.Unsupported {
			t.Errorf("Candidates at %s = %v", tc.max, err)
		}
	}
}
