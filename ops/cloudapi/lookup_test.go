package cloudapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// named are answers to what searches for things by their ids and names.
func named() map[string]string {
	const flavor = `{"id": "1", "name": "m1", "vcpus": 2, "ram": 512, "disk": 1, "OS-FLV-EXT-DATA:ephemeral": 3, ` +
		`"swap": %s, "extra_specs": {"trait:HW": "required"}}`
	const port = `{"id": "p1", "name": "fast", "network_id": "n1", "binding:vnic_type": "direct", "fixed_ips": [{"subnet_id": "sub1"}, {"subnet_id": "sub2"}],
		"resource_request": {"request_groups": [{"id": "g1", "required": ["CUSTOM_PHYSNET_0"], "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5}}]}}`
	const network = `{"id": "n1", "name": "net", "provider:network_type": "vlan", ` +
		`"provider:physical_network": "physnet0", "qos_policy_id": "q1"}`
	const image = `{"id": "i1", "name": "debian", "disk_format": "raw", "size": 7, "hw_disk_bus": "scsi", ` +
		`"trait:HW_CPU_X86_VMX": "required"}`
	return map[string]string{
		"/v2.1/flavors/1": `{"flavor": ` + fmt.Sprintf(flavor, `""`) + `}`,
		"/v2.1/flavors/detail?is_public=None&limit=1000": `{"flavors": [{"id": "2", "name": "twice"}, ` +
			fmt.Sprintf(flavor, "512") + `, {"id": "3", "name": "twice"}]}`,
		"/v2.1/os-server-groups/gr1": `{"server_group": {"id": "gr1", "name": "apart", ` +
			`"policy": "anti-affinity", "rules": {"max_server_per_host": 2}, "members": ["vm1"]}}`,
		"/v2.1/servers/vm1":                    `{"server": {"id": "vm1", "server_groups": ["gr1"]}}`,
		"/v2.1/servers/vm2":                    `{"server": {"id": "vm2", "server_groups": []}}`,
		"/v2.1/flavors/denied":                 "",
		"/v2.0/ports/p1":                       `{"port": ` + port + `}`,
		"/v2.0/ports/p2":                       `{"port": {"id": "p2", "qos_policy_id": "q1"}}`,
		"/v2.0/ports?limit=1000&name=fast":     `{"ports": [` + port + `]}`,
		"/v2.0/ports?limit=1000&name=none":     `{"ports": []}`,
		"/v2.0/networks/n1":                    `{"network": ` + network + `}`,
		"/v2.0/networks?limit=1000&name=net":   `{"networks": [` + network + `]}`,
		"/v2.0/networks?limit=1000&name=twice": `{"networks": [` + network + `, {"id": "n2"}]}`,
		"/v2.0/qos/policies/q1": `{"policy": {"id": "q1", "name": "gold", "rules": [{"id": "r1", ` +
			`"type": "minimum_bandwidth", "direction": "egress", "min_kbps": 5}, {"id": "r2", "type": "bandwidth_limit"}]}}`,
		"/v2.0/subnets?limit=1000&network_id=n1": `{"subnets": [{"id": "sub1", "segment_id": "seg1"}, ` +
			`{"id": "sub2", "segment_id": "seg2"}, {"id": "sub3", "segment_id": "seg1"}, {"id": "sub4", "segment_id": null}]}`,
		"/v2.0/subnets?id=sub2&limit=1000":                `{"subnets": [{"id": "sub2", "segment_id": "seg2"}]}`,
		"/v2/images/i1":                                   image,
		"/v2/images?limit=1000&name=debian":               `{"images": [` + image + `]}`,
		"/v2/images?limit=1000&name=none":                 `{"images": []}`,
		"/v2.1/servers/s17/os-instance-actions/req-1":     `{"instanceAction": {}}`,
		"/v2.1/servers/s0/os-instance-actions/req-denied": "",
	}
}

// finding returns a lookup of a word.
func finding[T any](find func(context.Context, string) (T, error), word string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return find(ctx, word) }
}

