package tempest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

func TestMain(m *testing.M) { server.Main(m) }

// always are the tests of each run: a server that has a trunk, is paused or suspended, and moves.
var always = []string{
	"tempest.api.compute.admin.test_live_migration.LiveMigrationTest.test_live_migration_with_trunk",
	"tempest.api.compute.admin.test_live_migration.LiveMigrationTest.test_live_block_migration_paused",
	"tempest.api.compute.admin.test_live_migration_negative.LiveMigrationNegativeTest.test_live_block_migration_suspended",
	"tempest.api.compute.admin.test_servers_negative.ServersAdminNegativeTestJSON.test_migrate_server_invalid_state",
	"tempest.api.compute.servers.test_server_actions.ServerActionsTestJSON.test_shelve_paused_server",
}

// modules are divided into parts: a sample has one of them.
var modules = []string{
	"tempest.api.compute.admin.test_live_migration",
	"tempest.api.compute.admin.test_migrations",
	"tempest.api.compute.servers.test_server_actions",
}

// differences are the tests that fail on purpose, by the end of their name. Those that need
// volumes, consoles or snapshots are skipped by the configuration.
var differences = map[string]string{
	"test_remove_server_all_security_groups": "Nova's actions with security groups are missing: Neutron's are there",
	"test_shelve_unshelve_server":            "shelve takes no snapshot, whose image the test looks for",
}

// configuration is the tempest.conf. Its arguments are the address of the identity service and the
// directory.
const configuration = `[DEFAULT]
log_file = %[2]s/tempest.log
[auth]
use_dynamic_credentials = false
test_accounts_file = %[2]s/accounts.yaml
default_credentials_domain_name = Default
[identity]
uri_v3 = %[1]s
auth_version = v3
region = RegionOne
v3_endpoint_type = public
[identity-feature-enabled]
api_v2 = false
[compute]
image_ref = c1440051-0000-4000-8000-000000000051
image_ref_alt = c1440051-0000-4000-8000-000000000051
flavor_ref = c1
flavor_ref_alt = c2
fixed_network_name = private
min_compute_nodes = 2
max_microversion = latest
build_timeout = 60
build_interval = 0
shelved_offload_time = 0
[compute-feature-enabled]
block_migration_for_live_migration = true
can_migrate_between_any_hosts = true
console_output = false
resize = true
personality = false
snapshot = false
vnc_console = false
[network]
build_interval = 0
[service_available]
cinder = false
glance = true
neutron = true
nova = true
swift = false
horizon = false
[validation]
run_validation = false
connect_timeout = 60
[oslo_concurrency]
lock_path = %[2]s
`

// result matches how a test ended in the output.
var result = regexp.MustCompile(`(?m)^(tempest\.[\w.]+)(?:\[.*\])? \.\.\. (ok|FAIL|ERROR|skipped .*)$`)

// TestServers runs tests of tempest as the users admin and demo of "berth up", with two hosts.
func TestServers(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with tempest: -short leaves it out")
	}
	if _, err := exec.LookPath("tempest"); err != nil {
		t.Fatalf("Debian's package tempest, which scripts/install-packages installs: %v", err)
	}
	_, dir := server.StartBerthUp(t, "--hosts", "2")
	identity, passwords := credentials(t, dir)
	prepare(t, dir, identity, passwords)

	part := append(slices.Clone(always), sweep.Sample(t, modules, len(modules))...)
	args := append([]string{"-m", "unittest", "-v"}, part...)
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TEMPEST_CONFIG_DIR="+dir, "TEMPEST_CONFIG=tempest.conf")
	out, _ := cmd.CombinedOutput() // it ends with an error where a test fails
	passed, skipped := map[string]bool{}, 0
	var failed []string
	for _, match := range result.FindAllStringSubmatch(string(out), -1) {
		name := match[1][strings.LastIndex(match[1], ".")+1:]
		switch {
		case match[2] == "ok":
			passed[match[1]] = true
		case strings.HasPrefix(match[2], "skipped"):
			skipped++
			t.Logf("%s: %s", match[1], match[2])
		case differences[name] == "":
			failed = append(failed, match[1])
		}
		if match[2] == "ok" && differences[name] != "" {
			t.Errorf("%s passes: it is a difference no more", match[1])
		}
	}
	for _, name := range always {
		if !passed[name] {
			t.Errorf("%s did not pass", name)
		}
	}
	if d := cmp.Diff([]string(nil), failed); d != "" {
		t.Errorf("tests that failed (-want +got)\n%s\n%s", d, out)
	}
	t.Logf("%d tests passed, %d were skipped", len(passed), skipped)
}

