package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/guarantee"
)

// neutronConf writes a neutron.conf of a service with noauth, and further lines.
func neutronConf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "neutron.conf")
	rewrite(t, path, "[DEFAULT]\nauth_strategy = noauth\n"+strings.Join(lines, "\n")+"\n")
	return path
}

func networkDatabaseAt(url string) string { return "[database]\nconnection = " + url }

func TestNetworkCommandLines(t *testing.T) {
	serve := func(lines ...string) []string {
		return []string{"network", "serve", "--listen", "127.0.0.1:0", "--config", neutronConf(t, lines...)}
	}
	placements := newDatabaseFile(t)
	if code, _, stderr := berth(t, "db", "sync", "--connection", placements); code != exitOK {
		t.Fatal(stderr)
	}
	for name, tc := range map[string]struct {
		args   []string
		code   int
		stdout []string
		stderr []string
	}{
		"Nothing":   {[]string{"network"}, exitOK, []string{"Usage:", "serve"}, nil},
		"ServeHelp": {[]string{"network", "serve", "--help"}, exitOK, []string{"Exit codes:", "--config-dir", "noauth", "OS_ENDPOINT"}, nil},
		"AllWrongAtOnce": {
			serve("bind_port = pony", "[ml2]\nmechanism_drivers = linuxbridge\n[ml2_type_vxlan]\nvni_ranges = 0:3"), exitUsage, nil,
			[]string{"[DEFAULT] bind_port", "pony", "[ml2] mechanism_drivers", "linuxbridge", "[ml2_type_vxlan] vni_ranges", "0:3"},
		},
		"AllProhibited": {
			serve("[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[ovs_driver]\nvnic_type_prohibit_list = normal,direct\n" +
				"[sriov_driver]\nvnic_type_prohibit_list = pigeon"), exitUsage, nil,
			[]string{"[ovs_driver] vnic_type_prohibit_list", "prohibits all", "[sriov_driver] vnic_type_prohibit_list", `"pigeon"`},
		},
		"Keystone":         {serve("auth_strategy = keystone"), exitUsage, nil, []string{"[keystone_authtoken]", "auth_url is not set"}},
		"NoPlacement":      {serve("service_plugins = placement"), exitUsage, nil, []string{"[placement] auth_type"}},
		"NoPlacementURL":   {serve("[placement]\nauth_type = none"), exitUsage, nil, []string{"[placement] endpoint_override"}},
		"NoNovaPassword":   {serve("[nova]\nauth_type = password\nusername = u\nauth_url = http://k"), exitUsage, nil, []string{"[nova]", "password"}},
		"NoDatabase":       {serve(networkDatabaseAt("pony")), exitUsage, nil, []string{"[database] connection"}},
		"PlacementsTables": {serve(networkDatabaseAt(placements)), exitDatabase, nil, []string{"it is not a database of Berth's network service"}},
		"Away": {
			serve(networkDatabaseAt("mysql+pymysql://u:s3cret@127.0.0.1:1/n") + "\nmax_retries = 0"), exitDatabase, nil,
			[]string{"opening the database n on 127.0.0.1:1: ", "connection refused"},
		},
		"AddressIsNoAddress": {[]string{"network", "serve", "--listen", "pony", "--config", neutronConf(t, networkDatabaseAt("sqlite://"))}, exitListen, nil, []string{"listening on pony"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berth(t, tc.args...)
			if code != tc.code {
				t.Errorf("berth %q exits with %d, want %d", tc.args, code, tc.code)
			}
			contains(t, "standard output", stdout, tc.stdout)
			contains(t, "standard error", stderr, tc.stderr)
			if strings.Contains(stdout+stderr, "s3cret") {
				t.Errorf("a password shows:\n%s%s", stdout, stderr)
			}
		})
	}
}

func TestNetworkServeStopsAndStartsAgain(t *testing.T) {
	home := t.TempDir()
	for _, want := range []string{`{"networks": []}`, `"name": "net0"`} {
		r := start(t, home, "network", "serve", "--listen", "127.0.0.1:0")
		if status, body := r.get("/v2.0/networks"); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET /v2.0/networks = %d %s, want %s", status, body, want)
		}
		res, body := call(t, &http.Transport{}, "POST", r.url+"/v2.0/networks", `{"network": {"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0"}}`)
		if res.StatusCode != http.StatusCreated || !strings.Contains(body, `"mtu": 1500`) {
			t.Errorf("POST /v2.0/networks = %d %s", res.StatusCode, body)
		}
		if _, err := os.Stat(filepath.Join(home, ".local/share/berth/network.db")); err != nil {
			t.Error(err)
		}
		r.stop()
	}
}

