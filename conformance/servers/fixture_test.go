package servers

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the databases of the compute service
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// soon bounds the time in which the services repair unfinished operations, once they run and may
// continue them.
const soon = 30 * time.Second

// A cloud is the three services and hosts, and a network on a bridge of each.
type cloud struct {
	*testing.T
	places, nets, address *rest.Client // past the ways
	report                *rest.Client // for hosts' requests to the compute service
	ways                  *ways
	toPlaces, toNets      *way
	compute               *server.Server
	second                *server.Server // of two compute services, nil for one
	front                 *front         // of two compute services
	at                    string         // the address of the compute service
	networking            *server.Server // nil unless it is Berth's
	oneBinding            bool           // ports have one binding only, and no requests for it
	rows                  *sql.DB        // of the compute service
	driver                string         // of rows
	services              *fakehosts.Services
	hosts                 []*fakehosts.Host
	network               string
	running               map[string]running     // hosts
	given                 map[string]bool        // ports that were created without a server
	delayed               map[string]allocations // what servers have before they are moved
	rules                 map[int]string         // the policies by their guarantee in each direction

	copies   copies
	refusals int                                                   // of changes by the database
	broken   bool                                                  // a server may be in error on its host
	fails    atomic.Pointer[func(host, verb, server string) error] // returns the error of hosts' work
}

// The flavor of all servers.
var flavor = rest.Resources{"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}

// The flavor that servers are resized to.
var larger = rest.Resources{"VCPU": 2, "MEMORY_MB": 128, "DISK_GB": 2}

// room is the capacity of a bridge, in kbit/s in each direction.
const room = 7000

// nics are the interfaces of a host with virtual functions. Each has bandwidth for one port of the
// scenarios.
var nics = []fakehosts.NIC{
	{Name: "ens1", PhysicalNetwork: "physnet0", Kbps: rate + rate/2, VFs: 1},
	{Name: "ens2", PhysicalNetwork: "physnet0", Kbps: rate + rate/2, VFs: 2},
}

// A kind of port is how it is bound, and which agent's device gives its bandwidth.
type kind struct {
	vif, agent string
	device     func(slot string) string
}

// kinds are those of the ports, by vnic_type.
var kinds = map[string]kind{
	"normal": {"ovs", "Open vSwitch agent", func(string) string { return fakehosts.Bridge("physnet0") }},
	"direct": {"hw_veb", "NIC Switch agent", func(slot string) string {
		for i, n := range nics {
			for vf := range n.VFs {
				if fakehosts.Slot(i, vf) == slot {
					return n.Name
				}
			}
		}
		return ""
	}},
}

// Peers are where placement and the network service are.
type peers struct {
	placement, network string
	// networkToken is a token for the network service, "" with noauth.
	networkToken string
	// service is the network service, nil unless it is Berth's.
	service *server.Server
	// beat has the network agent of a host report, nil if hosts do so themselves.
	beat func(h *fakehosts.Host)
	// compute is called with the address of the compute service, unless it is nil.
	compute func(url string)
	// second has another compute service on the same database, which is PostgreSQL's then.
	second bool
	// ports is the interval of seconds in which ports are compared, 0 for never: their requests would
	// be counted with those of operations.
	ports int
	// patience is how many seconds the compute service waits for an answer, 0 for long
	// enough.
	patience int
}

// newCloud starts one with the given number of hosts, all of it Berth's.
func newCloud(t *testing.T, hosts int) *cloud {
	t.Helper()
	return newCloudWith(t, hosts, berths(t))
}

// berths are peer services that are Berth's.
func berths(t *testing.T) peers {
	t.Helper()
	return berthNetwork(t, server.StartBerth(t, server.Options{}).URL())
}

// berthNetwork starts Berth's network service with a placement service.
func berthNetwork(t *testing.T, placement string) peers {
	t.Helper()
	var relay atomic.Pointer[httputil.ReverseProxy] // to the compute service, which is started later
	events := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { relay.Load().ServeHTTP(w, r) }))
	s := server.StartNetwork(t, placement, server.Options{Config: map[string]map[string]string{
		"ml2_type_vlan": {"network_vlan_ranges": "physnet0"},
		"quotas":        {"quota_port": "-1"},
		"nova":          {"auth_type": "none", "endpoint_override": events + "/v2.1"},
	}})
	return peers{
		placement: placement, network: s.URL(), service: s, compute: func(url string) { relay.Store(proxy(t, url)) },
	}
}

