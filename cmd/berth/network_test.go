package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
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
	if code, _, stderr := berth(t, "db", "sync", "--connection", placements); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	for name, tc := range map[string]commandLine{
		"Nothing": {[]string{"network"}, cli.ExitOK, []string{"Usage:", "serve"}, nil},
		"ServeHelp": {
			[]string{"network", "serve", "--help"},
			cli.ExitOK,
			[]string{"Exit codes:", "--config-dir", "noauth", "OS_ENDPOINT", "openstack network qos policy create"},
			nil,
		},
		"AllWrongAtOnce": {
			serve("bind_port = pony", "[ml2]\nmechanism_drivers = linuxbridge\n[ml2_type_vxlan]\nvni_ranges = 0:3"),
			cli.ExitUsage, nil,
			[]string{
				"[DEFAULT] bind_port", "pony", "[ml2] mechanism_drivers", "linuxbridge", "[ml2_type_vxlan] vni_ranges", "0:3",
			},
		},
		"AllProhibited": {
			serve("[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[ovs_driver]\n" +
				"vnic_type_prohibit_list = normal,direct\n" +
				"[sriov_driver]\nvnic_type_prohibit_list = pigeon"), cli.ExitUsage, nil,
			[]string{
				"[ovs_driver] vnic_type_prohibit_list", "prohibits all", "[sriov_driver] vnic_type_prohibit_list", `"pigeon"`,
			},
		},
		"Keystone": {
			serve("auth_strategy = keystone"), cli.ExitUsage, nil, []string{"[keystone_authtoken]", "auth_url is not set"},
		},
		"NoPlacement": {serve("service_plugins = placement"), cli.ExitUsage, nil, []string{"[placement] auth_type"}},
		"NoPlacementURL": {
			serve("[placement]\nauth_type = none"), cli.ExitUsage, nil, []string{"[placement] endpoint_override"},
		},
		"NoNovaPassword": {
			serve("[nova]\nauth_type = password\nusername = u\nauth_url = http://k"), cli.ExitUsage, nil,
			[]string{"[nova]", "password"},
		},
		"NoDatabase": {serve(networkDatabaseAt("pony")), cli.ExitUsage, nil, []string{"[database] connection"}},
		"PlacementsTables": {
			serve(networkDatabaseAt(placements)), cli.ExitDatabase, nil,
			[]string{"it is not a database of Berth's network service"},
		},
		"Away": {
			serve(networkDatabaseAt("mysql+pymysql://u:s3cret@127.0.0.1:1/n") + "\nmax_retries = 0"), cli.ExitDatabase, nil,
			[]string{"opening the database n on 127.0.0.1:1: ", "connection refused"},
		},
		"AddressIsNoAddress": {
			[]string{"network", "serve", "--listen", "pony", "--config", neutronConf(t, networkDatabaseAt("sqlite://"))},
			cli.ExitUsage, nil,
			[]string{"pony"},
		},
	} {
		t.Run(name, tc.try)
	}
}

func TestNetworkServeStopsAndStartsAgain(t *testing.T) {
	home := t.TempDir()
	for _, want := range []string{`{"networks": []}`, `"name": "net0"`} {
		r := start(t, home, "network", "serve", "--listen", "127.0.0.1:0")
		if status, body := r.get("/v2.0/networks.json"); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET /v2.0/networks = %d %s, want %s", status, body, want)
		}
		res, body := call(t, &http.Transport{}, "POST", r.url+"/v2.0/networks",
			`{"network": {"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0"}}`)
		if res.StatusCode != http.StatusCreated || !strings.Contains(body, `"mtu": 1500`) {
			t.Errorf("POST /v2.0/networks = %d %s", res.StatusCode, body)
		}
		if _, err := os.Stat(filepath.Join(home, ".local/share/berth/network.db")); err != nil {
			t.Error(err)
		}
		r.stop()
	}
}

// A service with settings: readiness, the settings that a reload applies, and those that it does
// not.
func TestNetworkServeByFiles(t *testing.T) {
	dir := t.TempDir()
	ops, rules, log := dir+"/ops.sock", dir+"/policy.yaml", dir+"/berth.log"
	neutron := func(more string) string {
		return "[DEFAULT]\nauth_strategy = noauth\nbind_host = 127.0.0.1\nbind_port = 0\nlog_file = " + log +
			"\nservice_plugins = qos,router\n" +
			more + "\n[database]\nconnection = sqlite:///" + dir +
			"/n.db\n[oslo_policy]\npolicy_file = policy.yaml\n[berth]\nmetrics_listen = unix:" + ops + "\n"
	}
	rewrite(t, rules, "{}")
	rewrite(t, dir+"/neutron.conf", neutron(""))
	rewrite(t, dir+"/ml2_conf.ini", "[ml2]\nmechanism_drivers = openvswitch\nextension_drivers = qos\n")
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
	if _, body := call(t, overUnix(ops), "GET", "http://h/metrics", ""); !strings.Contains(body, "\nberth_ready 1\n") ||
		!strings.Contains(body, `berth_reloads_total{outcome="ok"} 0`) {
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

// While the database is opened, here one that never answers, requests are answered as Neutron
// answers those that it cannot serve.
func TestNetworkAnswersWhileStarting(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	r := launch(t, []string{"HOME=" + dir}, nil, "network", "serve", "--listen", "unix:"+socket,
		"--config", neutronConf(t, networkDatabaseAt("mysql+pymysql://u:p@"+mute.Addr().String()+"/d")))
	wait(t, "the service listens", func() bool { _, err := os.Stat(socket); return err == nil })
	want := `{"NeutronError": {"type": "HTTPServiceUnavailable", "message": "The service is starting: opening the ` +
		`database: connecting.", "detail": ""}}`
	var res *http.Response
	var body string
	wait(t, "the service connects to the database", func() bool {
		res, body = call(t, overUnix(socket), "GET", "http://u/v2.0/networks", "")
		return body == want
	})
	if res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" ||
		res.Header.Get("Content-Type") != "application/json" || body != want {
		t.Errorf("the answer is %d %v %s", res.StatusCode, res.Header, body)
	}
	r.signal(syscall.SIGTERM)
	_ = r.cmd.Wait() // it never served
}
