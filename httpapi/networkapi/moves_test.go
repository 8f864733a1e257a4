package networkapi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/network"
)

// TestComputeMovesPorts goes through a live migration with compute's client.
func TestComputeMovesPorts(t *testing.T) {
	const server, migration = "5e57b85f-b017-419a-8745-9c406e149f9e", "0b4e54e7-0f2d-4bd5-a372-6a2b4b2a2c9b"
	s := newSide(t)
	s.Reset(t)
	c := &cloud{t: t, url: s.URL()}
	id := compute.ID(strings.TrimPrefix(c.allocated(s, server, migration), "/v2.0/ports/"))
	s.Heartbeat(t, neutron.Agent{Kind: neutron.OVS, Host: "h2", Start: true, Configurations: map[string]any{
		"bridge_mappings":               map[string]any{"physnet0": "br0"},
		"integration_bridge":            "br-int",
		"resource_provider_bandwidths":  map[string]any{"br0": map[string]any{"egress": 5000, "ingress": 5000}},
		"resource_provider_hypervisors": map[string]any{"br0": "h2"},
	}})
	access, err := client.Fixed(s.URL(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	n := neutronclient.New(client.Options{Access: access})
	defer n.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	port, err := n.Port(t.Context(), id)
	must(err)
	group, err := guarantee.ParseUUID(port.ResourceRequest.Groups[0].ID)
	must(err)
	existing := guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{
		group: guarantee.Name{Driver: guarantee.OpenVSwitch, Hypervisor: "h2", Device: "br0"}.UUID(),
	}}

	failed, err := n.CreateBinding(t.Context(), id, compute.Binding{Server: server, Host: "nowhere"})
	must(err)
	if want := "driver openvswitch: host nowhere has no Open vSwitch agent"; !failed.Failed() || failed.Reason != want {
		t.Errorf("a binding to a host without an agent is %+v, want the reason %q", failed, want)
	}
	bound, err := n.CreateBinding(t.Context(), id, compute.Binding{
		Server: server, Host: "h2", Allocation: port.Allocation,
	})
	must(err)
	if !bound.Failed() {
		t.Errorf("a binding by the source's providers is %+v", bound)
	}
	for range 2 {
		bound, err = n.CreateBinding(t.Context(), id, compute.Binding{Server: server, Host: "h2", Allocation: existing})
		must(err)
		diff := cmp.Diff(compute.PortBinding{Host: "h2", VNIC: "normal", VIF: "ovs", Allocation: existing}, bound)
		if diff != "" {
			t.Errorf("the binding (-want +got):\n%s", diff)
		}
	}
	stays, err := n.Port(t.Context(), id)
	must(err)
	if stays.Host != "h" || !cmp.Equal(stays.Allocation, port.Allocation) {
		t.Errorf("before it is activated the port is %+v", stays)
	}
	if err := n.DeleteBinding(t.Context(), id, "h"); !errors.Is(err, compute.ErrBindingActive) {
		t.Errorf("DeleteBinding of the active one = %v", err)
	}
	for range 2 {
		moved, err := n.ActivateBinding(t.Context(), id, "h2")
		must(err)
		if moved.Host != "h2" || moved.Status != network.PortDown || moved.Failed() ||
			!cmp.Equal(moved.Allocation, existing) || moved.Revision <= stays.Revision {
			t.Errorf("activated, the port is %+v", moved)
		}
	}
	// Back again, before the binding that was active is removed.
	bound, err = n.CreateBinding(t.Context(), id, compute.Binding{Server: server, Host: "h", Allocation: port.Allocation})
	must(err)
	if bound.Active || bound.VIF != "ovs" {
		t.Errorf("the binding back is %+v", bound)
	}
	for range 2 {
		must(n.DeleteBinding(t.Context(), id, "h"))
	}
	if _, err := n.ActivateBinding(t.Context(), id, "h"); !errors.Is(err, compute.ErrNoBinding) {
		t.Errorf("ActivateBinding of one that is gone = %v", err)
	}
	other := compute.Binding{
		Server: server, Host: "h", Allocation: guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{
			guarantee.OpenVSwitch.Namespace: existing.Groups[group],
		}},
	}
	if _, err := n.CreateBinding(t.Context(), id, other); !errors.Is(err, compute.ErrPortChanged) {
		t.Errorf("CreateBinding for another policy = %v", err)
	}
}
