package ports

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// soon bounds the time in which a restarted service repairs unfinished operations.
const soon = 10 * time.Second

// A cloud is a placement and instances of the network service on one database, hosts whose agents
// have reported two bridges, and a network on one of them.
type cloud struct {
	*testing.T
	places   *rest.Client // past the way
	way      *way
	requests []*instance
	network  string
	reports  map[string][]string // the bridges of each host with a live agent
	hosts    []host
	claims   []claim
	rules    map[int]string // the policies by their guarantee in each direction
}

// A host is a name and the providers of the host and of the bridge that the network is on.
type host struct{ name, root, bridge string }

// An instance is one running network service and its client.
type instance struct {
	*server.Server
	*rest.Client
	metrics string
}

// total is the capacity of a bridge, in kbit/s in each direction.
const total = 100_000

// onEach runs a test for each kind of database.
func onEach(t *testing.T, test func(*testing.T, server.DatabaseKind)) {
	t.Helper()
	for _, kind := range []server.DatabaseKind{server.SQLite, server.MariaDB, server.PostgreSQL} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// newCloud starts instances on a database of a kind.
func newCloud(t *testing.T, kind server.DatabaseKind, instances int, config map[string]map[string]string) *cloud {
	t.Helper()
	places := server.StartBerth(t, server.Options{Database: server.NewDatabase(t, server.SQLite).Berth})
	c := &cloud{
		T: t, places: rest.New(places.URL(), "1.36"), way: newWay(t, places.URL()),
		reports: make(map[string][]string), rules: make(map[int]string),
	}
	t.Cleanup(c.places.Close)
	database := server.NewDatabase(t, kind).Berth
	for range instances {
		c.requests = append(c.requests, c.start(database, config))
	}
	c.addHost("host0")
	c.network = c.make("network", rest.Object{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	})
	return c
}

// addHost adds a host, as compute and an agent do.
func (c *cloud) addHost(name string) host {
	c.Helper()
	h := host{name: name, root: rest.UUID("ab", len(c.hosts))}
	c.places.Must(c, 200, "POST", "/resource_providers", rest.Object{"name": name, "uuid": h.root})
	c.places.Must(c, 200, "PUT", "/resource_providers/"+h.root+"/inventories",
		rest.Inventories(0, rest.Resources{"VCPU": 64}))
	c.reports[name] = []string{"br-a", "br-b"}
	c.settles()
	h.bridge = c.provider(name + ":Open vSwitch agent:br-a")
	c.hosts = append(c.hosts, h)
	return h
}

// in is the cloud in a subtest.
func (c *cloud) in(t *testing.T) *cloud {
	sub := *c
	sub.T = t
	return &sub
}

func (c *cloud) start(database string, config map[string]map[string]string) *instance {
	c.Helper()
	metrics := servertest.FreeAddress(c)
	all := map[string]map[string]string{
		"berth": {"metrics_listen": metrics}, "ml2_type_vlan": {"network_vlan_ranges": "physnet0,physnet1"},
	}
	maps.Copy(all, config)
	s := server.StartNetwork(c, c.way.url, server.Options{Database: database, Config: all})
	i := &instance{s, rest.New(s.URL(), ""), "http://" + metrics + "/metrics"}
	c.Cleanup(i.Close)
	return i
}

// heartbeat is the report of a host's agent: devices of a hypervisor, with a physical network on
// each bridge.
func heartbeat(host, hypervisor string, bridges ...string) request {
	mappings, rates, hypervisors := rest.Object{}, rest.Object{}, rest.Object{}
	for n, name := range bridges {
		mappings[fmt.Sprint("physnet", n)], hypervisors[name] = name, hypervisor
		rates[name] = rest.Object{"egress": total, "ingress": total}
	}
	return request{"POST", "/berth/v1/heartbeats", rest.Object{"agent": rest.Object{
		"agent_type": "Open vSwitch agent", "binary": "neutron-openvswitch-agent", "host": host,
		"configurations": rest.Object{
			"bridge_mappings": mappings, "resource_provider_bandwidths": rates, "resource_provider_hypervisors": hypervisors,
		},
	}}}
}

// beat sends a heartbeat of an agent. Any answer is accepted: a heartbeat may be lost.
func (i *instance) beat(host string, bridges []string) {
	_, _ = heartbeat(host, host, bridges...).send(i)
}

// provider returns the UUID of a provider in placement.
func (c *cloud) provider(name string) string {
	c.Helper()
	var all struct {
		Providers []struct{ UUID string } `json:"resource_providers"`
	}
	c.places.Read(c, "/resource_providers?name="+url.QueryEscape(name), &all)
	if len(all.Providers) != 1 {
		c.Fatalf("placement has %d providers of the name %s", len(all.Providers), name)
	}
	return all.Providers[0].UUID
}

// make creates an object and returns its id.
func (c *cloud) make(kind string, object rest.Object) string {
	c.Helper()
	return c.makeAt("/v2.0/"+kind+"s", kind, object)
}

func (c *cloud) makeAt(path, kind string, object rest.Object) string {
	c.Helper()
	var made map[string]struct{ ID string }
	a := c.requests[0].Must(c, 201, "POST", path, rest.Object{kind: object})
	if err := json.Unmarshal(a.Body, &made); err != nil {
		c.Fatal(err)
	}
	return made[kind].ID
}

// policy is one that guarantees kbps in each direction.
func (c *cloud) policy(kbps int) string {
	c.Helper()
	if id := c.rules[kbps]; id != "" {
		return id
	}
	id := c.makeAt("/v2.0/qos/policies", "policy", rest.Object{"name": fmt.Sprint(kbps)})
	for _, direction := range []string{"egress", "ingress"} {
		c.makeAt("/v2.0/qos/policies/"+id+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", rest.Object{
			"min_kbps": kbps, "direction": direction,
		})
	}
	c.rules[kbps] = id
	return id
}

// settles waits until all agents are reported to be in placement and the first instance has no
// pending changes there. The agents send heartbeats meanwhile.
func (c *cloud) settles() {
	c.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		for host, bridges := range c.reports {
			c.requests[0].beat(host, bridges)
		}
		synced, err := c.requests[0].synced()
		remaining := c.unfinished()
		if synced && remaining == "0" {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("after %s: all agents are in placement: %t, %v; unfinished changes: %s", soon, synced, err, remaining)
		}
	}
}

// synced reports whether all agents are reported to be in placement.
func (i *instance) synced() (bool, error) {
	var all struct {
		Agents []struct {
			Synced *bool `json:"resources_synced"`
		}
	}
	a, err := i.Do("GET", "/v2.0/agents", nil)
	if err == nil {
		err = json.Unmarshal(a.Body, &all)
	}
	for _, agent := range all.Agents {
		if agent.Synced == nil || !*agent.Synced {
			return false, err
		}
	}
	return err == nil && len(all.Agents) > 0, err
}

// tree returns the names of the providers of a host, sorted.
func (c *cloud) tree(host string) (names []string) {
	c.Helper()
	var all struct {
		Providers []struct{ Name string } `json:"resource_providers"`
	}
	c.places.Read(c, "/resource_providers?in_tree="+c.provider(host), &all)
	for _, p := range all.Providers {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

var unfinished = regexp.MustCompile(`(?m)^berth_network_unfinished_changes (\S+)$`)

// unfinished is the number of the first instance's pending changes in placement.
func (c *cloud) unfinished() string {
	res, err := http.Get(c.requests[0].metrics)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if m := unfinished.FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return fmt.Sprintf("%s, %v", text, err)
}
