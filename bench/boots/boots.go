// Package boots boots servers with guaranteed ports with Berth's three services, on simulated
// hosts, measures the times, and then compares the records of the services. It does not start the
// services.
package boots

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/records"
)

// A Plan is a run on services without any objects.
type Plan struct {
	Placement, Network, Compute string // addresses without a trailing slash
	// Hosts is the number of hosts, Boots the number of servers, Clients the number of concurrent
	// boots.
	Hosts, Boots, Clients int
	// Say is called with progress messages.
	Say func(format string, args ...any)
	// Booting is called with the function that boots the servers, which is measured.
	Booting func(boot func() error) error
	// Granted returns afterwards when placement accepted the claim of each server.
	Granted func() (map[string]time.Time, error)
}

// Networks are the physical networks that each host has a bridge on. Each server has a port on
// each of them.
var Networks = []string{"physnet0", "physnet1"}

// Rates in kbit/s, in each direction.
const (
	bridgeRate = 10_000_000
	portRate   = 100_000
)

// The flavor of the servers.
var flavor = records.Amounts{"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}

// A Result is the result of a plan.
type Result struct {
	Took time.Duration // from the first request to the last server that was up
	// Accepted is until the request for a server was answered, Scheduled until placement
	// had granted it a host, Building until that began to build it, Up until it was up;
	// all from the request on.
	Accepted, Scheduled, Building, Up load.Times
	NotUp                             int      // servers
	Wrong                             []string // inconsistencies of the records
}

// A cloud is services with hosts, networks, and ports for servers.
type cloud struct {
	Plan
	*api
	hosts    []*fakehosts.Host
	built    signals
	networks []string // ids
	ports    [][]string
}

// Run carries a plan out.
func Run(ctx context.Context, p Plan) (*Result, error) {
	transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: p.Hosts + 2*p.Clients + 100}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	c := &cloud{Plan: p, api: &api{client}, built: signals{m: map[string]*signal{}}}
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	services := &fakehosts.Services{Placement: p.Placement, Network: p.Network, Compute: p.Compute, Client: client}
	c.makeHosts()
	begin := time.Now()
	if err := services.Introduce(ctx, c.hosts...); err != nil {
		return nil, err
	}
	c.Say("%d hosts are known after %v", p.Hosts, time.Since(begin).Round(time.Millisecond))
	all.Go(func() { services.Run(running, c.hosts...) })
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// makeHosts creates hosts that signal when they build.
func (c *cloud) makeHosts() {
	for i := range c.Hosts {
		h := &fakehosts.Host{
			Name: fmt.Sprintf("host%04d", i), ID: fmt.Sprintf("b007b007-0000-4000-8000-%012x", i),
			VCPUs: 64, MemoryMB: 262_144, DiskGB: 2000, Bridges: map[string]int{},
		}
		for _, network := range Networks {
			h.Bridges[network] = bridgeRate
		}
		h.Driver.Fail = func(verb, server string) error {
			if verb == "build" {
				c.built.give(server)
			}
			return nil
		}
		c.hosts = append(c.hosts, h)
	}
}

// prepare creates the objects that the boots need.
func (c *cloud) prepare(ctx context.Context) error {
	var policy, flavor string
	err := c.make(ctx, c.Network+"/v2.0/qos/policies", "policy", object{"name": "guaranteed"}, &policy)
	for _, direction := range []string{"egress", "ingress"} {
		if err == nil {
			err = c.make(ctx, c.Network+"/v2.0/qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
				object{"min_kbps": portRate, "direction": direction}, nil)
		}
	}
	for i, physical := range Networks {
		var id string
		if err == nil {
			err = c.make(ctx, c.Network+"/v2.0/networks", "network", object{
				"name": physical, "provider:network_type": "vlan", "provider:physical_network": physical,
				"provider:segmentation_id": 100,
				"qos_policy_id":            nil,
			}, &id)
		}
		if err == nil {
			err = c.make(ctx, c.Network+"/v2.0/subnets", "subnet",
				object{"network_id": id, "ip_version": 4, "cidr": fmt.Sprintf("10.%d.0.0/16", i)}, nil)
		}
		c.networks = append(c.networks, id)
	}
	if err == nil {
		err = c.make(ctx, c.Compute+"/v2.1/flavors", "flavor", object{
			"id": flavorID, "name": "bench", "vcpus": 1, "ram": 512, "disk": 1,
		}, &flavor)
	}
	if err != nil {
		return err
	}
	begin := time.Now()
	c.ports = make([][]string, c.Boots)
	err = c.each(func(i int) error {
		c.ports[i] = make([]string, len(c.networks))
		for n, network := range c.networks {
			if err := c.make(ctx, c.Network+
				"/v2.0/ports", "port", object{"network_id": network, "qos_policy_id": policy}, &c.ports[i][n]); err != nil {
				return err
			}
		}
		return nil
	})
	c.Say("%d ports are made after %v", c.Boots*len(c.networks), time.Since(begin).Round(time.Millisecond))
	return err
}

const flavorID = "bench"

// each calls do for each server, as many at a time as there are clients, until an error.
func (c *cloud) each(do func(i int) error) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var first error
	next := 0
	take := func(err error) (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		i := next
		next++
		return i, first == nil && i < c.Boots
	}
	for range c.Clients {
		all.Go(func() {
			for i, ok := take(nil); ok; {
				i, ok = take(do(i))
			}
		})
	}
	all.Wait()
	return first
}

// run boots all servers and audits the records.
func (c *cloud) run(ctx context.Context) (*Result, error) {
	all := make([]booted, c.Boots)
	r := &Result{}
	err := c.Booting(func() error {
		begin := time.Now()
		err := c.each(func(i int) error { return c.boot(ctx, i, &all[i]) })
		r.Took = time.Since(begin)
		return err
	})
	if err != nil {
		return nil, err
	}
	granted, err := c.Granted()
	if err != nil {
		return nil, err
	}
	for i := range all {
		boot := &all[i]
		r.Accepted = append(r.Accepted, boot.accepted)
		r.Up = append(r.Up, boot.up)
		if built := c.built.of(boot.id); !built.at.IsZero() {
			r.Building = append(r.Building, built.at.Sub(boot.begin))
		}
		if at, ok := granted[boot.id]; ok {
			r.Scheduled = append(r.Scheduled, at.Sub(boot.begin))
		}
	}
	for _, times := range []load.Times{r.Accepted, r.Scheduled, r.Building, r.Up} {
		slices.Sort(times)
	}
	return r, c.audit(ctx, r)
}

// booted is a server and how long it took.
type booted struct {
	id           string
	begin        time.Time
	accepted, up time.Duration
}

// boot boots a server and waits until it is up, or never will be.
func (c *cloud) boot(ctx context.Context, i int, b *booted) error {
	networks := make([]object, len(c.ports[i]))
	for n, port := range c.ports[i] {
		networks[n] = object{"port": port}
	}
	b.begin = time.Now()
	err := c.make(ctx, c.Compute+"/v2.1/servers", "server", object{
		"name": fmt.Sprint("vm", i), "imageRef": fakehosts.Image, "flavorRef": flavorID, "networks": networks,
	}, &b.id)
	if err != nil {
		return err
	}
	b.accepted = time.Since(b.begin)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		c.built.await(ctx, b.id, time.Second) // until the host's signal, polls are rare
		var got struct{ Server struct{ Status string } }
		if err := c.call(ctx, "GET", c.Compute+"/v2.1/servers/"+b.id, nil, &got); err != nil {
			return err
		}
		if got.Server.Status != "BUILD" {
			b.up = time.Since(b.begin)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
