package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// A hostedCompute is a compute host with its services.
type hostedCompute struct {
	*running
	places, compute *running
	file            string
}

// novaConf writes a nova.conf of a compute service without authentication.
func novaConf(t *testing.T, places *running) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nova.conf")
	rewrite(t, path, "[api]\nauth_strategy = noauth2\n[database]\nconnection = sqlite://\n[placement]\n"+
		"auth_type = none\nendpoint_override = "+places.url+
		"\n[glance]\nendpoint_override = http://127.0.0.1:1\n")
	return path
}

// hostText is a nova.conf of a host, whose first address has no listener.
func (h *hostedCompute) hostText(dir string, lines ...string) string {
	return "[DEFAULT]\nhost = cn1\nstate_path = " + dir + "\nreport_interval = 1\nreserved_host_memory_mb = 64\n" +
		"[compute]\nprovider_config_location = " + dir + "/providers\n" +
		"[berth]\ncompute_urls = http://127.0.0.1:1," + h.compute.url + "\ncompute_token = admin\nwatch_interval = 1\n" +
		"compute_driver = fake\nfake_vcpus = 6\nfake_memory_mb = 4096\nfake_disk_gb = 50\n" + strings.Join(lines, "\n") + "\n"
}

func (h *hostedCompute) hypervisors() string {
	_, body := h.compute.get("/v2.1/os-hypervisors/detail")
	return body
}

// has reports whether placement's inventories of the host contain a text.
func (h *hostedCompute) has(id, text string) func() bool {
	return func() bool {
		_, body := h.places.get("/resource_providers/" + id + "/inventories")
		return strings.Contains(body, text)
	}
}

// The report of a compute host is printed, and nothing is written.
func TestAgentChecksAComputeHost(t *testing.T) {
	dir := t.TempDir()
	h := &hostedCompute{compute: &running{url: "http://127.0.0.1:1"}}
	file := filepath.Join(dir, "nova.conf")
	for _, tc := range []struct {
		name, line string
		code       int
		want       []string
	}{
		{"Good", "", cli.ExitOK, []string{
			"VCPU 6, of which 0 are reserved", "MEMORY_MB 4096, of which 64 are reserved",
			"it gets a UUID when the agent starts",
		}},
		{"Machine", "[compute]\ncpu_dedicated_set = 65000", cli.ExitFindings, []string{"error: compute", "65000"}},
		{"Setting", "[DEFAULT]\ncpu_allocation_ratio = pony", cli.ExitUsage, []string{"pony"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rewrite(t, file, h.hostText(dir, tc.line))
			code, stdout, stderr := berth(t, "agent", "check", "--compute-config", file)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("it prints %s%s, want %q", stdout, stderr, want)
				}
			}
		})
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("there are files %v, %v", files, err)
	}
}

// A host reports its inventory to the compute service, which writes it to placement: from the files
// at the start and after changes.
func TestAgentIsAComputeHost(t *testing.T) {
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0")
	h := &hostedCompute{
		places:  places,
		compute: start(t, t.TempDir(), "compute", "serve", "--listen", "127.0.0.1:0", "--config", novaConf(t, places)),
	}
	dir := t.TempDir()
	const id = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"
	rewrite(t, filepath.Join(dir, "compute_id"), id+"\n")
	h.file = filepath.Join(dir, "nova.conf")
	rewrite(t, h.file, h.hostText(dir))
	h.running = launch(t, nil, nil, "agent", "--compute-config", h.file)

	wait(t, "the hypervisor is there", func() bool { return strings.Contains(h.hypervisors(), `"vcpus": 6`) })
	wait(t, "its inventory is in placement", h.has(id, `"reserved": 64,`))
	if _, body := h.compute.get("/v2.1/os-services"); !strings.Contains(body, `"host": "cn1"`) ||
		!strings.Contains(body, `"state": "up"`) {
		t.Errorf("the services are %s", body)
	}
	wait(t, "so are its traits", func() bool {
		return strings.Contains(request(t, places, "GET", "/resource_providers/"+id+"/traits", ""), `"COMPUTE_NODE"`)
	})

	rewrite(t, h.file, h.hostText(dir, "[DEFAULT]", "cpu_allocation_ratio = pony"))
	h.logged(`old ones remain in force.*pony`)
	rewrite(t, h.file, h.hostText(dir, "[DEFAULT]", "cpu_allocation_ratio = 3.5", "debug = true", "[berth]",
		"fake_build_time = 0.5", "fake_vcpus = 6"))
	h.logged(`take effect at the next start.*settings="?\[\[DEFAULT\] debug \[berth\] fake_build_time\]`)
	wait(t, "a changed ratio is in placement", h.has(id, `"allocation_ratio": 3.5`))

	extra := filepath.Join(dir, "providers", "a.yaml") // read at the start and on reloads
	if err := os.Mkdir(filepath.Dir(extra), 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, extra, `{meta: {schema_version: "1.0"}, providers: [{identification: {uuid: $COMPUTE_NODE}, inventories: `+
		`{additional: [{CUSTOM_LLC: {total: 22}}]}}]}`)
	h.signal(syscall.SIGHUP)
	wait(t, "what a provider file adds is in placement", h.has(id, `"CUSTOM_LLC": {`))
	rewrite(t, extra, `{meta: {schema_version: "2.0"}, providers: []}`)
	h.signal(syscall.SIGHUP)
	h.logged(`old ones remain in force.*a\.yaml`)
	wait(t, "it is there still", h.has(id, `"CUSTOM_LLC": {`))
	if err := os.Remove(extra); err != nil {
		t.Fatal(err)
	}
	h.signal(syscall.SIGTERM)
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}

	other := filepath.Join(t.TempDir(), "nova.conf") // another host that calls itself so
	rewrite(t, other, strings.Replace(h.hostText(dir), "host = cn1", "host = cn2", 1))
	launch(t, nil, nil, "agent", "--compute-config", other).logged(`the report to the compute service failed.*is ` +
		`another host's`)
	if got := providers(t, places); len(got) != 1 || slices.Contains(got, "cn2") {
		t.Errorf("placement has %q", got)
	}
}
