package neutronclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/compute"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// neutron answers as Neutron does about one port, and stores what is written to it.
func neutron(t *testing.T, request string) (*clienttest.Proxy, *neutronclient.Client) {
	t.Helper()
	port, revision := map[string]json.RawMessage{}, 7
	begin := `{"id": "` + clienttest.OtherID + `", "network_id": "n", "tenant_id": "blue", "device_id": "", "mac_address": "fa:16:3e:00:00:01", "status": "DOWN",
		"fixed_ips": [{"ip_address": "10.0.0.2", "subnet_id": "s"}], "ip_allocation": "immediate", "binding:vnic_type": "direct", "binding:vif_type": "unbound",
		"binding:host_id": "", "binding:profile": {"theirs": 1, "pci_slot": "old"}, "resource_request": ` + request + `,
		"numa_affinity_policy": "socket"}`
	if err := json.Unmarshal([]byte(begin), &port); err != nil {
		t.Fatal(err)
	}
	p := clienttest.NewProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v2.0/networks"):
			_, _ = io.WriteString(w,
				`{"networks": [{"id": "n", "name": "net0", "subnets": ["s"], "provider:physical_network": "physnet0"}]}`)
			return
		case strings.HasPrefix(r.URL.Path, "/v2.0/subnets"):
			_, _ = io.WriteString(w, `{"subnets": [{"id": "s", "cidr": "10.0.0.0/24"}]}`)
			return
		case !strings.HasSuffix(r.URL.Path, clienttest.OtherID):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w,
				`{"NeutronError": {"type": "PortNotFound", "message": "Port x could not be found.", "detail": ""}}`)
			return
		case r.Method == http.MethodPut:
			var body struct{ Port map[string]json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Errorf("reading a body: %v", err)
			}
			if want := r.Header.Get("If-Match"); want != "" && want != fmt.Sprintf("revision_number=%d", revision) {
				w.WriteHeader(http.StatusPreconditionFailed)
				_, _ = io.WriteString(w,
					`{"NeutronError": {"type": "RevisionNumberConstraintFailed", "message": "Constrained", "detail": ""}}`)
				return
			}
			for key, v := range body.Port {
				port[key] = v
			}
			revision++
		}
		port["revision_number"] = json.RawMessage(strconv.Itoa(revision))
		text, _ := json.Marshal(map[string]any{"port": port}) // it was JSON
		_, _ = w.Write(text)
	}))
	n := neutronclient.New(clienttest.Options(t, p.URL))
	t.Cleanup(n.Close)
	return p, n
}

// A port's request is read in either format, with a choice of traits or without.
func TestPortRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		request string
		want    computerequest.Port
	}{
		"None": {"null", computerequest.Port{}},
		"Old": {`{"required": ["CUSTOM_A"], "resources": {"NET": 7}}`, computerequest.Port{
			LegacyFormat: true, Groups: []computerequest.Group{
				{ID: clienttest.OtherID, Resources: map[string]int64{"NET": 7}, Required: []string{"CUSTOM_A"}},
			},
		}},
		"Groups": {
			`{"request_groups": [{"id": "g", "required": ["CUSTOM_A", ["CUSTOM_B", "CUSTOM_C"]], "resources": {"NET": 7}}], ` +
				`"same_subtree": ["g"]}`,
			computerequest.Port{SameSubtree: []string{"g"}, Groups: []computerequest.Group{
				{
					ID: "g", Resources: map[string]int64{"NET": 7}, Required: []string{"CUSTOM_A"},
					AnyOf: []string{"CUSTOM_B", "CUSTOM_C"},
				},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, n := neutron(t, tc.request)
			got, err := n.Port(t.Context(), clienttest.OtherID)
			clienttest.Must(t, "Port", err)
			tc.want.ID, tc.want.VNIC, tc.want.NUMAPolicy = clienttest.OtherID, "direct", "socket"
			if diff := cmp.Diff(tc.want, got.ResourceRequest); diff != "" {
				t.Errorf("it requests (-want +got):\n%s", diff)
			}
			if got.NetworkName != "net0" || got.PhysicalNetwork != "physnet0" ||
				got.Addresses[0] != (compute.Address{IP: "10.0.0.2", Subnet: "s", Prefix: 24}) || got.Slot != "old" {
				t.Errorf("the port is %+v", got)
			}
		})
	}
}

