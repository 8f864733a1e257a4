package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/network"
)

// TestNetworkSettings follows the settings to where they have an effect.
func TestNetworkSettings(t *testing.T) {
	got, err := networkSettings(configtest.ReadNetwork(t, `[DEFAULT]
global_physnet_mtu = 9000
max_dns_nameservers = 2
max_subnet_host_routes = 3
max_allowed_address_pair = 4
base_mac = FA:16:3E:00:00:00
agent_down_time = 30
notify_nova_on_port_status_changes = no
enable_new_agents = no
[ml2]
type_drivers = local,vlan,vxlan
tenant_network_types = vxlan,vlan
mechanism_drivers = sriovnicswitch,openvswitch,l2population
path_mtu = 4000
physical_network_mtus = a:1400, b:0
overlay_ip_version = 6
external_network_type = vlan
[ml2_type_vlan]
network_vlan_ranges = a:1:2,b
[ml2_type_vxlan]
vni_ranges = 5:6,8:9
[ml2_type_gre]
tunnel_id_ranges = 1:2
[ml2_type_geneve]
max_header_size = 38
[ovs_driver]
vnic_type_prohibit_list = direct
[ovn]
vhost_sock_dir = /run/vhost
[quotas]
default_quota = 7
quota_port = -5
quota_subnet = 6
[berth]
tunnel_guarantees = on
any_physical_network = on
keep_deleted_promises = on
`))
	if err != nil {
		t.Fatal(err)
	}
	ovs, err := guarantee.OpenVSwitch.Without([]string{"direct"})
	if err != nil {
		t.Fatal(err)
	}
	want := network.DefaultSettings()
	want.MTU = network.MTUs{
		Global: 9000, Path: 4000, Physical: map[string]int{"a": 1400, "b": 0}, OverlayIPVersion: 6, GeneveHeader: 38,
	}
	want.Types = []string{network.Local, network.VLAN, network.VXLAN}
	want.ProjectTypes, want.ExternalType = []string{network.VXLAN, network.VLAN}, network.VLAN
	want.VLANs = map[string][]network.Range{"a": {{Low: 1, High: 2}}, "b": {{Low: 1, High: 4094}}}
	want.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 5, High: 6}, {Low: 8, High: 9}}}
	want.FlatNetworks = nil
	want.MaxNameservers, want.MaxHostRoutes, want.MaxAddressPairs, want.MACBase = 2, 3, 4, "fa:16:3e:"
	want.PortSecurity = false
	want.Quotas["trunk"], want.Quotas["subnetpool"], want.Quotas["port"], want.Quotas["subnet"] = 7, 7, -1, 6
	want.Drivers = []guarantee.Driver{guarantee.SRIOV, ovs}
	want.OVNSockets = "/run/vhost"
	want.Events, want.NewAgentsDown = network.Events{Data: true}, true
	want.Extensions = guarantee.Extensions{Tunnels: true, Alternatives: true}
	want.KeepDeleted, want.AgentDownTime = true, 30*time.Second
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("networkSettings (-want +got):\n%s", diff)
	}
}

// TestNetworkPeers sends requests to placement with the clients of the settings, and checks
// which peer services there are.
func TestNetworkPeers(t *testing.T) {
	var token, id string
	placement := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, id = r.Header.Get("X-Auth-Token"), r.Header.Get("X-Openstack-Request-Id")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer placement.Close()
	for name, tc := range map[string]struct {
		text               string
		placement, compute bool
		token              string
	}{
		"Nobody": {"", false, false, ""},
		"NoAuth": {"[placement]\nauth_type = noauth\nendpoint = " + placement.URL, true, false, "admin"},
		"AdminToken": {
			"[placement]\nauth_type = admin_token\ntoken = t\nendpoint_override = " + placement.URL, true, false, "t",
		},
		"Compute": {"[nova]\nauth_type = none\nendpoint_override = http://n", false, true, ""},
		"Silent": {"[DEFAULT]\nnotify_nova_on_port_status_changes = no\nnotify_nova_on_port_data_changes = no\n[nova]\n" +
			"auth_type = none\nendpoint_override = http://n", false, false, ""},
		"Keystone": {"[nova]\nauth_type = password\nauth_url = http://k\nusername = u\npassword = p\n" +
			"user_domain_name = d\nproject_name = s\nproject_domain_name = d", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			token, id = "", ""
			n, end, err := newNetworkPeers(configtest.ReadNetwork(t, tc.text), logtest.Logger(), nil, Dependencies{})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			if has := n.Placement != nil; has != tc.placement || (n.Compute != nil) != tc.compute {
				t.Fatalf("placement is there: %t, compute: %t", has, n.Compute != nil)
			}
			if n.Placement != nil {
				_ = n.trees.EnsureTrait(context.WithValue(t.Context(), logging.Key{},
					&logging.Origin{RequestID: "req-own", GlobalID: "req-client"}), "CUSTOM_X")
			}
			if want := map[bool]string{true: "req-client"}[tc.placement]; id != want {
				t.Errorf("placement got the request id %q, want %q", id, want)
			}
			if token != tc.token {
				t.Errorf("placement got the token %q, want %q", token, tc.token)
			}
		})
	}
}