// Things are found by id, and by name where that is unique; what is not found, or more than one, is
// an error that says so.
func TestLookups(t *testing.T) {
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, named()), nil)})
	if err != nil {
		t.Fatal(err)
	}
	flavor := cloud.Flavor{
		Name: "m1", VCPUs: 2, RAM: 512, Disk: 1, Ephemeral: 3, Specs: map[string]string{"trait:HW": "required"},
	}
	swapping := flavor
	swapping.Swap = 512
	image := cloud.Image{
		UUID: "i1", Name: "debian", DiskFormat: "raw",
		Properties: map[string]string{"hw_disk_bus": "scsi", "trait:HW_CPU_X86_VMX": "required"},
	}
	port := cloud.Port{
		UUID: "p1", Name: "fast", Network: "n1", Subnet: "sub1", VNIC: "direct",
		Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{
			ID: "g1", Required: []string{"CUSTOM_PHYSNET_0"}, Resources: map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": 5},
		}}},
	}
	network := cloud.NetworkOf{UUID: "n1", Name: "net", Type: "vlan", Physical: "physnet0", Policy: "q1"}
	group := cloud.ServerGroup{UUID: "gr1", Name: "apart", Policy: "anti-affinity", Members: []string{"vm1"}}
	group.Rules.MaxPerHost = 2
	segments := func(network, subnet string) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) { return client.Segments(ctx, network, subnet) }
	}
	for name, tc := range map[string]struct {
		find func(context.Context) (any, error)
		want any
		err  string // part of it
	}{
		"FlavorByID":   {finding(client.Flavor, "1"), flavor, ""},
		"FlavorByName": {finding(client.Flavor, "m1"), swapping, ""},
		"FlavorTwice":  {finding(client.Flavor, "twice"), nil, `2 flavors have the name "twice"; take the id of one`},
		"NoFlavor":     {finding(client.Flavor, "m9"), nil, `there is no flavor with the id or name "m9"`},
		"FlavorDenied": {finding(client.Flavor, "denied"), nil, "403 Forbidden"},
		"ImageByID":    {finding(client.Image, "i1"), image, ""},
		"ImageByName":  {finding(client.Image, "debian"), image, ""},
		"NoImage":      {finding(client.Image, "none"), nil, `there is no image with the id or name "none"`},
		"PortByID":     {finding(client.Port, "p1"), port, ""},
		"PortByName":   {finding(client.Port, "fast"), port, ""},
		"PortHidden": {
			finding(client.Port, "p2"), nil,
			"the network service does not show this user what port p2 requests; take an administrator",
		},
		"NoPort":        {finding(client.Port, "none"), nil, `there is no port with the id or name "none"`},
		"NetworkByID":   {finding(client.Network, "n1"), network, ""},
		"NetworkByName": {finding(client.Network, "net"), network, ""},
		"NetworkTwice":  {finding(client.Network, "twice"), nil, `2 networks have the name "twice"`},
		"Policy": {finding(client.Policy, "q1"), cloud.QoSPolicy{
			UUID: "q1", Name: "gold",
			Rules: []cloud.QoSRule{{UUID: "r1", Type: "minimum_bandwidth", Direction: "egress", MinKbps: 5}},
		}, ""},
		"NoPolicy":       {finding(client.Policy, "q2"), nil, "404 Not Found"},
		"Group":          {finding(client.Group, "gr1"), group, ""},
		"NoGroup":        {finding(client.Group, "gr2"), nil, `there is no server group with the id "gr2"`},
		"GroupOfServer":  {finding(client.GroupOf, "vm1"), "gr1", ""},
		"ServerAlone":    {finding(client.GroupOf, "vm2"), "", ""},
		"Segments":       {segments("n1", ""), []string{"seg1", "seg2"}, ""},
		"SegmentOfPort":  {segments("n1", "sub2"), []string{"seg2"}, ""},
		"SegmentsDenied": {segments("n2", ""), nil, "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.find(t.Context())
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("the error is %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := client.Project(); got != "p1" {
		t.Errorf("the project is %q", got)
	}
}

// The server of a request is found among many, several at a time and no more than the bound; a
// refusal is an error.
func TestServerOfRequest(t *testing.T) {
	var current, most atomic.Int64
	several := make(chan struct{})
	var once sync.Once
	url := stackWith(t, named(), func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/os-instance-actions/") {
			n := current.Add(1)
			defer current.Add(-1)
			for prev := most.Load(); n > prev && !most.CompareAndSwap(prev, n); prev = most.Load() {
			}
			if n > 1 {
				once.Do(func() { close(several) })
			}
			select {
			case <-several: // the first one waits for a second
			case <-r.Context().Done():
			}
		}
		return false
	})
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(url, nil)})
	if err != nil {
		t.Fatal(err)
	}
	servers := make([]string, 40)
	for i := range servers {
		servers[i] = fmt.Sprintf("s%d", i)
	}
	for request, want := range map[string]string{"req-1": "s17", "req-2": ""} {
		count := 0
		got, err := client.ServerOfRequest(t.Context(), servers, request, func(_ string, done, total int) {
			if count++; total != 40 || done != count {
				t.Errorf("%d of %d are read", done, total)
			}
		})
		if err != nil || got != want || want == "" && count != 40 {
			t.Errorf("%s is of the server %q after %d, %v; want %q", request, got, count, err, want)
		}
	}
	if n := most.Load(); n < 2 || n > 16 {
		t.Errorf("%d requests were sent at a time", n)
	}
	if _, err := client.ServerOfRequest(t.Context(), servers, "req-denied", nil); err == nil ||
		!strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("what may not be read: %v", err)
	}
}

// Names for shells are searched for where a service can search, and those of the pages before one
// that fails are there.
func TestNames(t *testing.T) {
	answers := named()
	answers["/v2.1/servers?all_tenants=1&limit=1000&name=%5Eweb%5C.1"] = `{"servers": [{"id": "vm1", "name": "web.1"}], ` +
		`"servers_links": [{"rel": "next"}]}`
	answers["/v2.1/servers?all_tenants=1&limit=1000&marker=vm1&name=%5Eweb%5C.1"] = ""
	answers["/v2.0/ports?fields=id&fields=name&limit=1000"] = `{"ports": [{"id": "p1", "name": ""}]}`
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(stack(t, answers), nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind, begun string
		want        []cloudapi.Named
		err         string
	}{
		{cloudapi.Servers, "web.1", []cloudapi.Named{{ID: "vm1", Name: "web.1"}}, "403 Forbidden"},
		{cloudapi.Ports, "x", []cloudapi.Named{{ID: "p1"}}, ""},
		{cloudapi.Hosts, "", []cloudapi.Named{
			{ID: "00000000-0000-4000-8000-000000000001", Name: "shared"},
			{ID: "00000000-0000-4000-8000-000000000002", Name: "cn1"},
		}, ""},
	} {
		got, err := client.Names(t.Context(), tc.kind, tc.begun)
		slices.SortFunc(got, func(a, b cloudapi.Named) int { return strings.Compare(a.ID, b.ID) })
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.err == "") ||
			err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v (-want +got):\n%s", tc.kind, err, diff)
		}
	}
}
