package placementclient_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A reshaping is a host that changes its shape while consumers have what moves.
type reshaping struct {
	name          string
	before, after func(*inventory.Host)
	// allocated is what consumers have at first and at last, by consumer and by provider: "cn1",
	// "pool" or the end of a device's name.
	first, last map[string]map[string]map[string]int64
	// free are requests that succeed at last, each as often, until nothing is free.
	class string
	free  int64
}

const (
	serverOne    = "5e57b85f-b017-419a-8745-000000000001"
	serverTwo    = "5e57b85f-b017-419a-8745-000000000002"
	migrationOne = "5e57b85f-b017-419a-8745-00000000000a"
	lateServer   = "5e57b85f-b017-419a-8745-00000000000f"
)

type held = map[string]map[string]int64

func reshapings() []reshaping {
	card := func(name string) []inventory.Device {
		return []inventory.Device{{Suffix: name, Class: "VGPU", Total: 4}}
	}
	return []reshaping{
		{
			name:   "CardOfAnotherName",
			before: func(h *inventory.Host) { h.Devices = card("84") },
			after: func(h *inventory.Host) {
				h.Devices = card("85")
				h.Units = map[string][]inventory.Unit{
					serverOne: {{Device: "85", Class: "VGPU", Count: 1}}, migrationOne: {{Device: "85", Class: "VGPU", Count: 1}},
				}
			},
			first: map[string]held{
				serverOne:    {"cn1": {"VCPU": 2}, "84": {"VGPU": 1}, "pool": {"DISK_GB": 7}},
				migrationOne: {"cn1": {"VCPU": 2}, "84": {"VGPU": 1}},
			},
			last: map[string]held{
				serverOne:    {"cn1": {"VCPU": 2}, "85": {"VGPU": 1}, "pool": {"DISK_GB": 7}},
				migrationOne: {"cn1": {"VCPU": 2}, "85": {"VGPU": 1}},
			},
			class: "VGPU", free: 2,
		},
		{
			name:   "DedicatedCPUs",
			before: func(h *inventory.Host) { h.VCPU.Total = 8 },
			after:  func(h *inventory.Host) { h.VCPU.Total, h.PCPU = 4, inventory.Amount{Total: 4, Initial: 1} },
			first: map[string]held{
				serverOne: {"cn1": {"VCPU": 2, "MEMORY_MB": 64}, "pool": {"DISK_GB": 7}}, serverTwo: {"cn1": {"VCPU": 4}},
				migrationOne: {"cn1": {"VCPU": 2}},
			},
			last: map[string]held{
				serverOne: {"cn1": {"PCPU": 2, "MEMORY_MB": 64}, "pool": {"DISK_GB": 7}}, serverTwo: {"cn1": {"VCPU": 4}},
				migrationOne: {"cn1": {"PCPU": 1, "VCPU": 1}},
			},
			class: "PCPU", free: 1,
		},
		{
			name: "EncryptionContextsOfTheHost",
			before: func(h *inventory.Host) {
				h.Additional = []inventory.Additional{{
					ID: inventory.ComputeNode, File: "old",
					Inventories: map[string]inventory.Extra{"MEM_ENCRYPTION_CONTEXT": {Total: 5}},
				}}
			},
			after: func(h *inventory.Host) {
				h.Additional = nil
				h.Devices = []inventory.Device{{
					Suffix: "amd_sev", Class: "MEM_ENCRYPTION_CONTEXT", Total: 5, Traits: []string{"HW_CPU_X86_AMD_SEV"},
				}}
			},
			first: map[string]held{
				serverOne:    {"cn1": {"VCPU": 2, "MEM_ENCRYPTION_CONTEXT": 1}, "pool": {"DISK_GB": 7}},
				migrationOne: {"cn1": {"MEM_ENCRYPTION_CONTEXT": 1}},
			},
			last: map[string]held{
				serverOne:    {"cn1": {"VCPU": 2}, "amd_sev": {"MEM_ENCRYPTION_CONTEXT": 1}, "pool": {"DISK_GB": 7}},
				migrationOne: {"amd_sev": {"MEM_ENCRYPTION_CONTEXT": 1}},
			},
			class: "MEM_ENCRYPTION_CONTEXT", free: 3,
		},
	}
}

// consumersOfReshaping are what the compute service would know.
func consumersOfReshaping(_ context.Context, ids []string) (map[string]inventory.Consumer, error) {
	all := map[string]inventory.Consumer{}
	for _, id := range ids {
		all[id] = map[string]inventory.Consumer{
			serverOne:    {Label: "one", CPUs: []inventory.CPUs{{Total: 2, Dedicated: 2}}},
			serverTwo:    {Label: "two", CPUs: []inventory.CPUs{{Total: 4}}},
			migrationOne: {Label: "migration", CPUs: []inventory.CPUs{{Total: 1, Dedicated: 1}, {Total: 2, Dedicated: 1}}},
			lateServer:   {Label: "late", CPUs: []inventory.CPUs{{Total: 1, Dedicated: 1}}, Unbuilt: true},
		}[id]
	}
	return all, nil
}

