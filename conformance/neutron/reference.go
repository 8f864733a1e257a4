package neutron

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/internal/keystonetest"
)

// Packages says how to install what StartReference needs besides Keystone and
// Placement. No agent and no message bus is needed.
const Packages = "apt-get install -y --no-install-recommends python3-neutron neutron-common"

// What the distribution's packages put where.
const (
	python   = "/usr/bin/python3"
	pipeline = "/usr/share/neutron-common/api-paste.ini"
	module   = "/usr/lib/python3/dist-packages/neutron/server/__init__.py"
)

//go:embed reference.py
var program []byte

// A Reference is the distribution's Neutron with its Keystone and Placement.
type Reference struct {
	url       string
	keystone  *keystonetest.Keystone
	placement string // address of Placement
	tokens    map[string]string
	http      http.Client
}

// StartReference starts Neutron on loopback with a throw-away database, or skips
// the test, by name, when it is not installed. It ends with the test.
func StartReference(t testing.TB) *Reference {
	t.Helper()
	for _, path := range []string{python, pipeline, module} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("NOT TESTED with the real Neutron: %s is missing: %s", path, Packages)
		}
	}
	r := &Reference{tokens: make(map[string]string), http: http.Client{Timeout: time.Minute}}
	r.keystone = keystonetest.Start(t, keystonetest.Options{})
	r.placement = startPlacement(t)
	address := server.FreeAddress(t)
	r.url = "http://" + address
	launch(t, r.command(t, address), r.url+"/")
	return r
}

// command writes the configuration and returns how Neutron is run with it. Some of
// its messages show sets of Python, whose order follows the seed of the hash.
func (r *Reference) command(t testing.TB, address string) *exec.Cmd {
	t.Helper()
	dir := tempDir(t)
	user := keystonetest.Find(keystonetest.Placement)
	conf := fmt.Sprintf(configuration, dir, pipeline, r.keystone.URL(), user.Name, user.Password, user.Project,
		r.PlacementURL(), r.PlacementToken())
	for name, data := range map[string][]byte{"neutron.conf": []byte(conf), "reference.py": program} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, filepath.Join(dir, "reference.py"), filepath.Join(dir, "neutron.conf"), address)
	cmd.Env = append(os.Environ(), "HOME="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0")
	cmd.Dir = dir
	return cmd
}

// configuration is what most deployments with guaranteed bandwidth have. The
// numbers of tunnels are no numbers that appear for another reason, and agents
// may be silent for as long as a busy machine takes.
const configuration = `[DEFAULT]
auth_strategy = keystone
core_plugin = ml2
service_plugins = qos,trunk,segments,placement
transport_url = fake:/
state_path = %[1]s
api_paste_config = %[2]s
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
use_stderr = true
setproctitle = off
send_events_interval = 0
agent_down_time = 7200
dhcp_agent_notification = false
network_auto_schedule = false
default_log_levels = neutron=WARNING,neutron_lib=WARNING,keystonemiddleware=WARNING,sqlalchemy=WARNING
[database]
connection = sqlite:///%[1]s/neutron.db
sqlite_synchronous = false
[oslo_concurrency]
lock_path = %[1]s
[keystone_authtoken]
auth_type = password
auth_url = %[3]s
www_authenticate_uri = %[3]s
username = %[4]s
password = %[5]s
user_domain_name = Default
project_name = %[6]s
project_domain_name = Default
[placement]
auth_type = admin_token
endpoint = %[7]s
token = %[8]s
[ml2]
type_drivers = flat,vlan,vxlan,gre,local
tenant_network_types = vxlan
mechanism_drivers = openvswitch,sriovnicswitch
extension_drivers = qos,port_security
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet0:1:4000,physnet1
[ml2_type_vxlan]
vni_ranges = 70001:79999
[ml2_type_gre]
tunnel_id_ranges = 80001:89999
`

// tempDir makes a directory in memory, where the system has such a place, that
// goes away with the test.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "berth-neutron-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("removing %s: %v", dir, err)
		}
	})
	return dir
}

// URL returns the address of Neutron.
func (r *Reference) URL() string { return r.url }

// PlacementURL returns the address of Placement.
func (r *Reference) PlacementURL() string { return r.placement }

// PlacementToken returns the token of Placement's administrator.
func (r *Reference) PlacementToken() string { return "admin" }

// Projects returns the ids of the projects.
func (r *Reference) Projects() map[string]string {
	return map[string]string{"demo": r.keystone.ProjectID(keystonetest.Demo), "other": r.keystone.ProjectID(keystonetest.Other)}
}

// personas are who plays the People.
var personas = map[string]string{
	"admin": "project-admin", "member": "project-member", "reader": "project-reader", "other": "other-member", "service": "nova",
}

// Token returns the token of a person.
func (r *Reference) Token(t testing.TB, who string) string {
	t.Helper()
	if persona, ok := personas[who]; ok && r.tokens[who] == "" {
		r.tokens[who] = r.keystone.Token(keystonetest.Find(persona))
	}
	return r.tokens[who]
}

// Reset restores Neutron's rows and empties Placement.
func (r *Reference) Reset(t testing.TB) {
	t.Helper()
	r.control(t, "reset", nil)
	emptyPlacement(t, r)
}

// Heartbeat has Neutron receive the report of an agent.
func (r *Reference) Heartbeat(t testing.TB, a Agent) {
	t.Helper()
	state := map[string]any{
		"agent_type": a.Kind.Type(), "binary": a.Kind.Binary(), "host": a.Host, "topic": "N/A",
		"configurations": a.Configurations,
	}
	if a.Start {
		state["start_flag"] = true
	}
	r.control(t, "report", map[string]any{"agent_state": state})
}

// Silence changes the row of an agent.
func (r *Reference) Silence(t testing.TB, kind Kind, host string) {
	t.Helper()
	r.control(t, "silence", map[string]any{"agent_type": kind.Type(), "host": host})
}

// Wired has Neutron hear that a port was plugged in.
func (r *Reference) Wired(t testing.TB, port, host string) {
	t.Helper()
	r.control(t, "wired", map[string]any{"port": port, "host": host})
}

// control asks what reference.py adds to Neutron.
func (r *Reference) control(t testing.TB, what string, arguments map[string]any) {
	t.Helper()
	body, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if arguments == nil {
		body = nil
	}
	res, err := r.http.Post(r.url+"/-/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only the status matters
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: status %d; Neutron's log says why", what, res.StatusCode)
	}
}
