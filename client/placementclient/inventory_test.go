package placementclient_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement/providertree"
)

const (
	nodeID   = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"
	holderID = "5e57b85f-b017-419a-8745-9c406e149f9e"
	poolID   = "0f000000-0000-4000-8000-000000000001"
	groupID  = "0f000000-0000-4000-8000-000000000002"
)

// newHost is a host with a device and a resource class that an operator adds.
func newHost(t *testing.T) *inventory.Host {
	t.Helper()
	id, err := guarantee.ParseUUID(nodeID)
	clienttest.Must(t, "ParseUUID", err)
	return &inventory.Host{
		ID: id, Name: "cn1", VCPU: inventory.Amount{Total: 8, Initial: 4},
		MemoryMB: inventory.Amount{Total: 1024, Reserved: 512, Initial: 1},
		DiskGB:   inventory.Amount{Total: 100, Initial: 1},
		Traits:   []string{"COMPUTE_NET_ATTACH_INTERFACE"},
		Devices: []inventory.Device{
			{Suffix: "0000:81:00.0", Class: "CUSTOM_NIC", Total: 2, Traits: []string{inventory.TraitPCIDevice, "CUSTOM_FAST"}},
			{Suffix: "pci_0000_84_00_0", Class: "VGPU", Total: 4},
		},
		Additional: []inventory.Additional{{
			ID: inventory.ComputeNode, File: "a.yaml", Inventories: map[string]inventory.Extra{"CUSTOM_LICENSE": {Total: 5}},
			Traits: []string{"CUSTOM_GOLD"},
		}},
	}
}

