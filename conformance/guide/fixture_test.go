package guide

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
)

// A cloud is services in the catalogue of one for identity, and the agents that report to
// the network service.
type cloud struct {
	// login is how a person logs in: variables of the environment.
	login func(who string) []string

	// start starts agents on the hosts of the guide, report waits until they have
	// reported since and what follows from it is done.
	start, report func()

	// plug reports to the network service that all bound ports are plugged in, where no agent does.
	plug func()

	// bridge has the network agent of a second host report a bridge with this bandwidth.
	bridge func(kbps int)

	// more adds another bridge to the guide's host.
	more func()
}

// bootTime bounds the creation and the removal of a server.
const bootTime = time.Minute

// await waits until a command prints the expected output.
func await(t *testing.T, at *terminal, command string, enough func(printed string) bool) {
	t.Helper()
	printed := ""
	for end := time.Now().Add(bootTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if printed = at.run(command); enough(printed) {
			return
		}
	}
	t.Fatalf("%s still prints %s", command, printed)
}

// happen triggers an event that a script names.
func (c *cloud) happen(t *testing.T, event string, terminals map[string]*terminal) {
	t.Helper()
	if name, ok := strings.CutSuffix(event, " is built"); ok {
		await(t, terminals["admin"], "openstack server show -f value -c status "+name, func(printed string) bool {
			return !strings.Contains(printed, "BUILD")
		})
		return
	}
	if provider, ok := strings.CutSuffix(event, " is free"); ok {
		await(t, terminals["admin"], "openstack resource provider usage show -f value -c usage "+provider,
			func(printed string) bool {
				return strings.Trim(printed, "0\n") == ""
			})
		return
	}
	if port, ok := strings.CutSuffix(event, " is plugged in"); ok {
		if c.plug != nil {
			c.plug()
		}
		await(t, terminals["admin"], "openstack port show -f value -c status "+port, func(printed string) bool {
			return printed == "ACTIVE\n"
		})
		return
	}
	if server, address, ok := strings.Cut(event, " hears of "); ok {
		await(t, terminals["admin"], "openstack server show -f value -c addresses "+server, func(printed string) bool {
			return strings.Contains(printed, address)
		})
		return
	}
	if provider, use, ok := strings.Cut(event, " has "); ok {
		await(t, terminals["admin"], "openstack resource provider usage show -f value "+provider, func(printed string) bool {
			return strings.Contains(printed, use+"\n")
		})
		return
	}
	switch event {
	case "devstack0 gets br-physnet1, and packets":
		c.more()
		for provider, class := range map[string]string{
			"ba151fd5-ea29-56d3-977c-36f73615cd5a": "NET_BW_IGR_KILOBIT_PER_SEC",
			"89ca1421-5117-5348-acab-6d0e2054239c": "NET_PACKET_RATE_KILOPACKET_PER_SEC",
		} {
			await(t, terminals["admin"], "openstack resource provider inventory list -f value -c resource_class "+provider,
				func(printed string) bool {
					return strings.Contains(printed, class)
				})
		}
	case "the agents start":
		c.start()
	case "the agents report again":
		c.report()
	default:
		t.Fatalf("it is unknown how it happens that %q", event)
	}
}

// The guide's configuration files.
var (
	//go:embed testdata/neutron.conf
	neutronConf string
	//go:embed testdata/ovs_agent.ini
	ovsAgent string
	//go:embed testdata/sriov_agent.ini
	sriovAgent string
)

// filled is a file of the guide with what it leaves open, and without ens6, which the
// tables of the guide do not have.
func filled(file string, k *keystonetest.Keystone) string {
	return strings.NewReplacer(",physnet0:ens6", "", ",ens6:40000000:40000000", "",
		"placement,...", "placement,qos,trunk,segments", ",...", "",
		"https://controller/identity", k.URL(), "secret", keystonetest.Find(keystonetest.Placement).Password).Replace(file)
}

// ml2Conf are networks as in conformance/neutron.
const ml2Conf = `[ml2]
tenant_network_types = vxlan
mechanism_drivers = openvswitch,sriovnicswitch
extension_drivers = qos,port_security
[ml2_type_vlan]
network_vlan_ranges = physnet0:1:4000
[ml2_type_vxlan]
vni_ranges = 70001:79999
`