// newCloudWith starts the compute service with peer services and the given number of hosts.
func newCloudWith(t *testing.T, hosts int, n peers) *cloud {
	t.Helper()
	c := &cloud{
		T: t, places: rest.New(n.placement, "1.36"), nets: rest.New(n.network, "").As(n.networkToken), ways: &ways{},
		running: make(map[string]running), given: make(map[string]bool), rules: make(map[int]string),
		delayed:    make(map[string]allocations),
		networking: n.service, oneBinding: n.service == nil,
	}
	c.toPlaces = c.ways.way(t, "compute", "placement", n.placement)
	c.toNets = c.ways.way(t, "compute", "network", n.network)
	c.startCompute(n)
	c.addHosts(hosts, n)
	c.network = c.makeAt(c.nets, "/v2.0/networks", "network", rest.Object{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
		"shared":                   true,
	})
	c.makeAt(c.nets, "/v2.0/subnets", "subnet", rest.Object{
		"network_id": c.network, "ip_version": 4, "cidr": "10.0.0.0/16",
	})
	for id, size := range map[string]rest.Resources{"f": flavor, "larger": larger} {
		c.makeAt(c.address, "/flavors", "flavor", rest.Object{
			"id": id, "name": id, "vcpus": size["VCPU"], "ram": size["MEMORY_MB"], "disk": size["DISK_GB"],
		})
	}
	return c
}

// serve serves until the end of the test, and returns the address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = servertest.Listen(t)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// startCompute starts the compute service. Hosts that are silent for some seconds are down.
func (c *cloud) startCompute(n peers) {
	c.Helper()
	images := serve(c, fakehosts.Images())
	all := map[string]map[string]string{
		"DEFAULT": {
			"service_down_time": "4", "rpc_response_timeout": "20", "heal_instance_info_cache_interval": strconv.Itoa(n.ports),
		},
		"quota": {"instances": "-1", "cores": "-1", "ram": "-1"},
	}
	patience := strconv.Itoa(cmp.Or(n.patience, 30))
	all["placement"], all["neutron"] = map[string]string{"timeout": patience}, map[string]string{"timeout": patience}
	if n.networkToken != "" {
		all["neutron"]["auth_type"], all["neutron"]["token"] = "admin_token", n.networkToken
	}
	if n.second {
		all["berth"] = map[string]string{"takeover_time": strconv.Itoa(n.patience + 1)}
	}
	database, driver, source := c.newDatabase(n.second)
	c.driver = driver
	start := func(places, nets *way) *server.Server {
		return server.StartCompute(c, places.url(), nets.url(), images, server.Options{Database: database, Config: all})
	}
	c.compute = start(c.toPlaces, c.toNets)
	c.at = c.compute.URL()
	if n.second {
		c.second = start(c.ways.way(c.T, "second", "placement", n.placement), c.ways.way(c.T, "second", "network", n.network))
		c.front = newFront(c.T, c.compute.URL(), c.second.URL())
		c.at = c.front.url
	}
	if n.compute != nil {
		n.compute(c.at)
	}
	c.address, c.report = rest.New(c.at+"/v2.1", "compute 2.72"), rest.New(c.at, "")
	var err error
	if c.rows, err = sql.Open(driver, source); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = c.rows.Close()
		c.address.Close()
		c.report.Close()
		c.nets.Close()
		c.places.Close()
	})
}

// newDatabase returns an empty database of the chosen kind, for one service or for two, and how
// database/sql calls it. Two services cannot share a file: they have PostgreSQL then.
func (c *cloud) newDatabase(two bool) (address, driver, source string) {
	c.Helper()
	kind := server.ChosenDatabase(c)
	if kind == server.SQLite && two {
		kind = server.PostgreSQL
	}
	if kind == server.SQLite {
		address = server.NewDatabase(c, kind).Berth
		return address, "sqlite", "file:" + strings.TrimPrefix(address, "sqlite:///") + "?_pragma=busy_timeout(10000)"
	}
	if kind == server.PostgreSQL {
		address = dbtest.PostgreSQL(c).NewDatabase(c) // without a standby
	} else {
		address = server.NewDatabase(c, kind).Berth
	}
	u, err := url.Parse(address)
	if err != nil {
		c.Fatal(err)
	}
	if kind == server.PostgreSQL {
		u.Scheme, u.RawQuery = "postgres", "sslmode=disable"
		return address, "pgx", u.String()
	}
	password, _ := u.User.Password()
	node, _, _ := strings.Cut(u.Host, ",")
	return address, "mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", u.User.Username(), password, node, u.Path)
}

// addHosts adds hosts, which work until the test ends.
func (c *cloud) addHosts(count int, n peers) {
	c.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	c.services = &fakehosts.Services{
		Placement: n.placement, Network: n.network, Compute: c.at,
		Client:         &http.Client{Transport: transport, Timeout: time.Minute},
		ReportInterval: time.Second, Again: 20 * time.Millisecond,
	}
	if n.beat != nil {
		c.services.Network = ""
	}
	for i := range count {
		h := &fakehosts.Host{
			Name: fmt.Sprint("host", i), ID: rest.UUID("ab", i), VCPUs: 64, MemoryMB: 65536, DiskGB: 1000,
			Bridges: map[string]int{"physnet0": room}, NICs: nics,
		}
		h.Driver.Fail = func(verb, id string) (err error) {
			if fails := c.fails.Load(); fails != nil {
				err = (*fails)(h.Name, verb, id)
			}
			if err == nil {
				c.copies.did(h.Name, verb, id)
			}
			return err
		}
		c.hosts = append(c.hosts, h)
	}
	if err := c.services.Introduce(c.Context(), c.hosts...); err != nil {
		c.Fatal(err)
	}
	for _, h := range c.hosts {
		if n.beat != nil {
			n.beat(h)
		}
		c.run(h)
	}
	c.Cleanup(transport.CloseIdleConnections)
}

