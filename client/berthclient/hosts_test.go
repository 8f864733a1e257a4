package berthclient_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

const nodeID = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"

// computing returns the hosts of a compute service and its API, in memory.
func computing(t *testing.T, trees providertree.Placement) (*fleet.Service, http.Handler) {
	t.Helper()
	store, err := rowtable.OpenCompute(t.Context(), sqlstore.Options{Path: sqlstore.Memory})
	clienttest.Must(t, "OpenCompute", err)
	t.Cleanup(func() { _ = store.Close() })
	db := compute.NewDatabase(store, compute.Rules{Settings: compute.DefaultSettings(), Log: logtest.Logger()})
	s := computetest.NewService(db, computetest.Options{Trees: trees})
	rules, err := policy.New(policy.Options{Defaults: computeapi.PolicyDefaults()})
	clienttest.Must(t, "policy", err)
	api := &computeapi.API{Servers: s.Servers, Catalog: catalog.New(db, nil), Fleet: s.Fleet, Policy: rules}
	return s.Fleet, computeapi.Handler(httpapi.New(httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps, Routes: api.Routes(),
		Authenticate: httpapi.Agents{TokensForAll: true, Keys: hostKeys, Others: httpapi.NoAuth}.Authenticate,
		Public:       computeapi.Public, Problem: computeapi.Problem,
	}))
}

// hostKeys are those of the services.
var hostKeys = hostkey.New("the secret of these services")

// A host sends its key with every request, from a file that may change, and gets the reason when it
// is refused.
func TestHostKeys(t *testing.T) {
	hosts, handler := computing(t, nil)
	p := clienttest.NewProxy(t, handler)
	file := filepath.Join(t.TempDir(), "key")
	access, err := client.Fixed(p.URL, "nobody")
	clienttest.Must(t, "Fixed", err)
	report := compute.Report{
		Host: "cn1", Version: 64, Node: compute.NodeRow{ID: nodeID, Name: "cn1", Type: "fake", CPU: []byte("{}")},
	}
	h := berthclient.NewHost(client.Options{Access: access, HostKey: client.HostKeyFromFile(file)},
		berthclient.HostReporter{
			Name: "cn1", Report: func() (compute.Report, error) { return report, nil },
		})
	defer h.Close()
	for _, tc := range []struct{ key, want string }{
		{"", "the file with the host key cannot be read"},
		{" \n", "has no host key in it"},
		{"cn1:00", "The host key is of no secret"},
		{hostKeys.Key("cn2"), "The certificate or key is of the host cn2, and not of cn1"},
		{hostKeys.Key("cn1") + "\n", ""},
	} {
		if tc.key != "" {
			clienttest.Must(t, "WriteFile", os.WriteFile(file, []byte(tc.key), 0o600))
		}
		err := h.Report(t.Context(), nil)
		if err == nil != (tc.want == "") ||
			err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "[nova]")) {
			t.Errorf("with the key %q: Report = %v, want %q", tc.key, err, tc.want)
		}
		if err != nil && tc.key != "" && strings.TrimSpace(tc.key) != "" && strings.Contains(err.Error(), tc.key) {
			t.Errorf("the key is in the error %v", err)
		}
	}
	all, err := hosts.Services(t.Context())
	clienttest.Must(t, "Services", err)
	if len(all) != 1 || all[0].Host != "cn1" {
		t.Errorf("the services are %+v", all)
	}
	if _, err := h.Wanted(t.Context(), "", 0); err != nil {
		t.Errorf("Wanted = %v", err)
	}
}

