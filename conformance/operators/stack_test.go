package operators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

func TestMain(m *testing.M) { server.Main(m) }

type object = map[string]any

// awaitTime bounds what services do after they have answered.
const awaitTime = time.Minute

// A stack is a cloud of services with three hosts, servers and ports. The first host has a bridge
// with bandwidth, and in Debian's cloud the second one too; the third has nothing and runs nothing.
type stack struct {
	t      *testing.T // during which it runs
	debian bool
	hosts  []string
	roots  []string // the UUIDs of their providers
	env    []string // how the administrator logs in
	// people are how others log in, in Debian's cloud, by persona: project-reader, nova, and
	// project-observer, who may read what placement has.
	people map[string][]string

	place, nets, computes *rest.Client

	// database is the URL of placement's database. The functions change rows of the databases, as no
	// request does; they are nil where that is not possible.
	database                                      string
	placementSQL, novaSQL, novaAPISQL, neutronSQL func(t testing.TB, statement string)

	clients map[string]*openstack.Session // that run, by the version of placement's API

	reportCard func(t testing.TB) // has the agent of the first host's card report that it has started, in Debian's cloud

	ids map[string]string // of what load has made, by "kind name"
}

// id returns the id of something that was made.
func (s *stack) id(name string) string {
	id, ok := s.ids[name]
	if !ok {
		panic("nothing is called " + name)
	}
	return id
}

// login are the variables by which a persona logs in.
func login(k *keystonetest.Keystone, persona string) []string {
	p := keystonetest.Find(persona)
	return []string{
		"OS_AUTH_URL=" + k.URL() + "/v3", "OS_IDENTITY_API_VERSION=3", "OS_COMPUTE_API_VERSION=2.88",
		"OS_USERNAME=" + p.Name, "OS_PASSWORD=" + p.Password, "OS_PROJECT_NAME=" + p.Project,
		"OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_DOMAIN_NAME=Default",
	}
}

// observed are the rules of placement's policy about reading.
var observed = regexp.MustCompile(`(?m)(^.*(?::list|:show|usages)": "\(role:admin or role:service)\)`)

// startDebian starts Debian's services.
func startDebian(t *testing.T) *stack {
	t.Helper()
	openstack.Need(t)
	s := &stack{
		debian: true, hosts: []string{"h1", "h2", "h3"}, ids: map[string]string{}, t: t,
		clients: map[string]*openstack.Session{},
	}
	db := dbtest.MariaDB(t)
	owner := db.CreateDatabase(t)
	s.database = owner.URL(db.Address())
	network := neutron.StartReference(t, neutron.Options{
		Catalogue: true, Compute: true, Database: server.NewDatabase(t, server.MariaDB).Upstream,
		Placement: func(k *keystonetest.Keystone) string {
			opts := neutron.PlacementAt(k)
			opts.Database = s.database
			opts.Policy = observed.ReplaceAllString(opts.Policy, `$1 or role:observer)`)
			return neutron.StartPlacement(t, opts)
		},
	})
	k := network.Keystone()
	images := nova.StartImages(t)
	k.Service("image", "glance", images)
	uuids := map[string]string{}
	for i, host := range s.hosts {
		s.roots = append(s.roots, fmt.Sprintf("99999999-0000-4000-8000-%012d", i+1))
		uuids[host] = s.roots[i]
	}
	compute := nova.StartWhole(t,
		nova.Peers{Keystone: k, Placement: network.PlacementURL(), Network: network.URL(), Image: images}, uuids)

	s.env = login(k, "project-admin")
	s.people = map[string][]string{}
	for _, persona := range []string{"project-reader", "project-observer", "nova"} {
		s.people[persona] = login(k, persona)
	}
	token := k.Token(keystonetest.Find("project-admin"))
	s.place = rest.New(network.PlacementURL(), "1.39").As(token)
	s.nets = rest.New(network.URL()+"/v2.0", "").As(token)
	s.computes = rest.New(compute.URL()+"/v2.1", "compute 2.88").As(token)
	s.placementSQL = func(t testing.TB, statement string) {
		t.Helper()
		db.Exec(t, "USE "+owner.Name, statement)
	}
	s.neutronSQL = network.SQL
	control := rest.New(compute.URL(), "")
	s.novaSQL = func(t testing.TB, statement string) {
		t.Helper()
		control.Must(t, http.StatusNoContent, "POST", "/-/sql", object{"statement": statement})
	}
	s.novaAPISQL = func(t testing.TB, statement string) {
		t.Helper()
		control.Must(t, http.StatusNoContent, "POST", "/-/sql", object{"statement": statement, "api": true})
	}

	defaults := object{"allocation_ratio": 1.0, "min_unit": 1, "step_size": 1, "reserved": 0}
	rates := func(device string) object {
		return object{device: object{"egress": bandwidth, "ingress": bandwidth}}
	}
	for _, host := range s.hosts[:2] {
		network.Heartbeat(t, neutron.Agent{Kind: neutron.OVS, Host: host, Start: true, Configurations: object{
			"bridge_mappings": object{"physnet0": "br-physnet0"}, "integration_bridge": "br-int", "datapath_type": "system",
			"ovs_hybrid_plug":              false,
			"resource_provider_bandwidths": rates("br-physnet0"), "resource_provider_hypervisors": object{"br-physnet0": host},
			"resource_provider_packet_processing_without_direction":  object{host: object{"any": packets}},
			"resource_provider_inventory_defaults":                   defaults,
			"resource_provider_packet_processing_inventory_defaults": defaults,
		}})
	}
	s.reportCard = func(t testing.TB) {
		t.Helper()
		network.Heartbeat(t, neutron.Agent{Kind: neutron.SRIOV, Host: s.hosts[0], Start: true, Configurations: object{
			"device_mappings":              object{"physnet0": []string{"ens5"}},
			"resource_provider_bandwidths": rates("ens5"), "resource_provider_hypervisors": object{"ens5": s.hosts[0]},
			"resource_provider_inventory_defaults": defaults,
		}})
	}
	s.reportCard(t)
	s.load(t)
	return s
}