// A reshaped is a case that is carried out in a placement service.
type reshaped struct {
	*testing.T
	p    *clienttest.Proxy
	c    *placementclient.Compute
	host *inventory.Host
	tc   reshaping
}

// newReshaped makes the host and the consumers in placement as at first.
func newReshaped(t *testing.T, handler http.Handler, tc reshaping) *reshaped {
	t.Helper()
	x := &reshaped{T: t, p: clienttest.NewProxy(t, handler), tc: tc}
	x.c = placementclient.NewCompute(clienttest.Options(t, x.p.URL))
	x.host = newHost(t)
	x.host.Devices, x.host.Additional, x.host.DiskGB.Total = nil, nil, 0
	tc.before(x.host)
	clienttest.Must(t, "the first Sync", x.sync())
	send(t, x.p, "POST /resource_providers", `{"name": "pool", "uuid": "`+poolID+`"}`)
	send(t, x.p, "PUT /resource_providers/"+poolID+"/inventories",
		`{"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 7}}}`)
	for id, amounts := range tc.first {
		clienttest.Must(t, "SetAllocations", x.c.SetAllocations(t.Context(), id, x.consumer(amounts)))
	}
	tc.after(x.host)
	return x
}

// end removes what the case has made, so that the next one can use the same service.
func (x *reshaped) end() {
	x.Helper()
	x.p.Intercept(nil)
	for _, id := range []string{serverOne, serverTwo, migrationOne, lateServer} {
		cur, err := x.c.Allocations(x.Context(), id)
		clienttest.Must(x, "Allocations", err)
		if cur.Amounts != nil {
			cur.Amounts = nil
			clienttest.Must(x, "SetAllocations", x.c.SetAllocations(x.Context(), id, cur))
		}
	}
	clienttest.Must(x, "Remove", x.c.Remove(x.Context(), poolID))
	clienttest.Must(x, "RemoveAll", providertree.RemoveAll(x.Context(), x.c, nodeID))
	x.c.Close()
}

func (x *reshaped) sync() error {
	_, err := x.host.Sync(x.Context(), x.c, inventory.SyncOptions{Starting: true, Consumers: consumersOfReshaping})
	return err
}

// consumer is a new one with amounts by short names of providers.
func (x *reshaped) consumer(amounts held) allocations.Consumer {
	c := allocations.Consumer{Amounts: allocations.Amounts{}, Project: "p", User: "u", Type: allocations.Instance}
	for name, classes := range amounts {
		id := map[string]string{"cn1": nodeID, "pool": poolID}[name]
		if id == "" {
			id = string(x.host.DeviceID(inventory.Device{Suffix: name}))
		}
		c.Amounts[id] = classes
	}
	return c
}

// claim allocates one of the class where it is free, and reports whether it was.
func (x *reshaped) claim(consumer string) bool {
	x.Helper()
	tree, err := x.c.Tree(x.Context(), nodeID, nil)
	clienttest.Must(x, "Tree", err)
	cur, err := x.c.Allocations(x.Context(), consumer)
	clienttest.Must(x, "Allocations", err)
	for _, p := range tree.Providers {
		if p.Inventories[x.tc.class].Total == 0 {
			continue
		}
		more := allocations.Consumer{Project: "p", User: "u", Type: allocations.Instance, Generation: cur.Generation}
		more.Amounts = cur.Amounts.Plus(allocations.Amounts{string(p.ID): {x.tc.class: 1}})
		err := x.c.SetAllocations(x.Context(), consumer, more)
		if err == nil {
			return true
		}
		if !errors.Is(err, allocations.ErrCapacity) {
			x.Fatal(err)
		}
	}
	return false
}

// check compares what consumers have with the end of the case, and counts what is free.
func (x *reshaped) check(what string, late int64) {
	x.Helper()
	for id, amounts := range x.tc.last {
		got, err := x.c.Allocations(x.Context(), id)
		clienttest.Must(x, "Allocations", err)
		if d := cmp.Diff(x.consumer(amounts).Amounts, got.Amounts); d != "" {
			x.Errorf("%s: %s has (-want +got):\n%s", what, id, d)
		}
	}
	n := late
	for x.claim(lateServer) {
		n++
	}
	if n != x.tc.free {
		x.Errorf("%s: %d of %s were free, want %d", what, n, x.tc.class, x.tc.free)
	}
}

// TestReshapes has hosts start in another shape, with consumers of what moves: the allocations have
// moved, whole, and what is free is what the host has less that, whatever happens at any request.
func TestReshapes(t *testing.T) {
	handler := clienttest.Berth(t)
	testReshapes(t, handler, true)
}

// TestReshapesOfUpstream does the same in the distribution's Placement, without faults.
func TestReshapesOfUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement: not under -short")
	}
	testReshapes(t, clienttest.Forward(server.StartUpstream(t, server.Options{}).URL()), false)
}

