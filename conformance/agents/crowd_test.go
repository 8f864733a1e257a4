package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// A crowd is many hosts with an agent each, a network service and a placement.
type crowd struct {
	testing.TB
	hosts              int
	places, networks   *server.Server
	placesAt, networkA string // metrics
	client             http.Client
}

// at once is how many agents report at the same time.
const atOnce = 64

// newCrowd starts the services on databases of a kind, with the provider of each host.
func newCrowd(t testing.TB, hosts int, kind server.DatabaseKind) *crowd {
	t.Helper()
	c := &crowd{TB: t, hosts: hosts, placesAt: servertest.FreeAddress(t), networkA: servertest.FreeAddress(t)}
	metrics := func(address string) map[string]map[string]string {
		return map[string]map[string]string{"berth": {"metrics_listen": address}}
	}
	c.places = server.StartBerth(t, server.Options{
		Config: metrics(c.placesAt), Database: server.NewDatabase(t, kind).Berth,
	})
	c.networks = server.StartNetwork(t, c.places.URL(), server.Options{
		Config: metrics(c.networkA), Database: server.NewDatabase(t, kind).Berth,
	})
	c.connect()
	return c
}

// connect creates the client of the crowd, and the providers of the hosts.
func (c *crowd) connect() {
	c.Helper()
	c.client = http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	c.Cleanup(c.client.CloseIdleConnections)
	c.each(func(i int) {
		c.request(c.places.URL(), http.MethodPost, "/resource_providers", `{"name": "`+host(i)+`"}`)
	})
}

func host(i int) string { return fmt.Sprintf("host%04d", i) }

// each runs fn for each host, many at a time.
func (c *crowd) each(fn func(host int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range c.hosts {
		next <- i
	}
	close(next)
	workers.Wait()
}

// request sends a request as an administrator and returns the answer, which must be a success.
func (c *crowd) request(url, method, path, body string) string {
	c.Helper()
	text, err := c.try(url, method, path, body)
	if err != nil {
		c.Errorf("%s %s: %v", method, path, err)
	}
	return text
}

// try is request that accepts any status.
func (c *crowd) try(url, method, path, body string) (string, error) {
	r, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.37")
	r.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%d %s", res.StatusCode, text)
	}
	return string(text), err
}

// heartbeat is the heartbeat of a host's agent: a bridge on each of two physical networks, or other
// ones in their place.
func heartbeat(i int, start bool, bridges ...string) string {
	if len(bridges) == 0 {
		bridges = []string{"br-a", "br-b"}
	}
	mappings, rates, hypervisors := map[string]string{}, map[string]any{}, map[string]string{}
	for n, name := range bridges {
		mappings[fmt.Sprint("physnet", n)], hypervisors[name] = name, host(i)
		rates[name] = map[string]int{"egress": 10_000_000, "ingress": 10_000_000}
	}
	text, _ := json.Marshal(map[string]any{"agent": map[string]any{
		"agent_type": "Open vSwitch agent", "binary": "neutron-openvswitch-agent", "host": host(i), "start_flag": start,
		"configurations": map[string]any{
			"bridge_mappings": mappings, "resource_provider_bandwidths": rates, "resource_provider_hypervisors": hypervisors,
		},
	}})
	return string(text)
}

// report has all agents report.
func (c *crowd) report(start bool, bridges ...string) {
	c.Helper()
	c.each(func(i int) {
		c.request(c.networks.URL(), http.MethodPost, "/berth/v1/heartbeats", heartbeat(i, start, bridges...))
	})
}

// synced returns the number of agents that are reported to be in placement.
func (c *crowd) synced() int {
	text, _ := c.try(c.networks.URL(), http.MethodGet, "/v2.0/agents?fields=resources_synced", "")
	return strings.Count(text, `"resources_synced": true`)
}

// awaits waits until all agents are reported to be in placement.
func (c *crowd) awaits(limit time.Duration) {
	c.Helper()
	for end := time.Now().Add(limit); c.synced() < c.hosts; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("%d of %d agents are in placement after %v", c.synced(), c.hosts, limit)
		}
	}
}

// complete checks that placement has exactly the tree of each host: an agent's provider without
// writes after its creation, and devices with the expected number of writes.
func (c *crowd) complete(deviceGeneration string, bridges ...string) {
	c.Helper()
	var all struct {
		Providers []struct {
			UUID, Name string
			Parent     *string `json:"parent_provider_uuid"`
			Generation json.Number
		} `json:"resource_providers"`
	}
	err := json.Unmarshal([]byte(c.request(c.places.URL(), http.MethodGet, "/resource_providers", "")), &all)
	if err != nil {
		c.Fatal(err)
	}
	names := map[string]string{}
	for _, p := range all.Providers {
		names[p.UUID] = p.Name
	}
	var got, want []string
	for _, p := range all.Providers {
		line := p.Name
		if p.Parent != nil {
			line += " below " + names[*p.Parent]
		}
		if strings.Contains(p.Name, ":") && deviceGeneration != "" {
			line += " " + p.Generation.String()
		}
		got = append(got, line)
	}
	generation := func(number string) string {
		if deviceGeneration == "" {
			return ""
		}
		return " " + number
	}
	for i := range c.hosts {
		agent := host(i) + ":Open vSwitch agent"
		want = append(want, host(i), agent+" below "+host(i)+generation("0"))
		for _, b := range bridges {
			want = append(want, agent+":"+b+" below "+agent+generation(deviceGeneration))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.Errorf("placement has %d providers, want %d; the first that differs is %q, want %q", len(got), len(want),
			firstDifferent(got, want), firstDifferent(want, got))
	}
}

func firstDifferent(list, from []string) string {
	i := slices.IndexFunc(list, func(s string) bool { return !slices.Contains(from, s) })
	if i < 0 {
		return ""
	}
	return list[i]
}

// promising returns the number of providers that could serve a port on a physical network: those
// that have its trait, a VNIC type and free capacity.
func (c *crowd) promising(network string) int {
	c.Helper()
	text := c.request(c.places.URL(), http.MethodGet,
		"/resource_providers?required=CUSTOM_VNIC_TYPE_NORMAL,CUSTOM_PHYSNET_"+network+
			"&resources=NET_BW_EGR_KILOBIT_PER_SEC:10000000,NET_BW_IGR_KILOBIT_PER_SEC:10000000", "")
	return strings.Count(text, `"uuid"`)
}

// A tally is how many requests placement has answered.
type tally struct{ all, writes int }

func (a tally) less(b tally) tally { return tally{a.all - b.all, a.writes - b.writes} }

var answered = regexp.MustCompile(`(?m)^berth_http_requests_total\{method="(\w+)".*\} (\S+)$`)

// requests returns the requests to placement so far.
func (c *crowd) requests() (n tally) {
	c.Helper()
	for _, m := range answered.FindAllStringSubmatch(c.metrics(c.placesAt), -1) {
		count, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			c.Fatal(err)
		}
		n.all += int(count)
		if m[1] != http.MethodGet {
			n.writes += int(count)
		}
	}
	return n
}

var resident = regexp.MustCompile(`(?m)^process_resident_memory_bytes (\S+)$`)

// memory returns how much a process has in memory, in MB.
func (c *crowd) memory(address string) int {
	c.Helper()
	m := resident.FindStringSubmatch(c.metrics(address))
	if m == nil {
		c.Fatal("the metrics do not say how much memory the process has")
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		c.Fatal(err)
	}
	return int(n) >> 20
}

func (c *crowd) metrics(address string) string {
	c.Helper()
	return c.request("http://"+address, http.MethodGet, "/metrics", "")
}