// credentials returns the address of the identity service and the passwords by user.
func credentials(t *testing.T, dir string) (identity string, passwords map[string]string) {
	t.Helper()
	var text []byte
	await(t, "clouds.yaml", func() (err error) {
		text, err = os.ReadFile(filepath.Join(dir, "clouds.yaml"))
		return err
	})
	var file struct {
		Clouds map[string]struct {
			Auth struct {
				URL      string `yaml:"auth_url"`
				Username string
				Password string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	passwords = map[string]string{}
	for _, c := range file.Clouds {
		identity, passwords[c.Auth.Username] = c.Auth.URL, c.Auth.Password
	}
	return identity, passwords
}

// await repeats a request until it succeeds, as the parts of "berth up" appear.
func await(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(upTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("waiting for %s: %v", what, err)
}

// upTime is how long "berth up" may need.
const upTime = time.Minute

// prepare writes the configuration, and makes what the tests expect of a cloud: a network of the
// project and a second flavor.
func prepare(t *testing.T, dir, identity string, passwords map[string]string) {
	t.Helper()
	account := func(name, more string) string {
		return fmt.Sprintf(
			"- {username: %s, password: %q, project_name: demo, domain_name: Default, resources: {network: private}, %s}\n",
			name, passwords[name], more)
	}
	for name, text := range map[string]string{
		"accounts.yaml": account("demo", "roles: [member]") + account("admin", "types: [admin], roles: [admin]"),
		"tempest.conf":  fmt.Sprintf(configuration, identity, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	network, _ := login(t, identity, "demo", passwords["demo"])
	var made struct{ Network struct{ ID string } }
	post(t, network, "/v2.0/networks", rest.Object{"network": rest.Object{"name": "private"}}, &made)
	post(t, network, "/v2.0/subnets",
		rest.Object{"subnet": rest.Object{"network_id": made.Network.ID, "ip_version": 4, "cidr": "10.9.0.0/24"}}, nil)
	_, compute := login(t, identity, "admin", passwords["admin"])
	for _, path := range []string{"/flavors/c1", "/os-hypervisors?hypervisor_hostname_pattern=devstack1"} {
		await(t, "the example", func() error { return get(t, compute, path) })
	}
	post(t, compute, "/flavors",
		rest.Object{"flavor": rest.Object{"name": "cirros512", "id": "c2", "ram": 512, "vcpus": 1, "disk": 1}}, nil)
}

// A service is one that requests are sent to with a token.
type service struct{ url, token string }

// login returns the network and the compute service as the catalog of a user has them.
func login(t *testing.T, identity, user, password string) (network, compute service) {
	t.Helper()
	domain := rest.Object{"name": "Default"}
	var token struct {
		Token struct {
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, URL string }
			}
		}
	}
	header := post(t, service{url: identity}, "/auth/tokens", rest.Object{"auth": rest.Object{
		"identity": rest.Object{
			"methods":  []string{"password"},
			"password": rest.Object{"user": rest.Object{"name": user, "domain": domain, "password": password}},
		},
		"scope": rest.Object{"project": rest.Object{"name": "demo", "domain": domain}},
	}}, &token)
	for _, s := range token.Token.Catalog {
		at := service{s.Endpoints[0].URL, header.Get("X-Subject-Token")}
		switch s.Type {
		case "network":
			network = at
		case "compute":
			compute = at
		}
	}
	return network, compute
}

// post sends a request that has to succeed.
func post(t *testing.T, to service, path string, body rest.Object, answer any) http.Header {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := send(t, to, http.MethodPost, path, string(text))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if answer != nil {
		if err := json.NewDecoder(got.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
	}
	return got.Header
}

// get sends a request that has to succeed, and does not read the answer.
func get(t *testing.T, to service, path string) error {
	t.Helper()
	got, err := send(t, to, http.MethodGet, path, "")
	if err == nil {
		err = got.Body.Close()
	}
	return err
}

// send sends a request. Its error says when it was refused.
func send(t *testing.T, to service, method, path, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, to.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", to.token)
	got, err := http.DefaultClient.Do(r)
	if err == nil && got.StatusCode >= http.StatusMultipleChoices {
		err = errors.Join(fmt.Errorf("%s %s: %s", method, path, got.Status), got.Body.Close())
	}
	return got, err
}