func testReshapes(t *testing.T, handler http.Handler, faults bool) {
	for _, tc := range reshapings() {
		t.Run(tc.name, func(t *testing.T) {
			x := newReshaped(t, handler, tc)
			x.p.Requests()
			clienttest.Must(t, "Sync", x.sync())
			if n := clienttest.Count(x.p.Requests(), "POST /reshaper"); n != 1 {
				t.Errorf("%d requests to /reshaper, want 1", n)
			}
			clienttest.Must(t, "the second Sync", x.sync())
			if n := clienttest.Count(x.p.Requests(), "P"); n != 0 {
				t.Errorf("a second start sends %d writes", n)
			}
			x.check("without faults", 0)
			x.end()
			if !faults {
				return
			}
			for _, allocated := range []bool{true, false} {
				unallocated := tc
				if !allocated {
					unallocated.first = nil
				}
				x := newReshaped(t, handler, unallocated)
				x.watch()
				x.end()
			}
			for _, fault := range []string{"unsent", "unanswered", "claim"} {
				for nth := 1; x.fail(handler, fault, nth); nth++ {
				}
			}
		})
	}
}

// watch has the host start, and looks before each request at how much is offered: never more than
// it has, also when nothing is allocated.
func (x *reshaped) watch() {
	x.Helper()
	offered := func() (n int64) {
		tree, err := x.c.Tree(x.Context(), nodeID, nil)
		clienttest.Must(x, "Tree", err)
		for _, p := range tree.Providers {
			n += p.Inventories[x.tc.class].Total
			if x.tc.class == inventory.PCPU {
				n += p.Inventories[inventory.VCPU].Total
			}
		}
		return n
	}
	most, looks := offered(), false
	x.p.Intercept(func(_ http.ResponseWriter, _ *http.Request) bool {
		if looks {
			return false
		}
		looks = true
		if n := offered(); n > most {
			x.Errorf("%d of %s are offered, the host has %d", n, x.tc.class, most)
		}
		looks = false
		return false
	})
	clienttest.Must(x, "Sync", x.sync())
	x.p.Intercept(nil)
	if n := offered(); n != most {
		x.Errorf("%d of %s are offered at last, want %d", n, x.tc.class, most)
	}
}

// fail has a fault at the nth request of the start, and reports whether there were so many. The
// next starts end well.
func (x *reshaped) fail(handler http.Handler, fault string, nth int) bool {
	x.Helper()
	f := newReshaped(x.T, handler, x.tc)
	defer f.end()
	what, n, late := fmt.Sprintf("%s at request %d", fault, nth), 0, int64(0)
	f.p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n != nth {
			return false
		}
		f.p.Intercept(nil)
		switch fault {
		case "claim":
			if f.claim(lateServer) {
				late++
			}
			return false
		case "unanswered":
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	})
	err := f.sync()
	f.p.Intercept(nil)
	for range 3 {
		if err != nil {
			err = f.sync()
		}
	}
	clienttest.Must(x, what, err)
	f.check(what, late)
	return n >= nth
}

// A consumer of which nobody knows where its allocations move is named, and nothing has changed; so
// it is outside of a start.
func TestReshapeIsRefused(t *testing.T) {
	handler := clienttest.Berth(t)
	for _, tc := range reshapings() {
		x := newReshaped(t, handler, tc)
		_, err := x.host.Sync(t.Context(), x.c, inventory.SyncOptions{Consumers: consumersOfReshaping})
		if !errors.Is(err, providertree.ErrMoves) || !strings.Contains(err.Error(), "restart the agent") {
			t.Errorf("%s: Sync of a host that runs = %v", tc.name, err)
		}
		x.unchanged(tc.name)
		x.end()
	}
	tc := reshapings()[0]
	known := tc.after
	tc.after = func(h *inventory.Host) { known(h); h.Units = nil }
	x := newReshaped(t, handler, tc)
	err := x.sync()
	if refused := (*inventory.StartError)(nil); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "one (1 VGPU), migration (1 VGPU)") {
		t.Errorf("Sync without units = %v", err)
	}
	x.unchanged("without units")
	x.end()
}

// unchanged checks that everything is as at first.
func (x *reshaped) unchanged(what string) {
	x.Helper()
	for id, amounts := range x.tc.first {
		got, err := x.c.Allocations(x.Context(), id)
		clienttest.Must(x, "Allocations", err)
		if d := cmp.Diff(x.consumer(amounts).Amounts, got.Amounts); d != "" {
			x.Errorf("%s: %s has (-want +got):\n%s", what, id, d)
		}
	}
	before := *x.host
	before.Devices, before.Additional, before.PCPU = nil, nil, inventory.Amount{}
	x.tc.before(&before)
	tree, err := x.c.Tree(x.Context(), nodeID, nil)
	clienttest.Must(x, "Tree", err)
	names := map[placement.UUID]bool{}
	for _, p := range tree.Providers {
		names[p.ID] = true
	}
	want := map[placement.UUID]bool{nodeID: true}
	for _, d := range before.Devices {
		want[before.DeviceID(d)] = true
	}
	if !maps.Equal(names, want) {
		x.Errorf("%s: the tree has %v", what, slices.Collect(maps.Keys(names)))
	}
}