// Binding a port replaces compute's keys of its profile, unbinding removes them, and both leave
// other keys unchanged.
func TestPortsAreBound(t *testing.T) {
	p, n := neutron(t, "null")
	provider, err := guarantee.ParseUUID(clienttest.DeviceID)
	clienttest.Must(t, "ParseUUID", err)
	read, err := n.Port(t.Context(), clienttest.OtherID)
	clienttest.Must(t, "Port", err)
	p.Requests()
	bound, err := n.BindPort(t.Context(), read, compute.Binding{
		Server: clienttest.ServerID, Owner: "compute:nova", Host: "cn1",
		Allocation: guarantee.ProfileAllocation{Old: provider},
		Device:     &compute.Device{Slot: "new", Vendor: "8086:154c", PhysicalNetwork: "physnet0"},
	})
	clienttest.Must(t, "BindPort", err)
	if bound.NetworkName != "net0" || bound.PhysicalNetwork != "physnet0" || len(bound.Addresses) != 1 ||
		bound.Addresses[0].Prefix != 24 {
		t.Errorf("the port's network is %+v", bound)
	}
	if bound.Server != clienttest.ServerID || bound.Host != "cn1" || bound.Slot != "new" ||
		bound.Allocation.Old != provider {
		t.Errorf("the port is %+v", bound)
	}
	_, err = n.BindPort(t.Context(), read, compute.Binding{Server: clienttest.ServerID, Host: "cn2"})
	clienttest.WantIs(t, "BindPort of one that was read before", err, compute.ErrRevision)
	_, err = n.BindPort(t.Context(), bound, compute.Binding{Server: clienttest.OtherID})
	clienttest.WantKind(t, "BindPort of another server", err, fault.Conflict)
	_, err = n.UnbindPort(t.Context(), clienttest.OtherID, clienttest.OtherID, 0)
	clienttest.WantKind(t, "UnbindPort of another server", err, fault.Conflict)
	_, err = n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.OtherID, bound.Revision+1)
	clienttest.WantIs(t, "UnbindPort of another revision", err, compute.ErrRevision)
	for range 2 {
		cur, err := n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.OtherID, 0)
		clienttest.Must(t, "UnbindPort", err)
		if cur.Server != "" || cur.Host != "" || !cur.Allocation.Empty() {
			t.Errorf("the port is %+v", cur)
		}
	}
	var wrote []string
	all := p.Requests()
	if got := []string{all[0].Call[:4], all[1].Call[:4]}; got[0] != "PUT " || got[1] != "PUT " {
		t.Errorf("BindPort requests %s and %s, want it to get what was read", all[0].Call, all[1].Call)
	}
	if n := clienttest.Count(all, "GET /v2.0/networks?"); n != 2 {
		t.Errorf("it read the network %d times, want once for each UnbindPort", n)
	}
	for _, s := range all {
		if strings.HasPrefix(s.Call, "PUT ") {
			wrote = append(wrote, s.Body)
		}
	}
	// The binding to cn2 was refused.
	wrote = slices.DeleteFunc(wrote, func(body string) bool { return strings.Contains(body, `"cn2"`) })
	want := []string{
		fmt.Sprintf(`{"port":{"binding:host_id":"cn1","binding:profile":{"allocation":%q,"pci_slot":"new",`+
			`"pci_vendor_info":"8086:154c",`+
			`"physical_network":"physnet0","theirs":1},"device_id":%q,"device_owner":"compute:nova"}}`, clienttest.DeviceID,
			clienttest.ServerID),
		`{"port":{"binding:host_id":null,"binding:profile":{"theirs":1},"device_id":"","device_owner":""}}`,
	}
	if diff := cmp.Diff(want, wrote); diff != "" {
		t.Errorf("it wrote (-want +got):\n%s", diff)
	}
}

