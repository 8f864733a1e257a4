package neutronclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// A wireBinding is a binding in Neutron's answers.
type wireBinding struct {
	Host    string          `json:"host"`
	Profile json.RawMessage `json:"profile"`
	Status  string          `json:"status"`
	Details map[string]any  `json:"vif_details"`
	VIF     string          `json:"vif_type"`
	VNIC    string          `json:"vnic_type"`
}

// moving answers as Neutron does about the bindings of a port of a server, which is on cn1. It
// cannot be bound to the host "nowhere". The answers are those of
// conformance/neutron/testdata/port_bindings.txt.
func moving(t *testing.T) (*clienttest.Proxy, *neutronclient.Client) {
	t.Helper()
	p, n := neutron(t, "null")
	read, err := n.Port(t.Context(), clienttest.OtherID)
	clienttest.Must(t, "Port", err)
	_, err = n.BindPort(t.Context(), read, compute.Binding{
		Server: clienttest.ServerID, Owner: "compute:nova", Host: "cn1",
	})
	clienttest.Must(t, "BindPort", err)
	p.Requests()
	all := map[string]*wireBinding{"cn1": {
		Host: "cn1", Profile: json.RawMessage(`{"theirs":1}`), Status: "ACTIVE", VIF: "hw_veb", VNIC: "direct",
	}}
	refuse := func(w http.ResponseWriter, status int, kind, text, host string) bool {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"NeutronError": {"type": %q, "message": %q, "detail": ""}}`, kind,
			fmt.Sprintf(text, clienttest.OtherID, host))
		return true
	}
	reply := func(w http.ResponseWriter, status int, v any) bool {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // to the client
		return true
	}
	p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		rest, ok := strings.CutPrefix(r.URL.Path, "/v2.0/ports/"+clienttest.OtherID+"/bindings")
		if !ok {
			return false
		}
		host, activate := strings.CutSuffix(strings.TrimPrefix(rest, "/"), "/activate")
		one := all[host]
		var body struct{ Binding wireBinding }
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Errorf("reading a body: %v", err)
			}
			host = body.Binding.Host
			one = all[host]
		}
		switch {
		case r.Method == http.MethodPost && one != nil:
			return refuse(w, http.StatusConflict, "PortBindingAlreadyExists", "Binding for port %s on host %s already exists.",
				host)
		case r.Method == http.MethodPost && host == "nowhere":
			return refuse(w, http.StatusInternalServerError, "PortBindingError",
				"Binding for port %s on host %s could not be created or updated.", host)
		case r.Method == http.MethodPost:
			one = &body.Binding
			one.Status, one.VIF, one.Details = "INACTIVE", "hw_veb", map[string]any{"vlan": "100"}
			all[host] = one
			return reply(w, http.StatusCreated, map[string]any{"binding": one})
		case one == nil && r.Method != http.MethodDelete:
			return refuse(w, http.StatusNotFound, "PortBindingNotFound", "Binding for port %s for host %s could not be found.",
				host)
		case activate && one.Status == "ACTIVE":
			return refuse(w, http.StatusConflict, "PortBindingAlreadyActive",
				"Binding for port %s on host %s is already active.", host)
		case activate:
			for _, b := range all {
				if b.Status == "ACTIVE" {
					b.Status, b.VIF, b.Details = "INACTIVE", "unbound", nil
				}
			}
			one.Status = "ACTIVE"
			return reply(w, http.StatusOK, one)
		case r.Method == http.MethodDelete:
			delete(all, host)
			w.WriteHeader(http.StatusNoContent)
			return true
		}
		return reply(w, http.StatusOK, map[string]any{"binding": one})
	})
	return p, n
}

// TestBindingsOfMoves goes through a move of a port to cn2, with each call twice.
func TestBindingsOfMoves(t *testing.T) {
	p, n := moving(t)
	provider, err := guarantee.ParseUUID(clienttest.DeviceID)
	clienttest.Must(t, "ParseUUID", err)
	existing := compute.Binding{
		Server: clienttest.ServerID, Host: "cn2", Allocation: guarantee.ProfileAllocation{Old: provider},
		Device: &compute.Device{Slot: "0000:07:00.3", Vendor: "8086:154c", PhysicalNetwork: "physnet0"},
	}
	want := compute.PortBinding{
		Host: "cn2", VNIC: "direct", VIF: "hw_veb", Allocation: existing.Allocation, Slot: "0000:07:00.3",
	}
	for range 2 {
		got, err := n.CreateBinding(t.Context(), clienttest.OtherID, existing)
		clienttest.Must(t, "CreateBinding", err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CreateBinding (-want +got):\n%s", diff)
		}
	}
	var wrote []string
	for _, s := range p.Requests() {
		if strings.HasPrefix(s.Call, "POST ") {
			wrote = append(wrote, s.Body)
		}
	}
	body := fmt.Sprintf(
		`{"binding":{"host":"cn2","profile":{"allocation":%q,"pci_slot":"0000:07:00.3","pci_vendor_info":"8086:154c",`+
			`"physical_network":"physnet0","theirs":1},"vnic_type":"direct"}}`, clienttest.DeviceID)
	if diff := cmp.Diff([]string{body, body}, wrote); diff != "" {
		t.Errorf("it wrote (-want +got):\n%s", diff)
	}
	clienttest.WantIs(t, "DeleteBinding of the active one", n.DeleteBinding(t.Context(), clienttest.OtherID, "cn1"),
		compute.ErrBindingActive)
	for range 2 {
		got, err := n.ActivateBinding(t.Context(), clienttest.OtherID, "cn2")
		clienttest.Must(t, "ActivateBinding", err)
		if got.ID != clienttest.OtherID || got.NetworkName != "net0" {
			t.Errorf("ActivateBinding returns %+v", got)
		}
	}
	got, err := n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{Server: clienttest.ServerID, Host: "cn2"})
	clienttest.Must(t, "CreateBinding where it is active", err)
	if want.Active = true; !cmp.Equal(want, got) {
		t.Errorf("CreateBinding where it is active returns %+v", got)
	}
	for range 2 {
		clienttest.Must(t, "DeleteBinding", n.DeleteBinding(t.Context(), clienttest.OtherID, "cn1"))
	}
	_, err = n.ActivateBinding(t.Context(), clienttest.OtherID, "cn1")
	clienttest.WantIs(t, "ActivateBinding of one that is gone", err, compute.ErrNoBinding)
}

// TestBindingsThatWereLeft: a binding with another profile, or one that is not bound any more, is
// made again. Neutron would not bind it again.
func TestBindingsThatWereLeft(t *testing.T) {
	p, n := moving(t)
	back := compute.Binding{Server: clienttest.ServerID, Host: "cn2", Device: &compute.Device{Slot: "0000:07:00.3"}}
	_, err := n.CreateBinding(t.Context(), clienttest.OtherID, back)
	clienttest.Must(t, "CreateBinding", err)
	back.Device.Slot = "0000:07:00.4"
	got, err := n.CreateBinding(t.Context(), clienttest.OtherID, back)
	clienttest.Must(t, "CreateBinding", err)
	if got.Slot != "0000:07:00.4" || got.VIF != "hw_veb" {
		t.Errorf("the binding with another device is %+v", got)
	}
	_, err = n.ActivateBinding(t.Context(), clienttest.OtherID, "cn2")
	clienttest.Must(t, "ActivateBinding", err)
	got, err = n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{Server: clienttest.ServerID, Host: "cn1"})
	clienttest.Must(t, "CreateBinding", err)
	if got.Active || got.VIF != "hw_veb" {
		t.Errorf("the binding to go back is %+v", got)
	}
	if n := clienttest.Count(p.Requests(), "DELETE "); n != 2 {
		t.Errorf("it has removed %d bindings, want 2", n)
	}
}

// TestBindingsThatFail distinguishes the ways in which a port cannot be bound to a second host.
func TestBindingsThatFail(t *testing.T) {
	p, n := moving(t)
	got, err := n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{
		Server: clienttest.ServerID, Host: "nowhere",
	})
	clienttest.Must(t, "CreateBinding", err)
	if !got.Failed() || got.Active || got.Host != "nowhere" {
		t.Errorf("the binding that failed is %+v", got)
	}
	_, err = n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{Server: clienttest.OtherID, Host: "cn2"})
	clienttest.WantKind(t, "CreateBinding of another server", err, fault.Conflict)
	_, err = n.CreateBinding(t.Context(), clienttest.NoneID, compute.Binding{Server: clienttest.ServerID, Host: "cn2"})
	clienttest.WantIs(t, "CreateBinding", err, compute.ErrNoPort)
	_, err = n.ActivateBinding(t.Context(), clienttest.NoneID, "cn2")
	clienttest.WantIs(t, "ActivateBinding", err, compute.ErrNoPort)
	clienttest.Must(t, "DeleteBinding", n.DeleteBinding(t.Context(), clienttest.NoneID, "cn2"))
	p.Requests()
	posts := func(status int, body string) error {
		p.Answer(http.MethodPost, 1, status, body)
		_, err := n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{Server: clienttest.ServerID, Host: "cn2"})
		return err
	}
	clienttest.WantIs(t, "CreateBinding for another request", posts(http.StatusConflict,
		`{"NeutronError": {"type": "ResourceRequestChanged", "message": "m", "detail": ""}}`), compute.ErrPortChanged)
	clienttest.WantKind(t, "CreateBinding without the service", posts(http.StatusServiceUnavailable, ""),
		fault.Unavailable)
	clienttest.WantKind(t, "CreateBinding without the extension", posts(http.StatusNotFound, ""), fault.Unavailable)
	p.Cut(http.MethodPost, 2)
	_, err = n.CreateBinding(t.Context(), clienttest.OtherID, compute.Binding{Server: clienttest.ServerID, Host: "cn2"})
	clienttest.WantKind(t, "CreateBinding without an answer", err, fault.Unavailable)
	if n := clienttest.Count(p.Requests(), "POST "); n != 4 {
		t.Errorf("it sent %d requests, want each once", n)
	}
}