// startBerth starts "berth up".
func startBerth(t *testing.T) *stack {
	t.Helper()
	openstack.Need(t)
	s := &stack{
		hosts: []string{"devstack0", "devstack1", "devstack2"}, ids: map[string]string{}, t: t,
		clients: map[string]*openstack.Session{},
	}
	network, compute := servertest.FreeAddress(t), servertest.FreeAddress(t)
	up, dir := server.StartBerthUp(t, "--hosts", "3", "--network-listen", network, "--compute-listen", compute)
	token := server.UpToken(t, dir)
	s.env = []string{"OS_CLIENT_CONFIG_FILE=" + filepath.Join(dir, "clouds.yaml"), "OS_CLOUD=berth-admin"}
	s.database = "sqlite:///" + filepath.Join(dir, "placement.db")
	s.place = rest.New(up.URL(), "1.39").As(token)
	s.nets = rest.New("http://"+network+"/v2.0", "").As(token)
	s.computes = rest.New("http://"+compute+"/v2.1", "compute 2.88").As(token)
	await(t, "the hosts and their devices", func() bool { return len(s.providers(t)) == 7 })
	for _, host := range s.hosts {
		s.roots = append(s.roots, s.provider(t, host))
	}
	s.load(t)
	return s
}

// environment is that of a client that logs in.
func (s *stack) environment(t testing.TB, login []string) []string {
	return append([]string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8", "COLUMNS=1000"}, login...)
}

// The devices have little bandwidth, and packets in kpps.
const (
	bandwidth = 10_000
	packets   = 1_000
)

// load makes servers and ports, and what they need. Names of ids are "kind name".
func (s *stack) load(t *testing.T) {
	t.Helper()
	made := func(c *rest.Client, path, kind, name string, body object) string {
		t.Helper()
		id := made(t, c, path, kind, body)
		s.ids[kind+" "+name] = id
		return id
	}
	net0 := made(s.nets, "/networks", "network", "net0", object{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100, "shared": true,
	})
	made(s.nets, "/subnets", "subnet", "subnet0", object{"network_id": net0, "ip_version": 4, "cidr": "10.0.4.0/24"})
	gold := made(s.nets, "/qos/policies", "policy", "gold", object{"name": "gold"})
	for _, direction := range []string{"egress", "ingress"} {
		s.nets.Must(t, http.StatusCreated, "POST", "/qos/policies/"+gold+"/minimum_bandwidth_rules",
			object{"minimum_bandwidth_rule": object{"min_kbps": 1_000, "direction": direction}})
	}
	if s.debian { // the agents of "berth up" have no rates of packets
		s.nets.Must(t, http.StatusCreated, "POST", "/qos/policies/"+gold+"/minimum_packet_rate_rules",
			object{"minimum_packet_rate_rule": object{"min_kpps": 10, "direction": "any"}})
	}
	vast := made(s.nets, "/qos/policies", "policy", "vast", object{"name": "vast"})
	s.nets.Must(t, http.StatusCreated, "POST", "/qos/policies/"+vast+"/minimum_bandwidth_rules",
		object{"minimum_bandwidth_rule": object{"min_kbps": 100_000_000, "direction": "egress"}})
	made(s.nets, "/ports", "port", "vast", object{"name": "vast", "network_id": net0, "qos_policy_id": vast})
	for _, name := range []string{"first", "second", "waiting"} {
		made(s.nets, "/ports", "port", name, object{"name": name, "network_id": net0, "qos_policy_id": gold})
	}
	made(s.nets, "/ports", "port", "usual", object{"name": "usual", "network_id": net0})
	s.computes.Must(t, http.StatusOK, "POST", "/flavors",
		object{"flavor": object{"id": "f1", "name": "small", "vcpus": 1, "ram": 256, "disk": 1}})

	boot := func(name, flavor, host string, networks any) {
		t.Helper()
		body := object{"name": name, "flavorRef": flavor, "imageRef": image, "networks": networks}
		if host != "" {
			body["host"] = host
		}
		made(s.computes, "/servers", "server", name, body)
	}
	onPorts := func(names ...string) (list []object) {
		for _, name := range names {
			list = append(list, object{"port": s.id("port " + name)})
		}
		return list
	}
	boot("golden", "f1", s.hosts[0], onPorts("first", "usual"))
	boot("double", "f1", s.hosts[0], onPorts("second"))
	boot("plain", "f1", s.hosts[1], "none")
	boot("moved", "f1", s.hosts[1], "none")
	boot("offloaded", "f1", s.hosts[0], onPorts("waiting"))
	boot("failed", "f1", "", onPorts("vast"))
	s.await(t, "failed", "ERROR")
	for _, name := range []string{"golden", "double", "plain", "moved", "offloaded"} {
		s.await(t, name, "ACTIVE")
	}
	s.action(t, "offloaded", object{"shelve": nil})
	await(t, "the server is shelved", func() bool { return strings.HasPrefix(s.status(t, "offloaded"), "SHELVED") })
	if s.status(t, "offloaded") == "SHELVED" {
		s.action(t, "offloaded", object{"shelveOffload": nil})
	}
	s.await(t, "offloaded", "SHELVED_OFFLOADED")
	s.action(t, "moved", object{"migrate": object{"host": s.hosts[0]}})
	s.await(t, "moved", "VERIFY_RESIZE")
	var aggregate struct{ Aggregate struct{ ID int } }
	a := s.computes.Must(t, http.StatusOK, "POST", "/os-aggregates",
		object{"aggregate": object{"name": "fast", "availability_zone": nil}})
	if err := json.Unmarshal(a.Body, &aggregate); err != nil {
		t.Fatal(err)
	}
	s.ids["aggregate fast"] = fmt.Sprint(aggregate.Aggregate.ID)
	for _, host := range s.hosts[:2] {
		s.computes.Must(t, http.StatusOK, "POST", "/os-aggregates/"+s.id("aggregate fast")+"/action",
			object{"add_host": object{"host": host}})
	}
}

// made makes an object and returns its id.
func made(t testing.TB, c *rest.Client, path, kind string, body object) string {
	t.Helper()
	var answer map[string]struct{ ID any }
	if err := json.Unmarshal(c.Must(t, http.StatusCreated, "POST", path, object{kind: body}).Body, &answer); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer[kind].ID)
}