// run runs a host until the end of the test, or until it is stopped.
func (c *cloud) run(h *fakehosts.Host) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.services.Run(ctx, h)
	}()
	c.running[h.Name] = running{cancel, done}
	c.Cleanup(func() { cancel(); <-done })
}

// lives reports whether a host runs.
func (c *cloud) lives(host string) bool { return c.running[host].end != nil }

// running is a host that runs: the function that stops it, and the channel that is closed when it
// has ended.
type running struct {
	end   func()
	ended chan struct{}
}

// makeAt creates an object of a service and returns its id.
func (c *cloud) makeAt(at *rest.Client, path, kind string, object rest.Object) string {
	c.Helper()
	var made map[string]struct{ ID string }
	a := at.Must(c, 201, "POST", path, rest.Object{kind: object})
	if err := json.Unmarshal(a.Body, &made); err != nil {
		c.Fatal(err)
	}
	return made[kind].ID
}

// policy is one that guarantees kbps in each direction.
func (c *cloud) policy(kbps int) string {
	c.Helper()
	if c.rules[kbps] == "" {
		const path = "/v2.0/qos/policies"
		c.rules[kbps] = c.makeAt(c.nets, path, "policy", rest.Object{"name": fmt.Sprint(kbps)})
		for _, direction := range []string{"egress", "ingress"} {
			c.makeAt(c.nets, path+"/"+c.rules[kbps]+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
				rest.Object{"min_kbps": kbps, "direction": direction})
		}
	}
	return c.rules[kbps]
}

// newPort creates a port without a server that guarantees kbps.
func (c *cloud) newPort(kbps int) string {
	c.Helper()
	return c.newPortOf("normal", kbps)
}

// newPortOf creates a port of a type without a server; 0 kbps are no guarantee.
func (c *cloud) newPortOf(vnic string, kbps int) string {
	c.Helper()
	object := rest.Object{"network_id": c.network, "binding:vnic_type": vnic}
	if kbps > 0 {
		object["qos_policy_id"] = c.policy(kbps)
	}
	id := c.makeAt(c.nets, "/v2.0/ports", "port", object)
	c.given[id] = true
	return id
}

// A body of a request for servers with these interfaces: ports, and "" for one in the network.
func (c *cloud) wish(servers int, ports ...string) rest.Object {
	networks := make([]rest.Object, len(ports))
	for i, p := range ports {
		networks[i] = rest.Object{"port": p}
		if p == "" {
			networks[i] = rest.Object{"uuid": c.network}
		}
	}
	return rest.Object{"server": rest.Object{
		"name": "vm", "imageRef": fakehosts.Image, "flavorRef": "f", "networks": networks, "min_count": servers,
		"max_count": servers,
	}}
}

// send sends the compute service a request. Any answer will do: it may be killed.
func (c *cloud) send(method, path string, body any) rest.Answer {
	a, _ := c.address.Do(method, path, body)
	return a
}

// boot boots servers, which must be accepted, and returns the first.
func (c *cloud) boot(servers int, ports ...string) string {
	c.Helper()
	var made struct{ Server struct{ ID string } }
	a := c.address.Must(c, 202, "POST", "/servers", c.wish(servers, ports...))
	if err := json.Unmarshal(a.Body, &made); err != nil {
		c.Fatal(err)
	}
	return made.Server.ID
}

// rests waits until no operation on servers is under way.
func (c *cloud) rests() {
	c.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		remaining := c.underWay()
		if remaining == "" {
			return
		}
		if time.Now().After(end) {
			c.Errorf("under way after %s: %s", soon, remaining)
			return
		}
	}
}

// underWay lists the operations, "" for none.
func (c *cloud) underWay() string {
	rows, err := c.rows.QueryContext(context.Background(), "SELECT kind, step, server FROM operations")
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var kind, step, id string
		if err := rows.Scan(&kind, &step, &id); err != nil {
			return err.Error()
		}
		all = append(all, kind+"/"+step+" of "+id)
	}
	if err := rows.Err(); err != nil {
		return err.Error()
	}
	return strings.Join(all, ", ")
}

// lapse ends the leases and pauses of operations, so that tests need not wait for the minute, or
// for the seconds, that this takes otherwise. See TestKilledServiceTakesOver.
func (c *cloud) lapse() {
	c.Helper()
	if _, err := c.rows.ExecContext(context.Background(),
		"UPDATE operations SET lease = NULL, worker = CASE worker WHEN 'unanswered' THEN '' ELSE worker END"); err != nil {
		c.Error(err)
	}
}

// wake makes the service check for work, which it does on requests of hosts.
func (c *cloud) wake() {
	c.Helper()
	nobodys := rest.UUID("dead", 1)
	c.report.Must(c, 204, "POST", "/berth/v1/hosts/host0/servers",
		rest.Object{"results": []rest.Object{{"server": nobodys, "event": nobodys}}})
}