// treeLines formats a tree in lines.
func treeLines(t providertree.Tree) (lines []string) {
	for _, p := range t.Providers {
		line := fmt.Sprintf("%s below %q %v", p.Name, p.Parent, p.Traits)
		for _, class := range []string{"VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_LICENSE", "CUSTOM_NIC", "VGPU"} {
			if i, ok := p.Inventories[class]; ok {
				line += fmt.Sprintf(" %s=%d-%d*%v", class, i.Total, i.Reserved, i.AllocationRatio)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestSyncOfAHost syncs the tree of a host, while others use it.
func TestSyncOfAHost(t *testing.T) {
	p := clienttest.NewProxy(t, clienttest.Berth(t))
	c := placementclient.NewCompute(clienttest.Options(t, p.URL))
	defer c.Close()
	h := newHost(t)
	sync := func(want ...string) {
		t.Helper()
		s, err := h.Sync(t.Context(), c, inventory.SyncOptions{})
		if err != nil || strings.Join(s.Warnings, "\n") != strings.Join(want, "\n") {
			t.Errorf("Sync = %q, %v, want %q", s.Warnings, err, want)
		}
	}
	tree := func(want ...string) providertree.Tree {
		t.Helper()
		cur, err := c.Tree(t.Context(), nodeID, nil)
		clienttest.Must(t, "Tree", err)
		if d := cmp.Diff(want, treeLines(cur)); d != "" {
			t.Errorf("the tree (-want +got)\n%s", d)
		}
		return cur
	}
	tree()
	sync()
	root := `cn1 below "" [COMPUTE_NET_ATTACH_INTERFACE COMPUTE_NODE CUSTOM_GOLD] VCPU=8-0*4 MEMORY_MB=1024-512*1`
	below := ` below "` + nodeID + `" `
	nic, gpu := "cn1_0000:81:00.0"+below+"[COMPUTE_MANAGED_PCI_DEVICE CUSTOM_FAST] CUSTOM_NIC=2-0*1",
		"cn1_pci_0000_84_00_0"+below+"[] VGPU=4-0*1"
	cur := tree(root+" DISK_GB=100-0*1 CUSTOM_LICENSE=5-0*1", nic, gpu)

	p.Requests()
	sync() // nothing has changed
	if writes := clienttest.Count(p.Requests(), "P"); writes != 0 {
		t.Errorf("a tree that is as it should be costs %d writes", writes)
	}

	// Two devices are removed, one of them with allocations; disk is shared from here on.
	send(t, p, "PUT /allocations/"+holderID, `{"allocations": {"`+string(cur.Providers[1].ID)+`": {"resources": {"CUSTOM_NIC": 1}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
	send(t, p, "POST /resource_providers", `{"name": "pool", "uuid": "`+poolID+`"}`)
	send(t, p, "PUT /resource_providers/"+poolID+"/inventories",
		`{"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 7}}}`)
	send(t, p, "PUT /resource_providers/"+poolID+"/traits",
		`{"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}`)
	send(t, p, "PUT /resource_providers/"+poolID+"/aggregates",
		`{"resource_provider_generation": 2, "aggregates": ["`+groupID+`"]}`)
	send(t, p, "PUT /resource_providers/"+nodeID+"/aggregates",
		fmt.Sprintf(`{"resource_provider_generation": %d, "aggregates": ["%s"]}`, cur.Providers[0].Generation, groupID))
	h.Devices = nil
	const kept = "the device of cn1_0000:81:00.0 vanished and has allocations: the provider stays, " +
		"with everything reserved, until its servers are moved or deleted; berth audit names them (vanished-device)"
	sync(kept)
	nic = strings.Replace(nic, "[COMPUTE_MANAGED_PCI_DEVICE CUSTOM_FAST] CUSTOM_NIC=2-0",
		"[COMPUTE_MANAGED_PCI_DEVICE CUSTOM_FAST CUSTOM_BERTH_REMOVED] CUSTOM_NIC=2-2", 1)
	tree(root+" CUSTOM_LICENSE=5-0*1", nic)

	// CPUs with allocations cannot leave: nothing changes until they end.
	send(t, p, "PUT /allocations/"+poolID, `{"allocations": {"`+nodeID+`": {"resources": {"VCPU": 1}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
	h.VCPU.Total, h.Disabled = 0, true
	_, err := h.Sync(t.Context(), c, inventory.SyncOptions{})
	const inUse = "consumer " + poolID + " (1 VCPU): the host has no shared CPUs any more"
	if err == nil || !strings.Contains(err.Error(), inUse) {
		t.Errorf("Sync = %v, want %q", err, inUse)
	}
	tree(root+" CUSTOM_LICENSE=5-0*1", nic)
	send(t, p, "DELETE /allocations/"+poolID, "")
	sync(kept)
	root = strings.Replace(root, "COMPUTE_NODE ", "COMPUTE_NODE COMPUTE_STATUS_DISABLED ", 1) + " CUSTOM_LICENSE=5-0*1"
	tree(strings.Replace(root, " VCPU=8-0*4", "", 1), nic)
}

// send sends a request past a proxy, which has to succeed, and returns the answer.
func send(t *testing.T, p *clienttest.Proxy, call, body string) []byte {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, strings.NewReader(body))
	clienttest.Must(t, call, err)
	for name, value := range map[string]string{
		"X-Auth-Token": client.NoAuth, "OpenStack-API-Version": "placement 1.39", "Content-Type": "application/json",
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	clienttest.Must(t, call, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	clienttest.Must(t, call, err)
	if res.StatusCode > 299 {
		t.Fatalf("%s: %s: %s", call, res.Status, answer)
	}
	return answer
}

// Others change the tree at each request of a sync: it begins again, and ends well.
func TestSyncAmongOthers(t *testing.T) {
	for nth := 1; ; nth++ {
		p := clienttest.NewProxy(t, clienttest.Berth(t))
		c := placementclient.NewCompute(clienttest.Options(t, p.URL))
		h := newHost(t)
		n := 0
		p.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if n++; n == nth && r.URL.Path != "/" {
				p.Intercept(nil)
				other := placementclient.NewCompute(clienttest.Options(t, p.URL))
				defer other.Close()
				_, err := newHost(t).Sync(t.Context(), other, inventory.SyncOptions{})
				clienttest.Must(t, "the other's Sync", err)
			}
			return false
		})
		_, err := h.Sync(t.Context(), c, inventory.SyncOptions{})
		clienttest.Must(t, fmt.Sprint("Sync, with another one at request ", nth), err)
		cur, err := c.Tree(t.Context(), nodeID, nil)
		clienttest.Must(t, "Tree", err)
		if plan, err := h.Plan(cur); err != nil || !plan.Empty() {
			t.Errorf("with another one at request %d there is still to do: %+v, %v", nth, plan, err)
		}
		c.Close()
		if n < nth {
			return
		}
	}
}
