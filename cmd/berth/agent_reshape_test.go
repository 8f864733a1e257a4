package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/fakehosts"
)

// reshapeMembers are the requests that make a host with VGPU in use, and reshapeMoves a list that
// moves them.
var reshapeMembers = []string{
	`POST /resource_providers {"uuid": "00000000-0000-4000-8000-000000000001", "name": "cn1"}`,
	`PUT /resource_providers/00000000-0000-4000-8000-000000000001/inventories {"resource_provider_generation": 0, ` +
		`"inventories": {"VGPU": {"total": 4}}}`,
	`PUT /allocations/00000000-0000-4000-8000-00000000000a {"allocations": {"00000000-0000-4000-8000-000000000001": ` +
		`{"resources": {"VGPU": 1}}}, "project_id": "p", "user_id": "u", "consumer_generation": null, ` +
		`"consumer_type": "INSTANCE"}`,
}

const reshapeMoves = "- {from_resource_provider: cn1, moved_resources: {VGPU: 4}, to_resource_provider: cn1_gpu}\n"

// A host with a dedicated server gets dedicated CPUs: what would change is shown before, the server
// has them after its host has started, and a host that has none any more does not serve until it
// has some again.
func TestAgentReshapesItsHost(t *testing.T) {
	images := httptest.NewServer(fakehosts.Images())
	defer images.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		rewrite(t, path, text)
		return path
	}
	policy := write("policy.yaml", `"placement:reshaper:reshape": "role:admin"`)
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config", write("placement.conf",
		"[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = sqlite://\n[oslo_policy]\npolicy_file = "+policy+
			"\n"))
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config", write("neutron.conf",
		"[DEFAULT]\nauth_strategy = noauth\n[database]\nconnection = sqlite://\n"))
	text, err := os.ReadFile(novaConf(t, places))
	if err != nil {
		t.Fatal(err)
	}
	compute := start(t, t.TempDir(), "compute", "serve", "--listen", "127.0.0.1:0", "--config", write("service.conf",
		strings.Replace(string(text), "http://127.0.0.1:1", images.URL+"\nauth_type = none", 1)+
			"[neutron]\nauth_type = none\nendpoint_override = "+networks.url+"\n"))
	h := &hostedCompute{places: places, compute: compute, file: filepath.Join(dir, "nova.conf")}
	const id = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"
	write("compute_id", id+"\n")
	rewrite(t, h.file, h.hostText(dir))
	inventory := func(code int, args ...string) string {
		t.Helper()
		got, stdout, stderr := berth(t, append([]string{"agent", "inventory", "--compute-config", h.file}, args...)...)
		if got != code {
			t.Errorf("inventory %q exits with %d, want %d: %s%s", args, got, code, stdout, stderr)
		}
		return stdout + stderr
	}
	contains := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("it prints\n%s\nwant %q", text, want)
			}
		}
	}
	contains(inventory(cli.ExitOK, "--tree"), "MEMORY_MB 4096, 64 reserved", "[berth] fake_vcpus",
		"What a start would change in placement:\n  create ", "("+id+")\n")
	contains(inventory(cli.ExitOK, "-f", "csv"), `"VCPU",6,0,4.0,"[berth] fake_vcpus"`)

	h.running = launch(t, nil, nil, "agent", "--compute-config", h.file)
	wait(t, "its inventory is in placement", h.has(id, `"VCPU"`))
	contains(inventory(cli.ExitOK, "--tree"), "a start changes nothing")
	request(t, compute, "POST", "/v2.1/flavors",
		`{"flavor": {"id": "p2", "name": "p2", "vcpus": 2, "ram": 64, "disk": 1}}`)
	request(t, compute, "POST", "/v2.1/flavors/p2/os-extra_specs", `{"extra_specs": {"hw:cpu_policy": "dedicated"}}`)
	res, text2 := call(t, &http.Transport{}, "POST", compute.url+"/v2.1/servers",
		`{"server": {"name": "vm", "flavorRef": "p2", "imageRef": "`+fakehosts.Image+`", "networks": "none"}}`,
		"X-Auth-Token: admin", "OpenStack-API-Version: compute 2.72")
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("the boot = %d %s", res.StatusCode, text2)
	}
	var shown struct{ Server struct{ ID string } }
	decodeFrom(t, text2, &shown)
	allocations := func(text string) func() bool {
		return func() bool {
			return strings.Contains(request(t, places, "GET", "/allocations/"+shown.Server.ID, ""), text)
		}
	}
	wait(t, "the server is there", func() bool {
		return strings.Contains(request(t, compute, "GET", "/v2.1/servers/"+shown.Server.ID, ""), `"ACTIVE"`)
	})
	wait(t, "it has shared CPUs", allocations(`"VCPU": 2`))

	h.signal(os.Interrupt)
	_ = h.cmd.Wait()
	dedicated := []string{"[compute]", "cpu_shared_set = 4-5", "cpu_dedicated_set = 0-3"}
	rewrite(t, h.file, h.hostText(dir, dedicated...))
	contains(inventory(cli.ExitOK, "--tree"), "PCPU 4 ", "[compute] cpu_dedicated_set = 0-3",
		"move 2 VCPU of "+shown.Server.ID+" from ", " to PCPU of ")
	if !allocations(`"VCPU": 2`)() {
		t.Error("it has moved before the start")
	}
	h.running = launch(t, nil, nil, "agent", "--compute-config", h.file)
	wait(t, "it has dedicated CPUs", allocations(`"PCPU": 2`))

	rewrite(t, h.file, h.hostText(dir))
	contains(inventory(cli.ExitFindings, "--tree"),
		"server "+shown.Server.ID+" (vm) (2 PCPU): the host has no dedicated CPUs any more")
	state := func(all ...string) func() bool {
		return func() bool {
			_, body := compute.get("/v2.1/os-services")
			for _, text := range all {
				if !strings.Contains(body, text) {
					return false
				}
			}
			return true
		}
	}
	wait(t, "the host does not serve", state(`"state": "down"`, `"berth:start_error": "server `+shown.Server.ID))
	rewrite(t, h.file, h.hostText(dir, dedicated...))
	wait(t, "it serves again", state(`"state": "up"`))
	if !allocations(`"PCPU": 2`)() {
		t.Error("the server has lost its CPUs")
	}
}
