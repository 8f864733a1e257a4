package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// agentFile writes the settings of a host with a bridge and a NIC.
func agentFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.ini")
	rewrite(t, path, agentText(lines...))
	return path
}

func agentText(lines ...string) string {
	return `[DEFAULT]
host = devstack0
[ovs]
bridge_mappings = physnet0:br-physnet0
resource_provider_bandwidths = br-physnet0:10000000:10000000
resource_provider_default_hypervisor = devstack0
[sriov_nic]
physical_device_mappings = physnet0:ens5
resource_provider_bandwidths = ens5:40000000:40000000
resource_provider_default_hypervisor = devstack0
[agent]
report_interval = 1
` + strings.Join(lines, "\n") + "\n"
}

func TestAgentCommandLines(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.ini")
	rewrite(t, none, "[ovs]\n")
	wrong := filepath.Join(t.TempDir(), "wrong.ini")
	rewrite(t, wrong,
		"[ovs]\nbridge_mappings = physnet0:br0\nresource_provider_bandwidths = br0:pony:1\n[berth]\nnetwork_urls = ftp://x\n")
	file := agentFile(t)
	for name, tc := range map[string]commandLine{
		"Help":      {[]string{"agent", "--help"}, cli.ExitOK, []string{"Usage:", "check", "network_urls"}, nil},
		"CheckHelp": {[]string{"agent", "check", "--help"}, cli.ExitOK, []string{"Exit codes:"}, nil},
		"NoDevices": {[]string{"agent", "--config", none}, cli.ExitUsage, nil, []string{"[ovs] bridge_mappings"}},
		"NoSuchAgent": {
			[]string{"agent", "--config", file, "--kind", "pony"}, cli.ExitUsage, nil, []string{"pony", "want ovs or sriov"},
		},
		"AllWrongAtOnce": {[]string{"agent", "--config", wrong}, cli.ExitUsage, nil, []string{"pony", "network_urls"}},
		"NoCA": {[]string{
			"agent", "--config", agentFile(t, "[berth]", "network_urls = https://127.0.0.1:1", "network_ca_file = /nonexistent"),
		}, cli.ExitUsage, nil, []string{"network_ca_file"}},
		"CheckFinds": {
			[]string{"agent", "check", "--config", file},
			cli.ExitFindings,
			[]string{"error: ovs br-physnet0", "error: sriov ens5"},
			[]string{"not as its settings say"},
		},
		"CheckJSON": {
			[]string{"agent", "check", "--config", file, "-f", "json"},
			cli.ExitFindings,
			[]string{`"level": "error"`, `"about": "ovs br-physnet0"`},
			nil,
		},
		"CheckFormat": {
			[]string{"agent", "check", "--config", file, "-f", "xml"},
			cli.ExitUsage, nil,
			[]string{"table, json, yaml, csv or value"},
		},
	} {
		t.Run(name, tc.try)
	}
}

// A reportedHost is an agent with its network service and its placement.
type reportedHost struct {
	t                       *testing.T
	places, networks, agent *running
	file                    string
}

func newReportedHost(t *testing.T, lines ...string) *reportedHost {
	t.Helper()
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0")
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, strings.Join(append(lines, "service_plugins = placement"), "\n"), networkDatabaseAt("sqlite://"),
			"[placement]\nauth_type = none\nendpoint_override = "+places.url,
			"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch"))
	h := &reportedHost{t: t, places: places, networks: networks, file: agentFile(t)}
	h.write()
	h.agent = launch(t, nil, nil, "agent", "--config", h.file)
	return h
}

// write rewrites the settings, with replacements in pairs of old and new text.
func (h *reportedHost) write(change ...string) {
	h.t.Helper()
	text := agentText("[berth]", "network_urls = http://127.0.0.1:1,"+h.networks.url, "network_token = admin",
		"watch_interval = 1")
	rewrite(h.t, h.file, strings.NewReplacer(change...).Replace(text))
}

// records returns the network service's records of the agents.
func (h *reportedHost) records() string {
	_, body := h.networks.get("/v2.0/agents")
	return body
}

