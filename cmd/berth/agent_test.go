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
	rewrite(t, wrong, "[ovs]\nbridge_mappings = physnet0:br0\nresource_provider_bandwidths = br0:pony:1\n[berth]\nnetwork_urls = ftp://x\n")
	file := agentFile(t)
	for name, tc := range map[string]struct {
		args   []string
		code   int
		stdout []string
		stderr []string
	}{
		"Help":           {[]string{"agent", "--help"}, exitOK, []string{"Usage:", "check", "network_urls"}, nil},
		"CheckHelp":      {[]string{"agent", "check", "--help"}, exitOK, []string{"Exit codes:"}, nil},
		"NoDevices":      {[]string{"agent", "--config", none}, exitUsage, nil, []string{"[ovs] bridge_mappings"}},
		"NoSuchAgent":    {[]string{"agent", "--config", file, "--kind", "pony"}, exitUsage, nil, []string{"pony", "want ovs or sriov"}},
		"AllWrongAtOnce": {[]string{"agent", "--config", wrong}, exitUsage, nil, []string{"pony", "network_urls"}},
		"NoCA":           {[]string{"agent", "--config", agentFile(t, "[berth]", "network_urls = https://127.0.0.1:1", "network_ca_file = /nonexistent")}, exitUsage, nil, []string{"network_ca_file"}},
		"CheckFinds":     {[]string{"agent", "check", "--config", file}, exitFailure, []string{"error: ovs br-physnet0", "error: sriov ens5"}, []string{"guarantees do not work"}},
		"CheckJSON":      {[]string{"agent", "check", "--config", file, "-f", "json"}, exitFailure, []string{`"level":"error"`, `"about":"ovs br-physnet0"`}, nil},
		"CheckFormat":    {[]string{"agent", "check", "--config", file, "-f", "xml"}, exitUsage, nil, []string{"text or json"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berth(t, tc.args...)
			if code != tc.code {
				t.Errorf("berth %q exits with %d, want %d", tc.args, code, tc.code)
			}
			contains(t, "standard output", stdout, tc.stdout)
			contains(t, "standard error", stderr, tc.stderr)
		})
	}
}

// The guide's table of providers: the agent of a host reports its devices, and the
// network service brings them into placement.
func TestAgentReports(t *testing.T) {
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0")
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, "service_plugins = placement", networkDatabaseAt("sqlite://"), "[placement]\nauth_type = none\nendpoint_override = "+places.url,
			"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch"))
	file := agentFile(t)
	reporting := []string{"[berth]", "network_urls = http://127.0.0.1:1," + networks.url, "network_token = admin", "watch_interval = 1"}
	rewrite(t, file, agentText(reporting...))
	agent := launch(t, nil, nil, "agent", "--config", file)

	synced := func(want string) func() bool {
		return func() bool {
			_, body := networks.get("/v2.0/agents?fields=resources_synced")
			return strings.Count(body, `"resources_synced": `+want) == 2
		}
	}
	wait(t, "the sync fails without the host's provider", synced("false"))
	ask(t, places, "POST", "/resource_providers", `{"name": "devstack0"}`)
	wait(t, "the devices are in placement", synced("true"))
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
	decodeFrom(t, ask(t, places, "GET", "/traits?name=startswith:CUSTOM_", ""), &traits)
	slices.Sort(traits.Traits)
	wantTraits := []string{
		"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP", "CUSTOM_VNIC_TYPE_NORMAL",
	}
	if diff := cmp.Diff(wantTraits, traits.Traits); diff != "" {
		t.Errorf("the custom traits (-want +got):\n%s", diff)
	}

	rewrite(t, file, strings.Replace(agentText(reporting...), "br-physnet0:10000000:10000000", "br-physnet0:20000000:10000000", 1))
	wait(t, "a changed bandwidth is in placement", func() bool {
		return strings.Contains(ask(t, places, "GET", "/resource_providers/4a6f5f40-b7a1-5df4-9938-63983543f365/inventories", ""), `"total": 20000000`)
	})
	agent.signal(syscall.SIGTERM)
	if err := agent.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// ask asks placement as an administrator.
func ask(t *testing.T, r *running, method, path, body string) string {
	t.Helper()
	res, text := call(t, &http.Transport{}, method, r.url+path, body)
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
	decodeFrom(t, ask(t, r, "GET", "/resource_providers", ""), &list)
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
