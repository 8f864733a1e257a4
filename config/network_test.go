package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config"
)

// files writes each text into a file of a new directory and returns their paths.
func files(t *testing.T, texts ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("%d.conf", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestNoNetworkFilesAreDefault(t *testing.T) {
	got, warnings, err := config.LoadNetwork(nil, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadNetwork = %v, warnings %q", err, warnings)
	}
	want := config.DefaultNetwork()
	want.Berth.Listen = "127.0.0.1:9696"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadNetwork without files (-default +got):\n%s", diff)
	}
}

// The files of a controller with Debian's packages, Open vSwitch and SR-IOV.
const (
	neutronFile = `[DEFAULT]
bind_host = ::
core_plugin = ml2
service_plugins = neutron.services.qos.qos_plugin.QoSPlugin,placement,router
transport_url = rabbit://openstack:hunter2@controller
auth_strategy = keystone
global_physnet_mtu = 9000
base_mac = fa:16:3e:4f:00:00
api_workers = 4
l3_ha = true
[agent]
root_helper = sudo
[cache]
[database]
connection = mysql+pymysql://berth:s%40crt@controller/berth_network
max_pool_size = 7
[DATABASE]
sql_max_retries = -1
[keystone_authtoken]
auth_url = http://controller:5000
auth_type = password
username = neutron
password = hunter3
[placement]
auth_type = password
auth_url = http://controller:5000
username = placement
password = hunter4
region_name = one
endpoint_type = internal
[nova]
auth_section = nova_auth
url_timeout = 5
[nova_auth]
auth_type = v3applicationcredential
application_credential_id = id
[oslo_messaging_rabbit]
rabbit_ha_queues = true
[berth]
old_resource_request = yes
shutdown_timeout = 2.5
`
	ml2File = `[ml2]
type_drivers = flat,vlan,vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch,sriovnicswitch
extension_drivers = port_security,qos
physical_network_mtus = physnet0:1500
[ml2_type_vlan]
network_vlan_ranges = physnet0:100:199,physnet0:300:399,physnet1
[ml2_type_vxlan]
vni_ranges = 1:1000
[ovs_driver]
vnic_type_blacklist = direct
[sriov_driver]
vnic_type_prohibit_list =
[ovn]
ovn_nb_connection = ssl:10.0.0.1:6641
ovn_sb_connection = ssl:10.0.0.1:6642,ssl:10.0.0.2:6642
ovn_sb_private_key = k
ovn_sb_certificate = c
ovn_sb_ca_cert = a
ovsdb_connection_timeout = 30
vhost_sock_dir = /run/vhost
ovsdb_probe_interval = 0
`
)

func TestNetworkFiles(t *testing.T) {
	paths := files(t, neutronFile, ml2File)
	got, warnings, err := config.LoadNetwork(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings := []string{
		paths[0] + ":18: [DATABASE] sql_max_retries is an older name of [database] max_retries",
		paths[0] + ":33: [nova] url_timeout is an older name of [nova] timeout",
		paths[1] + ":12: [ovs_driver] vnic_type_blacklist is an older name of [ovs_driver] vnic_type_prohibit_list",
		`[DEFAULT] service_plugins: Berth does not have "router"`,
		`[DEFAULT] base_mac = "fa:16:3e:4f:00:00": only the first three octets count`,
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	want := config.DefaultNetwork()
	want.Files = paths
	want.Neutron.BindHost, want.Berth.Listen = "::", "[::]:9696"
	want.Neutron.CorePlugin = "ml2"
	want.Neutron.ServicePlugins = []string{"neutron.services.qos.qos_plugin.QoSPlugin", "placement", "router"}
	want.Neutron.GlobalPhysnetMTU, want.Neutron.BaseMAC = 9000, "fa:16:3e:4f:00:00"
	want.Database.Connection = "mysql+pymysql://berth:s%40crt@controller/berth_network"
	want.Database.MaxPoolSize, want.Database.MaxRetries = new(7), -1
	want.Keystone.AuthType = "password"
	want.Keystone.Auth = config.Auth{AuthURL: "http://controller:5000", Username: "neutron", Password: "hunter3"}
	want.Placement.AuthType, want.Placement.RegionName, want.Placement.EndpointType = "password", "one", "internal"
	want.Placement.Auth = config.Auth{AuthURL: "http://controller:5000", Username: "placement", Password: "hunter4"}
	want.Nova.AuthSection, want.Nova.AuthType, want.Nova.Timeout = "nova_auth", "v3applicationcredential", new(5)
	want.Nova.Auth.ApplicationCredentialID = "id"
	want.ML2.TypeDrivers, want.ML2.TenantNetworkTypes = []string{"flat", "vlan", "vxlan"}, []string{"vxlan"}
	want.ML2.MechanismDrivers = []string{"openvswitch", "sriovnicswitch"}
	want.ML2.ExtensionDrivers = []string{"port_security", "qos"}
	want.ML2.PhysicalMTUs = []string{"physnet0:1500"}
	want.ML2.VLANRanges = []string{"physnet0:100:199", "physnet0:300:399", "physnet1"}
	want.ML2.VXLANRanges, want.ML2.OpenVSwitchProhibits = []string{"1:1000"}, []string{"direct"}
	want.ML2.SRIOVProhibits = []string{}
	want.OVN = config.OVN{
		Connection: "ssl:10.0.0.1:6642,ssl:10.0.0.2:6642", KeyFile: "k", CertFile: "c", CAFile: "a", Timeout: 30,
		SocketDir: "/run/vhost",
	}
	want.Promises.OldRequests = true
	want.Berth.ShutdownTimeout = 2500 * time.Millisecond
	want.Ignored = []string{
		"[DEFAULT] api_workers", "[DEFAULT] l3_ha", "[DEFAULT] transport_url", "[ovn] ovn_nb_connection",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadNetwork (-want +got):\n%s", diff)
	}
	if !got.Neutron.Has(config.PluginQoS) || got.Neutron.Has(config.PluginTrunk) {
		t.Errorf("of %q the plugin qos is there and trunk is not", got.Neutron.ServicePlugins)
	}
	if shown := fmt.Sprintf("%v %+v %#v", *got, *got, *got); strings.Contains(shown, "hunter") ||
		strings.Contains(shown, "s%40crt") {
		t.Errorf("a secret shows when the settings are printed: %s", shown)
	}
}

func TestNetworkAddressAndTLS(t *testing.T) {
	for text, want := range map[string][3]string{
		"[DEFAULT]\nbind_host = 10.0.0.1\nbind_port = 9\n[berth]\nlisten = 127.0.0.1:1": {
			"127.0.0.1:1",
		},
		"[DEFAULT]\nuse_ssl = yes\n[ssl]\ncert_file = c\nkey_file = k\nca_file = a": {
			"127.0.0.1:9696", "c", "a",
		},
		"[DEFAULT]\nuse_ssl = yes\n[ssl]\ncert_file = c\nkey_file = k\nca_file = a\n" +
			"[berth]\ntls_cert_file=b\ntls_key_file=l": {
			"127.0.0.1:9696", "b", "",
		},
		"[ssl]\ncert_file = c\nkey_file = k": {
			"127.0.0.1:9696",
		},
	} {
		n, _, err := config.LoadNetwork(files(t, text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := [3]string{n.Berth.Listen, n.Berth.TLSCertFile, n.Berth.TLSClientCAFile}; got != want {
			t.Errorf("with %q: address, certificate and authorities are %q, want %q", text, got, want)
		}
	}
}

func TestWrongNetworkValuesAreReportedAtOnce(t *testing.T) {
	paths := files(t, `[DEFAULT]
core_plugin = contrail
auth_strategy = noauth2
base_mac = fb:16:3e:00:00:00
bind_port = 70000
pagination_max_limit = many
use_ssl = true
max_dns_nameserver = 3
network_link_prefix = cloud.example/net
[nova]
endpoint_type = secret
[placement]
auth_typ = password
`, `[ml2]
type_drivers = vlan,pigeon
tenant_network_types = geneve
mechanism_drivers = openvswitch,linuxbridge
physical_network_mtus = a:1500,a:9000
[ml2_type_vlan]
network_vlan_ranges = physnet0:1:4095
[ml2_type_vxlan]
vni_ranges = 5:1
[ml2_type_gre]
tunnel_id_ranges = 1
`)
	n, warnings, err := config.LoadNetwork(paths, nil)
	if n != nil || err == nil {
		t.Fatalf("LoadNetwork = %v, %v, want an error and nothing else", n, err)
	}
	want := `0:2: [DEFAULT] core_plugin = "contrail": want ml2, neutron.plugins.ml2.plugin.Ml2Plugin
0:3: [DEFAULT] auth_strategy = "noauth2": want one of keystone, noauth
0:4: [DEFAULT] base_mac = "fb:16:3e:00:00:00": want the address of one interface, such as fa:16:3e:00:00:00
0:5: [DEFAULT] bind_port = "70000": want an integer from 0 to 65535
0:6: [DEFAULT] pagination_max_limit = "many": want a number, or the word infinite
0:9: [DEFAULT] network_link_prefix = "cloud.example/net": want a URL such as https://cloud.example/network
0:11: [nova] endpoint_type = "secret": want one of public, admin, internal
1:2: [ml2] type_drivers = "vlan,pigeon": want local, flat, vlan, gre, vxlan, geneve, not "pigeon"
1:4: [ml2] mechanism_drivers = "openvswitch,linuxbridge": want openvswitch, sriovnicswitch, ovn, which are the drivers that Berth has, not "linuxbridge"
1:5: [ml2] physical_network_mtus = "a:1500,a:9000": want network:bytes, each network once, bytes up to 65536, not "a:9000"
1:7: [ml2_type_vlan] network_vlan_ranges = "physnet0:1:4095": want first:last, numbers from 1 to 4094, not "physnet0:1:4095"
1:9: [ml2_type_vxlan] vni_ranges = "5:1": want first:last, numbers from 1 to 16777215, not "5:1"
1:11: [ml2_type_gre] tunnel_id_ranges = "1": want first:last, numbers from 1 to 4294967295, not "1"
[DEFAULT] use_ssl = true: set [ssl] cert_file and key_file too`
	got := strings.NewReplacer(paths[0], "0", paths[1], "1").Replace(err.Error())
	sorted := func(text string) map[string]bool {
		lines := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			lines[line] = true
		}
		return lines
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if len(warnings) != 2 {
		t.Errorf("warnings are %q, want two", warnings)
	}
}

func TestProjectTypesAreAmongTypes(t *testing.T) {
	_, _, err := config.LoadNetwork(files(t, "[ml2]\ntype_drivers = vlan,flat\ntenant_network_types = vlan,geneve\n"), nil)
	if want := `[ml2] tenant_network_types = "vlan,geneve": geneve is not among the type_drivers`; err == nil ||
		err.Error() != want {
		t.Errorf("LoadNetwork = %v, want %s", err, want)
	}
}

func TestRanges(t *testing.T) {
	got := config.ParseVLANRanges([]string{"a:1:5", " b ", "a:7:9", "b:2:3", "c:2:3", "c"})
	want := map[string][]config.Range{"a": {{1, 5}, {7, 9}}, "b": {{1, 4094}}, "c": {{1, 4094}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseVLANRanges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]config.Range{{1, 2}, {4, 4}}, config.ParseRanges([]string{"1:2", " 4 : 4 "})); diff != "" {
		t.Errorf("ParseRanges (-want +got):\n%s", diff)
	}
}

func TestExternalTypeIsAmongTypes(t *testing.T) {
	_, _, err := config.LoadNetwork(files(t, "[ml2]\ntype_drivers = vlan,flat,local\nexternal_network_type = geneve\n"),
		nil)
	if want := `[ml2] external_network_type = "geneve": it is not among the type_drivers`; err == nil ||
		err.Error() != want {
		t.Errorf("LoadNetwork = %v, want %s", err, want)
	}
}

func TestDriversThatBindNothingAreWarnedAbout(t *testing.T) {
	n, warnings, err := config.LoadNetwork(files(t, "[ml2]\nmechanism_drivers = openvswitch,l2population\n"), nil)
	want := []string{"[ml2] mechanism_drivers: l2population is passed over: it binds no ports"}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Errorf("LoadNetwork = %+v, %v; warnings (-want +got):\n%s", n, err, diff)
	}
}

func TestQoSNeedsItsDriver(t *testing.T) {
	_, _, err := config.LoadNetwork(
		files(t, "[DEFAULT]\nservice_plugins = qos\n[ml2]\nextension_drivers = port_security\n"), nil)
	if want := "[ml2] extension_drivers: qos is not among them, and the service plugin needs it"; err == nil ||
		err.Error() != want {
		t.Errorf("LoadNetwork = %v, want %s", err, want)
	}
	_, warnings, err := config.LoadNetwork(files(t, "[ml2]\nextension_drivers = qos,dns,port_numa_affinity_policy\n"), nil)
	if diff := cmp.Diff([]string{`[ml2] extension_drivers: Berth does not have "dns"`}, warnings); diff != "" ||
		err != nil {
		t.Errorf("LoadNetwork = %v, warnings (-want +got):\n%s", err, diff)
	}
}

func TestPageLimits(t *testing.T) {
	for text, want := range map[string]int{"infinite": 0, "-1": 0, "0": 0, "7": 7} {
		n := config.DefaultNetwork()
		if n.Neutron.PaginationMaxLimit = text; n.Neutron.PageLimit() != want {
			t.Errorf("with pagination_max_limit = %s the limit is %d, want %d", text, n.Neutron.PageLimit(), want)
		}
	}
}

func TestMTUsOfNetworks(t *testing.T) {
	got := config.ParseMTUs([]string{"a:1500", " b : 9000 ", "c", ":1", "d:-1"})
	if diff := cmp.Diff(map[string]int{"a": 1500, "b": 9000}, got); diff != "" {
		t.Errorf("ParseMTUs (-want +got):\n%s", diff)
	}
}

func TestMACPrefix(t *testing.T) {
	n := config.DefaultNetwork()
	n.Neutron.BaseMAC = "FA:16:3E:4f:00:00"
	if got := n.Neutron.MACPrefix(); got != "fa:16:3e:" {
		t.Errorf("MACPrefix = %q", got)
	}
}

func FuzzRanges(f *testing.F) {
	for _, seed := range []string{"a:1:5", "a", " b : 2 : 3", "1:2", "a::", "a:9:1", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, ranges := range config.ParseVLANRanges([]string{text}) {
			for _, r := range ranges {
				if name == "" || r.Low < 1 || r.High < r.Low || r.High > 4094 {
					t.Errorf("ParseVLANRanges(%q) has %q with %v", text, name, r)
				}
			}
		}
		for _, r := range config.ParseRanges([]string{text}) {
			if r.Low < 1 || r.High < r.Low || r.High > 1<<32-1 {
				t.Errorf("ParseRanges(%q) has %v", text, r)
			}
		}
	})
}