// A service with settings: readiness, what a reload takes over, and what it does not.
func TestNetworkServeByFiles(t *testing.T) {
	dir := t.TempDir()
	ops, rules, log := dir+"/ops.sock", dir+"/policy.yaml", dir+"/berth.log"
	neutron := func(more string) string {
		return "[DEFAULT]\nauth_strategy = noauth\nbind_host = 127.0.0.1\nbind_port = 0\nlog_file = " + log + "\nservice_plugins = qos,router\n" +
			more + "\n[database]\nconnection = sqlite:///" + dir + "/n.db\n[oslo_policy]\npolicy_file = policy.yaml\n[berth]\nmetrics_listen = unix:" + ops + "\n"
	}
	rewrite(t, rules, "{}")
	rewrite(t, dir+"/neutron.conf", neutron(""))
	rewrite(t, dir+"/ml2_conf.ini", "[ml2]\nmechanism_drivers = openvswitch\n")
	r := launch(t, nil, nil, "network", "serve", "--config", dir+"/neutron.conf", "--config", dir+"/ml2_conf.ini")
	text := func() string {
		b, _ := os.ReadFile(log)
		return string(b)
	}
	wait(t, "the service is ready", func() bool { return strings.Contains(text(), "ready address=") })
	_, address, _ := strings.Cut(text(), "ready address=")
	url := "http://" + strings.Fields(address)[0]
	if res, body := call(t, overUnix(ops), "GET", "http://h/readyz", ""); res.StatusCode != 200 || body != "ok\n" {
		t.Errorf("/readyz answers %d %q", res.StatusCode, body)
	}
	if _, body := call(t, overUnix(ops), "GET", "http://h/metrics", ""); !strings.Contains(body, "\nberth_ready 1\n") || !strings.Contains(body, `berth_reloads_total{outcome="ok"} 0`) {
		t.Errorf("/metrics answers %s", body)
	}
	agents := func() int {
		res, _ := call(t, &http.Transport{}, "GET", url+"/v2.0/agents", "")
		return res.StatusCode
	}
	if got := agents(); got != 200 {
		t.Errorf("GET agents = %d", got)
	}
	rewrite(t, rules, `"create_network": "!"`)
	rewrite(t, dir+"/neutron.conf", neutron("debug = true\nglobal_physnet_mtu = 9000"))
	r.signal(syscall.SIGHUP)
	wait(t, "the settings are read again", func() bool { return strings.Contains(text(), "reloaded complete=true") })
	if res, _ := call(t, &http.Transport{}, "POST", url+"/v2.0/networks", `{"network": {}}`); res.StatusCode != 403 {
		t.Errorf("with the new policy POST networks = %d, want 403", res.StatusCode)
	}
	contains(t, "the log", text(), []string{`Berth does not have "router"`, `settings="[[DEFAULT] global_physnet_mtu]"`})
	r.signal(syscall.SIGTERM)
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func readNetwork(t *testing.T, text string) *config.Network {
	t.Helper()
	path := filepath.Join(t.TempDir(), "neutron.conf")
	rewrite(t, path, text)
	cfg, _, err := config.LoadNetwork([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestNetworkSettings follows the settings to where they have an effect.
func TestNetworkSettings(t *testing.T) {
	got, err := networkSettings(readNetwork(t, `[DEFAULT]
global_physnet_mtu = 9000
max_dns_nameservers = 2
max_subnet_host_routes = 3
base_mac = FA:16:3E:00:00:00
agent_down_time = 30
[ml2]
type_drivers = local,vlan,vxlan
tenant_network_types = vxlan,vlan
mechanism_drivers = sriovnicswitch,openvswitch
[ml2_type_vlan]
network_vlan_ranges = a:1:2,b
[ml2_type_vxlan]
vni_ranges = 5:6,8:9
[ml2_type_gre]
tunnel_id_ranges = 1:2
[ovs_driver]
vnic_type_prohibit_list = direct
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
	want.MTU, want.ProjectTypes = 9000, []string{network.VXLAN, network.VLAN}
	want.VLANs = map[string][]network.Range{"a": {{Low: 1, High: 2}}, "b": {{Low: 1, High: 4094}}}
	want.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 5, High: 6}, {Low: 8, High: 9}}}
	want.FlatNetworks = nil
	want.MaxNameservers, want.MaxHostRoutes, want.MACBase = 2, 3, "fa:16:3e:"
	want.Quotas["trunk"], want.Quotas["subnetpool"], want.Quotas["port"], want.Quotas["subnet"] = 7, 7, -1, 6
	want.Drivers = []guarantee.Driver{guarantee.SRIOV, ovs}
	want.Extensions = guarantee.Extensions{Tunnels: true, Alternatives: true}
	want.KeepDeleted, want.AgentDownTime = true, 30*time.Second
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("networkSettings (-want +got):\n%s", diff)
	}
}

// TestNetworkNeighbours asks placement through what the settings say, and finds out
// which neighbours there are.
func TestNetworkNeighbours(t *testing.T) {
	var token string
	placement := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("X-Auth-Token")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer placement.Close()
	for name, tc := range map[string]struct {
		text               string
		placement, compute bool
		token              string
	}{
		"Nobody":     {"", false, false, ""},
		"NoAuth":     {"[placement]\nauth_type = noauth\nendpoint = " + placement.URL, true, false, "admin"},
		"AdminToken": {"[placement]\nauth_type = admin_token\ntoken = t\nendpoint_override = " + placement.URL, true, false, "t"},
		"Compute":    {"[nova]\nauth_type = none\nendpoint_override = http://n", false, true, ""},
		"Silent":     {"[DEFAULT]\nnotify_nova_on_port_status_changes = no\n[nova]\nauth_type = none\nendpoint_override = http://n", false, false, ""},
		"Keystone":   {"[nova]\nauth_type = password\nauth_url = http://k\nusername = u\npassword = p\nuser_domain_name = d\nproject_name = s\nproject_domain_name = d", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			token = ""
			n, end, err := networkNeighbours(readNetwork(t, tc.text), slog.New(slog.DiscardHandler), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			if has := n.Placement != nil; has != tc.placement || (n.Compute != nil) != tc.compute {
				t.Fatalf("placement is there: %t, compute: %t", has, n.Compute != nil)
			}
			if n.Placement != nil {
				_ = n.Placement.EnsureTrait(t.Context(), "CUSTOM_X")
			}
			if token != tc.token {
				t.Errorf("placement was asked with the token %q, want %q", token, tc.token)
			}
		})
	}
}
