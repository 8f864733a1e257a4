package service_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// A port whose promise is on a provider of OVN's is bound by the driver ovn, also on a
// host with an Open vSwitch agent; and by another host's chassis not at all.
func TestBindOnOVN(t *testing.T) {
	c := newCloud(t)
	set := network.DefaultSettings()
	set.Drivers = guarantee.Drivers()
	c.service = service.New(c.store, set, service.Peers{Placement: c.placement, Log: logtest.Logger()})
	report := func(host string, root placement.UUID) {
		a, _, err := c.service.Beat(t.Context(), agents.Heartbeat{
			Type: guarantee.OVN.AgentType, Binary: guarantee.OVN.Binary, Host: host, Start: true,
			Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-ex"},
				"resource_provider_bandwidths": {"br-ex": {"egress": 10000000, "ingress": 10000000}},
				"resource_provider_hypervisors": {"br-ex": "` + host + `"}}`),
		})
		c.must(err)
		c.track(a, host, root)
	}
	const otherID = "e37bb3dc-7d06-4a23-8ab8-0cbd1f3a1e21"
	c.must(providertreetest.Set(t.Context(), c.direct, providertree.Provider{ID: otherID, Name: "devstack1"}))
	report(host, hostID)
	report("devstack1", otherID)
	for hypervisor, want := range map[string]struct{ vif, driver, details string }{
		host:        {"ovs", "ovn", `{"connectivity":"l2","port_filter":true}`},
		"devstack1": {network.VIFFailed, "", "{}"},
	} {
		c.provider = guarantee.Name{Driver: guarantee.OVN, Hypervisor: hypervisor, Device: "br-ex"}.UUID().String()
		b := c.look(c.newPort(c.policies["1000"])).Binding
		if b.VIF != want.vif || b.Driver != want.driver || string(b.Details) != want.details {
			t.Errorf("with a provider of %s the port is bound as %q by %q: %s; want %+v", hypervisor, b.VIF, b.Driver,
				b.Details, want)
		}
	}
}

// OVN is connected to tunnels of any type, as only OVN makes them.
func TestBindTunnelOnOVN(t *testing.T) {
	store := newStore(t)
	set := network.DefaultSettings()
	set.Drivers = []guarantee.Driver{guarantee.OVN}
	set.Tunnels = map[string][]network.Range{network.Geneve: {{Low: 1, High: 9}}}
	s := service.New(store, set, service.Peers{Log: logtest.Logger()})
	_, _, err := s.Beat(t.Context(),
		agents.Heartbeat{Type: guarantee.OVN.AgentType, Host: "h", Configurations: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	nets, err := s.CreateNetworks(t.Context(), []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true},
		Segments:   []topology.SegmentSpec{{Type: network.Geneve, SegmentationID: 5}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	created, err := s.CreatePorts(t.Context(), []ports.Spec{{
		PortRow: network.PortRow{Common: network.Common{Project: "p"}, Network: nets[0].ID}, VNIC: "normal", Host: "h",
		AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var details map[string]any
	b := created[0].Binding
	if err := json.Unmarshal(b.Details, &details); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"connectivity": "l2", "port_filter": true},
		details); b.Driver != "ovn" || b.VIF != "ovs" || diff != "" {
		t.Errorf("bound as %q by %q, details (-want +got):\n%s", b.VIF, b.Driver, diff)
	}
}

// How ports on DPDK's datapath are plugged in, on Open vSwitch and on OVN: the socket is
// called after the port.
func TestBindOnDPDK(t *testing.T) {
	const both = `"ovs_capabilities": {"iface_types": ["dpdk", "dpdkvhostuser", "dpdkvhostuserclient"]}`
	for name, test := range map[string]struct {
		driver         guarantee.Driver
		configurations string
		vif            string
		details        map[string]any // but for the socket
		dir            string         // of the socket; "" for none
	}{
		"OpenVSwitch": {
			guarantee.OpenVSwitch, `{"datapath_type": "netdev", "vhostuser_socket_dir": "/run/vhost", ` + both + `}`,
			"vhostuser",
			map[string]any{
				"port_filter": false, "ovs_hybrid_plug": false, "datapath_type": "netdev",
				"vhostuser_mode": "server", "vhostuser_ovs_plug": true,
			},
			"/run/vhost/",
		},
		"OVN": {
			guarantee.OVN, `{"datapath_type": "netdev", ` + both + `}`, "vhostuser",
			map[string]any{
				"connectivity": "l2", "port_filter": false, "vhostuser_mode": "server",
				"vhostuser_ovs_plug": true,
			},
			"/srv/sockets/",
		},
		"OVNInTheKernel": {
			guarantee.OVN, `{"datapath_type": "system", ` + both + `}`, "ovs",
			map[string]any{"connectivity": "l2", "port_filter": true},
			"",
		},
		"OVNWithoutThePorts": { // of which Neutron looks for this one only
			guarantee.OVN, `{"datapath_type": "netdev", "ovs_capabilities": {"iface_types": ["dpdkvhostuserclient"]}}`, "ovs",
			map[string]any{"connectivity": "l2", "port_filter": true},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			set := network.DefaultSettings()
			set.Drivers, set.OVNSockets = []guarantee.Driver{test.driver}, "/srv/sockets"
			c.service = service.New(c.store, set, service.Peers{Log: logtest.Logger()})
			configurations := `{"bridge_mappings": {"physnet0": "br-ex"}, ` + test.configurations[1:]
			_, _, err := c.service.Beat(t.Context(),
				agents.Heartbeat{Type: test.driver.AgentType, Host: "dpdk", Configurations: []byte(configurations)})
			c.must(err)
			created, err := c.service.CreatePorts(t.Context(), []ports.Spec{{
				PortRow: network.PortRow{
					Common:  network.Common{Project: "p"},
					Network: c.net,
				}, VNIC: "normal", Host: "dpdk",
				AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
			}})
			c.must(err)
			var details map[string]any
			c.must(json.Unmarshal(created[0].Binding.Details, &details))
			if test.dir != "" {
				test.details["vhostuser_socket"] = test.dir + "vhu" + string(created[0].ID[:11])
			}
			if diff := cmp.Diff(test.details, details); created[0].Binding.VIF != test.vif || diff != "" {
				t.Errorf("bound as %q, want %q; details (-want +got):\n%s", created[0].Binding.VIF, test.vif, diff)
			}
		})
	}
}

// Who knows where ports are plugged in says so of those of one driver; a port on its way
// to another host stays as it is.
func TestPlugged(t *testing.T) {
	c := newCloud(t) // with an agent of Open vSwitch's
	set := network.DefaultSettings()
	set.Drivers = guarantee.Drivers()
	c.service = service.New(c.store, set, service.Peers{Log: logtest.Logger()})
	for host, d := range map[string]guarantee.Driver{
		"one": guarantee.OVN, "two": guarantee.OVN,
		"other": guarantee.OpenVSwitch,
	} {
		_, _, err := c.service.Beat(t.Context(), agents.Heartbeat{
			Type: d.AgentType, Host: host,
			Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-ex"}}`),
		})
		c.must(err)
	}
	boot := func(host string) network.ID {
		created, err := c.service.CreatePorts(t.Context(), []ports.Spec{{
			PortRow: network.PortRow{Common: network.Common{Project: "p"}, Network: c.net}, VNIC: "normal", Host: host,
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}})
		c.must(err)
		return created[0].ID
	}
	mine, others, unbound := boot("one"), boot("other"), boot("")
	var written []network.ID
	c.service.OnPorts(func(ids []network.ID) { written = append(written, ids...) })
	say := func(host, want string, wantWritten ...network.ID) {
		t.Helper()
		written = nil
		c.must(c.service.SetPortHosts(t.Context(), "ovn",
			map[network.ID]string{mine: host, others: "other", unbound: "one", "nobody": "one"}))
		for id, want := range map[network.ID]string{mine: want, others: network.PortDown, unbound: network.PortDown} {
			if got := c.look(id).Status; got != want {
				t.Errorf("plugged in at %q, %s is %s, want %s", host, id, got, want)
			}
		}
		if diff := cmp.Diff(wantWritten, written); diff != "" {
			t.Errorf("plugged in at %q, these were written (-want +got):\n%s", host, diff)
		}
	}
	say("two", network.PortDown)
	say("one", network.PortActive, mine)
	say("one", network.PortActive)
	say("two", network.PortActive)
	say("", network.PortDown, mine)
}