// TestHostReports: a host reports its inventory, and gets the state of the sync to placement.
func TestHostReports(t *testing.T) {
	places := clienttest.NewProxy(t, clienttest.Berth(t))
	placement := placementclient.NewCompute(clienttest.Options(t, places.URL))
	defer placement.Close()
	hosts, handler := computing(t, placement)
	p := clienttest.NewProxy(t, handler)
	id, err := guarantee.ParseUUID(nodeID)
	clienttest.Must(t, "ParseUUID", err)
	inv := &inventory.Host{
		ID: id, Name: "cn1", VCPU: inventory.Amount{Total: 8, Initial: 4},
		MemoryMB: inventory.Amount{Total: 1024, Initial: 1},
		Devices: []inventory.Device{
			{
				Suffix: "0000:81:00.0", Class: "CUSTOM_NIC", Total: 2, Traits: []string{inventory.TraitPCIDevice},
				Addresses: []string{"0000:81:02.0", "0000:81:02.1"},
			},
			{Suffix: "pci_0000_84_00_0", Class: "VGPU", Total: 4, MdevType: "nvidia-35"},
		},
		PCI: new(bool), Units: map[string][]inventory.Unit{},
		Additional: []inventory.Additional{
			{ID: inventory.ComputeNode, File: "a.yaml", Inventories: map[string]inventory.Extra{"CUSTOM_LICENSE": {Total: 5}}},
			{Name: "none", File: "b.yaml", Traits: []string{"CUSTOM_FAR"}},
		},
	}
	*inv.PCI = true
	var answer berthclient.ReportAnswer
	h := berthclient.NewHost(clienttest.Options(t, p.URL), berthclient.HostReporter{
		Name: "cn1", OnAnswer: func(r berthclient.ReportAnswer) { answer = r },
		Report: func() (compute.Report, error) {
			return compute.Report{Host: "cn1", Version: 64, Node: compute.NodeRow{
				ID: nodeID, Name: "cn1", Type: "fake", Version: 1, Address: "192.0.2.1", VCPUs: 8, MemoryMB: 1024, DiskGB: 100,
				CPU:      []byte(`{"arch":"x86_64"}`),
				Devices:  []byte(`[{"slot":"0000:05:10.1","vendor":"8086:154d"},{"slot":"","vendor":"","parent":"ens5"}]`),
				Topology: []byte(`{"nodes":[{"id":0,"socket":0}],"pci_devices":{"0000:81:02.0":0}}`),
			}, Inventory: inv}, nil
		},
	})
	defer h.Close()
	clienttest.Must(t, "Report", h.Report(t.Context(), nil))
	if answer.Synced == nil || !*answer.Synced || len(answer.Warnings) != 1 ||
		!strings.Contains(answer.Warnings[0], "b.yaml") {
		t.Errorf("it gets %+v", answer)
	}
	nodes, err := hosts.Hypervisors(t.Context())
	clienttest.Must(t, "Hypervisors", err)
	if len(nodes) != 1 || nodes[0].Address != "192.0.2.1" || string(nodes[0].CPU) != `{"arch": "x86_64"}` ||
		!strings.Contains(string(nodes[0].Devices), "0000:05:10.1") {
		t.Errorf("the hypervisors are %+v", nodes)
	}
	tree, err := placement.Tree(t.Context(), nodeID, nil)
	clienttest.Must(t, "Tree", err)
	if len(tree.Providers) != 3 || tree.Providers[0].Inventories["VCPU"].AllocationRatio != 4 ||
		tree.Providers[0].Inventories["CUSTOM_LICENSE"].Total != 5 {
		t.Errorf("placement has %+v", tree)
	}
	places.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return true
	})
	inv.VCPU.Total = 9
	clienttest.Must(t, "Report while placement is away", h.Report(t.Context(), nil))
	if *answer.Synced || answer.SyncError == "" {
		t.Errorf("while placement is away it gets %+v", answer)
	}
}