// image is the one image of the services.
const image = "c1440051-0000-4000-8000-000000000051"

func (s *stack) action(t testing.TB, server string, body object) {
	t.Helper()
	s.computes.Must(t, http.StatusAccepted, "POST", "/servers/"+s.id("server "+server)+"/action", body)
}

// show returns a server.
func (s *stack) show(t testing.TB, server string) object {
	t.Helper()
	var answer struct{ Server object }
	s.computes.Read(t, "/servers/"+s.id("server "+server), &answer)
	return answer.Server
}

// status returns the status of a server, with its task when it has one.
func (s *stack) status(t testing.TB, server string) string {
	t.Helper()
	shown := s.show(t, server)
	if task := shown["OS-EXT-STS:task_state"]; task != nil {
		return fmt.Sprint(shown["status"], " ", task)
	}
	return fmt.Sprint(shown["status"])
}

func (s *stack) await(t testing.TB, server, status string) {
	t.Helper()
	await(t, server+" is "+status, func() bool {
		now := s.status(t, server)
		if now == "ERROR" && status != "ERROR" {
			t.Fatalf("%s is in error: %v", server, s.show(t, server)["fault"])
		}
		return now == status
	})
}

func await(t testing.TB, what string, cur func() bool) {
	t.Helper()
	for end := time.Now().Add(awaitTime); !cur(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not become true that %s", what)
		}
	}
}

