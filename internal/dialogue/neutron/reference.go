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
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// packages are the packages that StartReference needs besides Keystone and Placement. No agent and
// no message bus is needed.
const packages = "python3-neutron neutron-common"

// Paths in the distribution's packages.
const (
	pipeline = "/usr/share/neutron-common/api-paste.ini"
	module   = "/usr/lib/python3/dist-packages/neutron/server/__init__.py"
)

//go:embed reference.py
var program []byte

// A Reference is the distribution's Neutron with its Keystone and Placement.
type Reference struct {
	*servertest.Server
	keystone  *keystonetest.Keystone
	placement string // address of Placement
	tokens    map[string]string
	http      http.Client
}

// Options configure a Reference. The zero value is for dialogues.
type Options struct {
	// Catalogue has Placement check tokens with Keystone, Neutron find Placement in Keystone's
	// catalogue and log in there, and adds Neutron to the catalogue: all is as in a cloud, and
	// slower. PlacementToken cannot be used then.
	Catalogue bool
	// Placement, with Catalogue, starts another placement than the distribution's and returns its
	// URL. It checks tokens with the Keystone.
	Placement func(k *keystonetest.Keystone) string
	// Database is the SQLAlchemy URL of Neutron's database, "" for SQLite, on which Neutron cannot do
	// two things at a time, and which Reset needs.
	Database string
	// Rules is a policy file of an operator's own, "" for none.
	Rules string
	// Compute, with Catalogue, has Neutron notify the compute service that will be in the catalogue
	// about ports, and bind direct ports to SR-IOV cards only.
	Compute bool
}

// StartReference starts Neutron on loopback with a temporary database. It is stopped at the end of
// the test, which fails when Neutron is not installed, or is skipped with BERTH_TEST_NO_UPSTREAM=1.
func StartReference(t testing.TB, opts Options) *Reference {
	t.Helper()
	upstreamtest.Need(t, packages, upstreamtest.Python, pipeline, module)
	r := &Reference{tokens: make(map[string]string), http: http.Client{Timeout: time.Minute}}
	r.keystone = keystonetest.Start(t, keystonetest.Options{})
	switch {
	case opts.Placement != nil:
		r.placement = opts.Placement(r.keystone)
	case opts.Catalogue:
		r.placement = StartPlacement(t, PlacementAt(r.keystone))
	default:
		r.placement = StartPlacement(t, server.Options{})
	}
	dir := r.configure(t, opts)
	// Some messages print sets of Python, whose order depends on the hash seed.
	r.Server = servertest.Start(t, "Neutron", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(upstreamtest.Python, filepath.Join(dir, "reference.py"), filepath.Join(dir, "neutron.conf"), addr)
		cmd.Env = append(os.Environ(), "HOME="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0")
		cmd.Dir = dir
		return cmd
	})
	if opts.Catalogue {
		r.keystone.Service("placement", "placement", r.placement)
		r.keystone.Service("network", "neutron", r.URL())
	}
	return r
}

// configure returns a directory with the configuration and the program.
func (r *Reference) configure(t testing.TB, opts Options) string {
	t.Helper()
	dir := servertest.Dir(t)
	checks := server.Login(r.keystone)
	checks["www_authenticate_uri"] = r.keystone.URL()
	placement := map[string]string{"auth_type": "admin_token", "endpoint": r.PlacementURL(), "token": r.PlacementToken()}
	if opts.Catalogue {
		placement = server.Login(r.keystone)
	}
	more := map[string]map[string]string{"keystone_authtoken": checks, "placement": placement}
	if opts.Compute {
		more["nova"] = server.LoginAs(r.keystone, "project-admin")
		more["DEFAULT"] = map[string]string{
			"notify_nova_on_port_status_changes": "true", "notify_nova_on_port_data_changes": "true",
		}
		more["ovs_driver"] = map[string]string{"vnic_type_prohibit_list": "direct"}
	}
	if opts.Database != "" {
		more["database"] = map[string]string{"connection": strings.ReplaceAll(opts.Database, "$", "$$")}
	}
	if opts.Rules != "" {
		rules, err := os.ReadFile(opts.Rules)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "policy.yaml"), rules, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		more["oslo_policy"] = map[string]string{"policy_file": filepath.Join(dir, "policy.yaml")}
	}
	conf := fmt.Sprintf(configuration, dir, pipeline) + server.Render(more) // of two values the later one counts
	for name, data := range map[string][]byte{"neutron.conf": []byte(conf), "reference.py": program} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
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
connection = sqlite:///%[1]s/neutron.db?timeout=60
sqlite_synchronous = false
[oslo_concurrency]
lock_path = %[1]s
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

// PlacementURL returns the address of Placement.
func (r *Reference) PlacementURL() string { return r.placement }

// Keystone returns the Keystone of the services.
func (r *Reference) Keystone() *keystonetest.Keystone { return r.keystone }

// PlacementToken returns the token of Placement's administrator.
func (r *Reference) PlacementToken() string { return "admin" }

// Projects returns the ids of the projects.
func (r *Reference) Projects() map[string]string {
	return map[string]string{
		"demo": r.keystone.ProjectID(keystonetest.Demo), "other": r.keystone.ProjectID(keystonetest.Other),
	}
}

// personas are the personas of the People.
var personas = map[string]string{
	"admin": "project-admin", "member": "project-member", "reader": "project-reader", "other": "other-member",
	"service": "nova",
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
	if a.Zone != "" {
		state["availability_zone"] = a.Zone
	}
	r.control(t, "report", map[string]any{"agent_state": state})
}

// Silence changes the row of an agent.
func (r *Reference) Silence(t testing.TB, kind Kind, host string) {
	t.Helper()
	r.control(t, "silence", map[string]any{"agent_type": kind.Type(), "host": host})
}

// Wired reports to Neutron that a port was plugged in.
func (r *Reference) Wired(t testing.TB, port, host string) {
	t.Helper()
	r.control(t, "wired", map[string]any{"port": port, "host": host})
}

// SQL changes rows of Neutron's database, as no request does.
func (r *Reference) SQL(t testing.TB, statement string) {
	t.Helper()
	r.control(t, "sql", map[string]any{"statement": statement})
}

// control calls a function that reference.py adds to Neutron.
func (r *Reference) control(t testing.TB, what string, arguments map[string]any) {
	t.Helper()
	body, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if arguments == nil {
		body = nil
	}
	res, err := r.http.Post(r.URL()+"/-/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // only the status matters
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: status %d; Neutron's log says why", what, res.StatusCode)
	}
}
