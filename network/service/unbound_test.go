package service_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
)

// A port that cannot be bound has a reason, for the caller and in the log: what its host, or the
// agent there, lacks. One that can be bound has none.
func TestWhyUnbound(t *testing.T) {
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log bytes.Buffer
	set := network.DefaultSettings()
	set.Drivers = []guarantee.Driver{guarantee.OpenVSwitch, guarantee.SRIOV}
	set.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 9}}}
	s := service.New(newStore(t), set, service.Peers{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.SetClock(func() time.Time { return clock })
	beat := func(host string, d guarantee.Driver, configurations string) {
		_, _, err := s.Beat(t.Context(),
			agents.Heartbeat{Type: d.AgentType, Host: host, Configurations: []byte(configurations)})
		if err != nil {
			t.Fatal(err)
		}
	}
	beat("silent", guarantee.OpenVSwitch, `{"bridge_mappings": {"physnet0": "br0"}}`)
	clock = clock.Add(time.Hour)
	beat("flat", guarantee.OpenVSwitch, `{"bridge_mappings": {"physnet0": "br0"}}`)
	beat("card", guarantee.SRIOV, `{"device_mappings": {"physnet0": ["ens5"]}}`)
	beat("good", guarantee.OpenVSwitch, `{"tunnel_types": ["gre", "vxlan"]}`)
	nets, err := s.CreateNetworks(t.Context(), []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true},
		Segments:   []topology.SegmentSpec{{Type: network.VXLAN, SegmentationID: 5}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ host, vnic, profile, want string }{
		{"good", "normal", "{}", ""},
		{"nobody", "normal", "{}", "driver openvswitch: host nobody has no Open vSwitch agent"},
		{"card", "normal", "{}", "driver openvswitch: host card has no Open vSwitch agent"},
		{
			"silent", "normal", "{}",
			"driver openvswitch: the Open vSwitch agent of host silent has not reported since 2026-01-02T03:04:05Z",
		},
		{"flat", "normal", "{}", "driver openvswitch: the network is vxlan, and the Open vSwitch agent of host flat " +
			"reaches the physical networks [physnet0] and tunnels of the types []"},
		{"card", "direct", "{}", "driver openvswitch: it binds direct ports with the capability switchdev only; " +
			"driver sriovnicswitch: the network is vxlan, and the NIC Switch agent of host card reaches the physical networks " +
			"[physnet0] and tunnels of the types []"},
		{
			"card", "direct-physical", "{}",
			"driver sriovnicswitch: the network is vxlan, and NICs reach vlan and flat networks only",
		},
		{"good", "vdpa", "{}", "none of the drivers (openvswitch, sriovnicswitch) binds ports of VNIC type vdpa"},
		{
			"good", "normal", `{"allocation": {"` + hostID + `": "` + hostID + `"}}`,
			"no driver's agents on the host have all providers of the allocation",
		},
		{"good", "normal", `{"allocation": 7}`, "the allocation in binding:profile is of an unknown form"},
	} {
		log.Reset()
		created, err := s.CreatePorts(t.Context(), []ports.Spec{{
			PortRow: network.PortRow{
				Common:  network.Common{Project: "p"},
				Network: nets[0].ID,
			}, VNIC: test.vnic, Host: test.host, Profile: []byte(test.profile),
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.WhyUnbound(t.Context(), created[0].ID, "")
		if err != nil || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("a %s port on %s with %s: %q, %v, want %q", test.vnic, test.host, test.profile, got, err,
				test.want)
		}
		if logged := strings.Contains(log.String(), "a port cannot be bound"); logged != (test.want != "") ||
			logged && !strings.Contains(log.String(), test.want) {
			t.Errorf("a %s port on %s with %s: the log says %q, want %q", test.vnic, test.host, test.profile,
				log.String(), test.want)
		}
	}
	if _, err := s.WhyUnbound(t.Context(), "nobody", ""); err == nil {
		t.Error("a port that there is not has a reason")
	}
}