// TestHostWorks: a host reads the desired state, and reports the outcome.
func TestHostWorks(t *testing.T) {
	const wants = `{"revision": "r1", "servers": [{"id": "a", "name": "instance-00000001", "deleted": false, "kept": true, "generation": 2, "running": true, "boot": null, "event": "e",
		"image": "i", "flavor": {"name": "m1", "vcpus": 1, "memory_mb": 128, "root_gb": 1, "ephemeral_gb": 2, "swap_mb": 0, "extra_specs": {}},
		"ports": [{"id": "p", "tag": null, "network_id": "n", "mac_address": "fa:16:3e:00:00:01", "vnic_type": "direct", "vif_type": "hw_veb",
			"pci_slot": "0000:05:10.1", "physical_network": "physnet0", "providers": ["rp"], "fixed_ips": [{"subnet_id": "s", "ip_address": "10.0.4.2", "prefix_length": 24}]}],
		"hostname": "vm", "metadata": {"a": "b"}, "key_name": "k", "key_data": "ssh", "user_data": "dQ==", "config_drive": true}]}`
	answer, status := wants, http.StatusOK
	p := clienttest.NewProxy(t, nil)
	p.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
		return true
	})
	h := berthclient.NewHost(clienttest.Options(t, p.URL), berthclient.HostReporter{
		Name: "cn 1", Report: func() (compute.Report, error) { return compute.Report{}, nil },
	})
	defer h.Close()
	got, err := h.Wanted(t.Context(), "r0", 30*time.Second)
	clienttest.Must(t, "Wanted", err)
	want := hostlist.List{Revision: "r1", Servers: []hostlist.Server{{
		ID: "a", Name: "instance-00000001", Kept: true, Generation: 2, Running: true, Event: "e", Image: "i", Hostname: "vm",
		Flavor:   hostlist.Flavor{Name: "m1", VCPUs: 1, MemoryMB: 128, RootGB: 1, EphemeralGB: 2, Specs: map[string]string{}},
		Metadata: map[string]string{"a": "b"}, KeyName: "k", KeyData: "ssh", UserData: "dQ==", ConfigDrive: true,
		Ports: []hostlist.Port{{
			ID: "p", Network: "n", MAC: "fa:16:3e:00:00:01", VNIC: "direct", VIF: "hw_veb", PhysicalNetwork: "physnet0",
			Slot: "0000:05:10.1", Providers: []string{"rp"},
			Addresses: []hostlist.Address{{Subnet: "s", IP: "10.0.4.2", Prefix: 24}},
		}},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Wanted (-want +got)\n%s", d)
	}
	if all := p.Requests(); len(all) != 1 || all[0].Call != "GET /berth/v1/hosts/cn%201/servers?revision=r0&wait=30" {
		t.Errorf("it got %+v", all)
	}
	for _, answer = range []string{
		`{}`, `{"revision": "", "servers": []}`, `{"revision": "r", "servers": null}`, `[`,
		`{"revision": "r", "servers": [{"ports": 7}]}`,
	} {
		if _, err := h.Wanted(t.Context(), "", 0); err == nil {
			t.Errorf("%s passes for an answer", answer)
		}
	}
	p.Requests()
	answer, status = "", http.StatusNoContent
	clienttest.Must(t, "Done",
		h.Done(t.Context(), []hostlist.Result{{Server: "a", Event: "e", Generation: 2, Error: "no room", Everywhere: true}}))
	const said = `{"results":[{"server":"a","event":"e","generation":2,"error":"no room","everywhere":true}]}`
	if all := p.Requests(); len(all) != 1 || all[0].Call != "POST /berth/v1/hosts/cn%201/servers" || all[0].Body != said {
		t.Errorf("it got %+v", all)
	}
	answer = ""
	if err := h.Report(t.Context(), nil); err == nil {
		t.Error("an answer without content passes for one to a report")
	}
}

// TestHostKeepsItsServers: a host under another name, or of a service with an empty database, keeps
// its servers.
func TestHostKeepsItsServers(t *testing.T) {
	hosts, handler := computing(t, nil)
	p := clienttest.NewProxy(t, handler)
	node := compute.NodeRow{ID: nodeID, Name: "cn1", Type: "fake", Version: 1, CPU: []byte("{}")}
	var fake driver.Fake
	const vm = "33333333-0000-4000-8000-000000000001"
	clienttest.Must(t, "Build", fake.Build(t.Context(), hostlist.Server{ID: vm}))
	for _, step := range []struct {
		what, name string
		until      func() bool
	}{
		{"an empty database", "cn1", func() bool { return hosts.UnknownServers() == 1 }},
		{"another name", "cn2", func() bool { return clienttest.Count(p.Requests(), "POST /berth/v1/heartbeats") > 0 }},
	} {
		p.Requests()
		h := berthclient.NewHost(clienttest.Options(t, p.URL), berthclient.HostReporter{
			Name: step.name, Report: func() (compute.Report, error) {
				return compute.Report{Host: step.name, Version: 64, Node: node}, nil
			},
		})
		one := host.Host{
			Service: h, Driver: &fake, Log: logtest.Logger(), ReportInterval: 10 * time.Millisecond, Concurrency: 1,
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		var running sync.WaitGroup
		running.Go(func() { one.Run(ctx) })
		for !step.until() && ctx.Err() == nil {
			runtime.Gosched()
		}
		if ctx.Err() != nil {
			t.Errorf("%s: what the host does takes too long", step.what)
		}
		stop()
		running.Wait()
		h.Close()
		if cur, err := fake.Servers(t.Context()); err != nil || len(cur) != 1 {
			t.Errorf("%s: the host has %+v, %v", step.what, cur, err)
		}
	}
	far := berthclient.NewHost(clienttest.Options(t, p.URL), berthclient.HostReporter{Name: "cn2"})
	defer far.Close()
	if _, err := far.Wanted(t.Context(), "", 0); err == nil ||
		!strings.Contains(err.Error(), "Compute host cn2 could not be found.") {
		t.Errorf("a host that never reported gets %v", err)
	}
}