// synced reports whether the state of both agents is want.
func (h *reportedHost) synced(want string) func() bool {
	return func() bool { return strings.Count(h.records(), `"resources_synced": `+want) == 2 }
}

// makeRoot creates the provider of a host, as compute does.
func (h *reportedHost) makeRoot(name string) {
	h.t.Helper()
	request(h.t, h.places, "POST", "/resource_providers", `{"name": "`+name+`"}`)
}

// bridge is the provider of the host's bridge.
const bridge = "4a6f5f40-b7a1-5df4-9938-63983543f365"

// The guide's table of providers: the agent of a host reports its devices, and the
// network service brings them into placement.
func TestAgentReports(t *testing.T) {
	h := newReportedHost(t)
	places := h.places
	wait(t, "the sync fails without the host's provider", h.synced("false"))
	if _, body := h.networks.get("/v2.0/agents?fields=availability_zone"); strings.Count(body,
		`"availability_zone": null`) != 2 {
		t.Errorf("agents whose files name no zone report one: %s", body)
	}
	h.makeRoot("devstack0")
	wait(t, "the devices are in placement", h.synced("true"))
	want := []string{
		"devstack0 0",
		"devstack0:NIC Switch agent 4a8a819d-61f9-5822-8c5c-3e9c7cb942d6 0 below devstack0",
		"devstack0:NIC Switch agent:ens5 1c7e83f0-108d-5c35-ada7-7ebebbe43aad 2 below devstack0:NIC Switch agent",
		"devstack0:Open vSwitch agent 89ca1421-5117-5348-acab-6d0e2054239c 0 below devstack0",
		"devstack0:Open vSwitch agent:br-physnet0 4a6f5f40-b7a1-5df4-9938-63983543f365 2 below devstack0:Open vSwitch agent",
	}
	if diff := cmp.Diff(want, providers(t, places)); diff != "" {
		t.Errorf("the providers (-want +got):\n%s", diff)
	}
	var traits struct{ Traits []string }
	decodeFrom(t, request(t, places, "GET", "/traits?name=startswith:CUSTOM_", ""), &traits)
	slices.Sort(traits.Traits)
	wantTraits := []string{
		"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP",
		"CUSTOM_VNIC_TYPE_NORMAL",
	}
	if diff := cmp.Diff(wantTraits, traits.Traits); diff != "" {
		t.Errorf("the custom traits (-want +got):\n%s", diff)
	}

	h.write("br-physnet0:10000000:10000000", "br-physnet0:20000000:10000000", "[berth]",
		"[berth]\nresource_provider_traits = br-physnet0:CUSTOM_GUARANTEED")
	wait(t, "a changed bandwidth is in placement", func() bool {
		return strings.Contains(request(t, places, "GET", "/resource_providers/"+bridge+"/inventories", ""),
			`"total": 20000000`)
	})
	wait(t, "the trait of the settings is in placement", func() bool {
		return strings.Contains(request(t, places, "GET", "/resource_providers/"+bridge+"/traits", ""), `"CUSTOM_GUARANTEED"`)
	})
	h.agent.signal(syscall.SIGTERM)
	if err := h.agent.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// The devices that a host has lost are removed from placement once they have no allocations; so are
// all devices when the host gets another name.
func TestRemovedDevicesOfAgents(t *testing.T) {
	h := newReportedHost(t)
	h.makeRoot("devstack0")
	wait(t, "the devices are in placement", h.synced("true"))
	const server = "/allocations/5e57b85f-b017-419a-8745-9c406e149f9e"
	request(t, h.places, "PUT", server, `{"allocations": {"`+bridge+`": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
	h.write("br-physnet0", "br-ex")
	wait(t, "a device that is in use stays", func() bool {
		return strings.Contains(h.records(), `"berth:kept_providers": ["devstack0:Open vSwitch agent:br-physnet0"]`)
	})

	request(t, h.places, "DELETE", server, "")
	h.makeRoot("compute0")
	h.write("br-physnet0", "br-ex", "hypervisor = devstack0", "hypervisor = compute0")
	want := []string{
		"compute0 0",
		"compute0:NIC Switch agent b8c028b7-6672-5f38-a18d-967aa226f74c 0 below compute0",
		"compute0:NIC Switch agent:ens5 9b54b878-6502-5ac2-bd59-cc56eef2e250 2 below compute0:NIC Switch agent",
		"compute0:Open vSwitch agent f69002f5-9c44-53ac-bace-5fa8d40d8ea5 0 below compute0",
		"compute0:Open vSwitch agent:br-ex 96eb311e-6030-5230-b06a-d121477bfaae 2 below compute0:Open vSwitch agent",
		"devstack0 0",
	}
	wait(t, "nothing but the host's own provider has the old name", func() bool {
		return slices.Equal(want, providers(t, h.places))
	})
	wait(t, "the records say so", h.synced("true"))
	if body := h.records(); strings.Contains(body, "kept_providers") {
		t.Errorf("what was kept is still in the agents' records: %s", body)
	}
}

// When the record of a dead agent is deleted, its devices are removed from placement, except those
// with allocations; with a live agent none is, and the agent is synced again.
func TestRemovedAgents(t *testing.T) {
	h := newReportedHost(t, "agent_down_time = 2")
	h.makeRoot("devstack0")
	wait(t, "the devices are in placement", h.synced("true"))
	forget := func() {
		var list struct{ Agents []struct{ ID string } }
		decodeFrom(t, h.records(), &list)
		for _, a := range list.Agents {
			request(t, h.networks, "DELETE", "/v2.0/agents/"+a.ID, "")
		}
	}
	const aggregate = "5e57b85f-b017-419a-8745-000000000000" // a sync leaves it alone
	request(t, h.places, "PUT", "/resource_providers/"+bridge+"/aggregates",
		`{"aggregates": ["`+aggregate+`"], "resource_provider_generation": 2}`)
	wait(t, "it is alive", func() bool { return strings.Count(h.records(), `"alive": true`) == 2 })
	forget()
	wait(t, "the agents are back", h.synced("true"))
	if has := request(t, h.places, "GET", "/resource_providers/"+bridge+
		"/aggregates", ""); !strings.Contains(has, aggregate) {
		t.Errorf("the bridge of an agent that is alive has been removed: the new one has %s", has)
	}

	request(t, h.places, "PUT", "/allocations/5e57b85f-b017-419a-8745-9c406e149f9e", `{"allocations": {"`+bridge+`": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1}}},
		"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`)
	h.agent.signal(syscall.SIGTERM)
	if err := h.agent.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	wait(t, "it is dead", func() bool { return strings.Count(h.records(), `"alive": false`) == 2 })
	forget()
	wait(t, "what is unused is deleted", func() bool { return len(providers(t, h.places)) == 3 })
	got := strings.Join(providers(t, h.places), "\n")
	if !strings.Contains(got, "Open vSwitch agent:br-physnet0") || strings.Contains(got, "NIC Switch") {
		t.Errorf("left are\n%s", got)
	}
	if line := h.networks.logged(`(?m)^(.*because it is in use.*br-physnet0.*)$`); line == "" {
		t.Error("the log does not name what is left")
	}
}

// request sends a request to placement as an administrator.
func request(t *testing.T, r *running, method, path, body string) string {
	t.Helper()
	res, text := call(t, &http.Transport{}, method, r.url+path, body, "X-Auth-Token: "+r.token)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s = %d %s", method, path, res.StatusCode, text)
	}
	return text
}

func decodeFrom(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// providers lists placement's providers by name, a line each.
func providers(t *testing.T, r *running) []string {
	t.Helper()
	var list struct {
		Providers []struct {
			UUID, Name string
			Parent     *string `json:"parent_provider_uuid"`
			Generation json.Number
		} `json:"resource_providers"`
	}
	decodeFrom(t, request(t, r, "GET", "/resource_providers", ""), &list)
	names := map[string]string{}
	for _, p := range list.Providers {
		names[p.UUID] = p.Name
	}
	var lines []string
	for _, p := range list.Providers {
		line := p.Name + " " + p.Generation.String()
		if p.Parent != nil {
			line = p.Name + " " + p.UUID + " " + p.Generation.String() + " below " + names[*p.Parent]
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