// TestUnbindingIsConditional: a port is unbound at the revision at which it was read, by a request
// that is not retried: the caller must know whether its own request has unbound it.
func TestUnbindingIsConditional(t *testing.T) {
	p, n := neutron(t, "null")
	read, err := n.Port(t.Context(), clienttest.OtherID)
	clienttest.Must(t, "Port", err)
	bound, err := n.BindPort(t.Context(), read, compute.Binding{
		Server: clienttest.ServerID, Owner: "compute:nova", Host: "cn1",
	})
	clienttest.Must(t, "BindPort", err)
	var puts, answer atomic.Int32
	answer.Store(http.StatusServiceUnavailable)
	p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		if puts.Add(1); r.Header.Get("If-Match") != fmt.Sprintf("revision_number=%d", bound.Revision) {
			t.Errorf("it sends If-Match: %s, and the revision is %d", r.Header.Get("If-Match"), bound.Revision)
		}
		status := int(answer.Load())
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		return true
	})
	_, err = n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.OtherID, bound.Revision)
	clienttest.WantKind(t, "UnbindPort without the service", err, fault.Unavailable)
	answer.Store(0)
	_, err = n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.OtherID, bound.Revision)
	clienttest.WantKind(t, "UnbindPort without an answer", err, fault.Unavailable)
	if n := puts.Load(); n != 2 {
		t.Errorf("it sent %d requests, want 2", n)
	}
	answer.Store(http.StatusPreconditionFailed) // another client has changed it since it was read
	_, err = n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.OtherID, 0)
	clienttest.WantIs(t, "UnbindPort of a port that changes", err, compute.ErrRevision)
}

// TestPortsThatAreNotThere distinguishes a missing port from an unavailable service.
func TestPortsThatAreNotThere(t *testing.T) {
	_, n := neutron(t, "null")
	_, err := n.Port(t.Context(), clienttest.NoneID)
	clienttest.WantIs(t, "Port", err, compute.ErrNoPort)
	_, err = n.UnbindPort(t.Context(), clienttest.ServerID, clienttest.NoneID, 0)
	clienttest.WantIs(t, "UnbindPort", err, compute.ErrNoPort)
	clienttest.Must(t, "DeletePort", n.DeletePort(t.Context(), clienttest.NoneID))
	nothing := clienttest.NewProxy(t, http.NotFoundHandler())
	elsewhere := neutronclient.New(clienttest.Options(t, nothing.URL))
	defer elsewhere.Close()
	_, err = elsewhere.Port(t.Context(), clienttest.OtherID)
	clienttest.WantKind(t, "Port of a service at another address", err, fault.Unavailable)
	clienttest.WantKind(t, "DeletePort of a service at another address",
		elsewhere.DeletePort(t.Context(), clienttest.OtherID), fault.Unavailable)
}

// Neutron has no request to settle, and nothing that would have to be.
func TestNothingIsToSettleInNeutron(t *testing.T) {
	for status, fails := range map[int]bool{
		http.StatusNotFound: false, http.StatusConflict: true, http.StatusServiceUnavailable: true,
	} {
		p, n := neutron(t, "null")
		p.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			return true
		})
		if err := n.Settle(t.Context(), "vm"); (err != nil) != fails {
			t.Errorf("after an answer %d the error is %v", status, err)
		}
		if n := clienttest.Count(p.Requests(), "POST /berth/v1/servers/vm/settle"); n != 1 {
			t.Errorf("%d requests were sent", n)
		}
	}
}