// newBerth starts Berth's services. Agents find the network service and a token in
// what is added to their files.
func newBerth(t *testing.T) *cloud {
	k := keystonetest.Start(t, keystonetest.Options{})
	places := server.StartBerth(t, server.Options{Config: map[string]map[string]string{
		"api": {"auth_strategy": "keystone"}, "keystone_authtoken": server.Login(k),
	}})
	networks := server.StartNetworkByFiles(t, filled(neutronConf, k), ml2Conf,
		server.Render(map[string]map[string]string{
			"keystone_authtoken": server.Login(k), "berth": {"host_key_secret": hostSecret},
		}))
	k.Service("placement", "placement", places.URL())
	k.Service("network", "neutron", networks.URL())
	b := berth{t, k, networks.URL()}
	return &cloud{
		login: func(who string) []string { return atKeystone(k, who) },
		start: func() {
			server.StartAgent(t, on("devstack0"), filled(ovsAgent, k), filled(sriovAgent, k), b.reporting("devstack0"))
			server.StartAgent(t, on("devstack1"), "[ovs]\nbridge_mappings = physnet0:br-physnet0\n", b.reporting("devstack1"))
			b.await("false", "false", "null")
		},
		report: func() { b.await("null", "true", "true") },
	}
}

// on are the settings of an agent on a host that compute calls the same.
func on(host string) string {
	return strings.ReplaceAll(`[DEFAULT]
host = HOST
[ovs]
resource_provider_default_hypervisor = HOST
[sriov_nic]
resource_provider_default_hypervisor = HOST
[agent]
report_interval = 1
`, "HOST", host)
}

// A berth is how Berth's agents report, and how their state is read from the network service.
type berth struct {
	t   *testing.T
	k   *keystonetest.Keystone
	url string
}

// reporting are the settings by which agents report.
func (b berth) reporting(host string) string {
	b.t.Helper()
	dir := b.t.TempDir()
	file, secret := filepath.Join(dir, "key"), filepath.Join(dir, "network.conf")
	err := os.WriteFile(secret, []byte("[berth]\nhost_key_secret = "+hostSecret+"\n"), 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := exec.Command(server.Berth(b.t), "agent", "key", "--config", secret, host).Output()
	if err == nil {
		err = os.WriteFile(file, key, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return "[berth]\nnetwork_urls = " + b.url + "\nnetwork_host_key_file = " + file + "\nenforce = false\n"
}

// hostSecret is what keys of hosts are made of.
const hostSecret = "0123456789abcdef0123456789abcdef"

// await waits until there are agents with these values of resources_synced.
func (b berth) await(want ...string) {
	b.t.Helper()
	token := b.k.Token(keystonetest.Find(personas["admin"]))
	var got []string
	for end := time.Now().Add(time.Minute); !slices.Equal(got, want); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("resources_synced of the agents is %v, want %v", got, want)
		}
		got = b.synced(token)
	}
}

// synced returns the values of resources_synced, in alphabetical order.
func (b berth) synced(token string) []string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/v2.0/agents", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Agents []struct {
			Synced *bool `json:"resources_synced"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, a := range list.Agents {
		if a.Synced == nil {
			all = append(all, "null")
			continue
		}
		all = append(all, strconv.FormatBool(*a.Synced))
	}
	slices.Sort(all)
	return all
}

// newUpstream starts Debian's services, whose agents report the same as Berth's.
func newUpstream(t *testing.T) *cloud {
	r := neutron.StartReference(t, neutron.Options{Catalogue: true})
	say := func(start bool) {
		for _, a := range agents {
			a.Start = start
			r.Heartbeat(t, a)
		}
	}
	return &cloud{
		login: func(who string) []string { return atKeystone(r.Keystone(), who) },
		start: func() { say(true) }, report: func() { say(false) },
	}
}

type object = map[string]any

// agents are those of the guide's host, and one that has no bandwidth.
var agents = []neutron.Agent{
	{Kind: neutron.OVS, Host: "devstack0", Configurations: object{
		"bridge_mappings":                      object{"physnet0": "br-physnet0"},
		"resource_provider_bandwidths":         object{"br-physnet0": both(10_000_000)},
		"resource_provider_hypervisors":        object{"br-physnet0": "devstack0"},
		"resource_provider_inventory_defaults": defaults,
		"datapath_type":                        "system",
		"integration_bridge":                   "br-int",
		"ovs_hybrid_plug":                      false,
	}},
	{Kind: neutron.SRIOV, Host: "devstack0", Configurations: object{
		"device_mappings":                      object{"physnet0": []string{"ens5"}},
		"resource_provider_bandwidths":         object{"ens5": both(40_000_000)},
		"resource_provider_hypervisors":        object{"ens5": "devstack0"},
		"resource_provider_inventory_defaults": defaults,
	}},
	{Kind: neutron.OVS, Host: "devstack1", Configurations: object{"bridge_mappings": object{"physnet0": "br-physnet0"}}},
}

var defaults = object{"allocation_ratio": json.Number("1.0"), "min_unit": 1, "reserved": 0, "step_size": 1}

func both(kbps int) object { return object{"egress": kbps, "ingress": kbps} }