// providers are the UUIDs of placement's providers, by name.
func (s *stack) providers(t testing.TB) map[string]string {
	t.Helper()
	var list struct {
		Providers []struct{ UUID, Name string } `json:"resource_providers"`
	}
	s.place.Read(t, "/resource_providers", &list)
	all := map[string]string{}
	for _, p := range list.Providers {
		all[p.Name] = p.UUID
	}
	return all
}

// provider returns the UUID of a provider.
func (s *stack) provider(t testing.TB, name string) string {
	t.Helper()
	uuid := s.providers(t)[name]
	if uuid == "" {
		t.Fatalf("there is no provider %s", name)
	}
	return uuid
}

// bridge returns the provider of a host's bridge.
func (s *stack) bridge(t testing.TB, host int) string {
	t.Helper()
	return s.provider(t, s.hosts[host]+":Open vSwitch agent:br-physnet0")
}

// A said is what a command says.
type said struct {
	code           int
	stdout, stderr string
}

func (s said) String() string { return fmt.Sprintf("exit code %d\n%s\n%s", s.code, s.stdout, s.stderr) }

// berth runs the program with an environment, the administrator's for nil.
func (s *stack) berth(t testing.TB, env []string, args ...string) said {
	t.Helper()
	if env == nil {
		env = s.env
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(server.Berth(t), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.environment(t, env), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return said{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// A subject is a record that a finding is about.
type subject struct{ Kind, ID, Name string }

// client returns a client for a version of placement's API, "" for its default. It runs as long as
// the stack.
func (s *stack) client(version string) *openstack.Session {
	if s.clients[version] == nil {
		env := s.environment(s.t, s.env)
		if version != "" {
			env = append(env, "OS_PLACEMENT_API_VERSION="+version)
		}
		s.clients[version] = openstack.NewSession(s.t, env)
	}
	return s.clients[version]
}

// A finding is what audit prints of one.
type finding struct {
	Code                     string
	About                    []subject
	Found, Expected, Command string
}

// audit runs audit and returns what it finds.
func (s *stack) audit(t testing.TB, args ...string) []finding {
	t.Helper()
	got := s.berth(t, nil, append([]string{"audit", "-f", "json"}, args...)...)
	var result struct{ Findings []finding }
	if err := json.Unmarshal([]byte(got.stdout), &result); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if want := map[bool]int{true: 0, false: 6}[len(result.Findings) == 0]; got.code != want {
		t.Errorf("the exit code of audit is %d, want %d\n%s", got.code, want, got)
	}
	return result.Findings
}

// codes are the codes of findings, each once, sorted.
func codes(list []finding) []string {
	set := map[string]bool{}
	for _, f := range list {
		set[f.Code] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// file writes a file of the test.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
