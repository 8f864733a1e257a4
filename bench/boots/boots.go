// Package boots boots servers with guaranteed ports with Berth's three services, on simulated
// hosts, and measures the times. It does not start the services.
package boots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/internal/fakehosts"
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
	// Booted is called at the end, while the hosts still report.
	Booted func() error
}

// Networks are the physical networks that each host has a bridge on. Each server has a port on
// each of them.
var Networks = []string{"physnet0", "physnet1"}

// Rates in kbit/s, in each direction.
const (
	bridgeRate = 10_000_000
	portRate   = 100_000
)

// A Result is the result of a plan.
type Result struct {
	Took time.Duration // from the first request to the last server that was up
	// Accepted is until the request for a server was answered, Scheduled until placement
	// had granted it a host, Building until that began to build it, Up until it was up;
	// all from the request on.
	Accepted, Scheduled, Building, Up load.Times
	NotUp                             int // servers
}

// A cloud is services with hosts, networks, and ports for servers.
type cloud struct {
	Plan
	client   *http.Client
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
	c := &cloud{Plan: p, client: client, built: signals{m: map[string]*signal{}}}
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	services := &fakehosts.Services{
		Placement: p.Placement, Network: p.Network, Compute: p.Compute, Client: client,
		Traits: []string{"OWNER_NOVA"}, // as compute services report
	}
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
	policy, err := c.make(ctx, c.Network+"/v2.0/qos/policies", "policy", object{"name": "guaranteed"})
	if err != nil {
		return err
	}
	for _, direction := range []string{"egress", "ingress"} {
		_, err := c.make(ctx, c.Network+"/v2.0/qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule",
			object{"min_kbps": portRate, "direction": direction})
		if err != nil {
			return err
		}
	}
	for i, physical := range Networks {
		id, err := c.make(ctx, c.Network+"/v2.0/networks", "network", object{
			"name": physical, "provider:network_type": "vlan", "provider:physical_network": physical,
			"provider:segmentation_id": 100,
		})
		if err != nil {
			return err
		}
		c.networks = append(c.networks, id)
		_, err = c.make(ctx, c.Network+"/v2.0/subnets", "subnet",
			object{"network_id": id, "ip_version": 4, "cidr": fmt.Sprintf("10.%d.0.0/16", i)})
		if err != nil {
			return err
		}
	}
	_, err = c.make(ctx, c.Compute+"/v2.1/flavors", "flavor", object{
		"id": flavorID, "name": "bench", "vcpus": 1, "ram": 512, "disk": 1,
	})
	if err != nil {
		return err
	}
	begin := time.Now()
	c.ports = make([][]string, c.Boots)
	err = c.each(func(i int) error {
		for _, network := range c.networks {
			id, err := c.make(ctx, c.Network+"/v2.0/ports", "port", object{"network_id": network, "qos_policy_id": policy})
			if err != nil {
				return err
			}
			c.ports[i] = append(c.ports[i], id)
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
	var next, failed atomic.Int64
	errs := make([]error, c.Clients)
	for client := range c.Clients {
		all.Go(func() {
			for failed.Load() == 0 {
				i := int(next.Add(1)) - 1
				if i >= c.Boots {
					return
				}
				if errs[client] = do(i); errs[client] != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// run boots all servers.
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
		if !boot.active {
			r.NotUp++
		}
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
	return r, c.Booted()
}

// booted is a server and how long it took.
type booted struct {
	id           string
	begin        time.Time
	accepted, up time.Duration
	active       bool // without a task, during which an audit would not compare it
}

// boot boots a server and waits until it is up, or never will be.
func (c *cloud) boot(ctx context.Context, i int, b *booted) error {
	networks := make([]object, len(c.ports[i]))
	for n, port := range c.ports[i] {
		networks[n] = object{"port": port}
	}
	b.begin = time.Now()
	var err error
	b.id, err = c.make(ctx, c.Compute+"/v2.1/servers", "server", object{
		"name": fmt.Sprint("vm", i), "imageRef": fakehosts.Image, "flavorRef": flavorID, "networks": networks,
	})
	if err != nil {
		return err
	}
	b.accepted = time.Since(b.begin)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		c.built.await(ctx, b.id, time.Second) // until the host's signal, polls are rare
		var got struct {
			Server struct {
				Status string
				Task   *string `json:"OS-EXT-STS:task_state"`
			}
		}
		if err := c.call(ctx, "GET", c.Compute+"/v2.1/servers/"+b.id, nil, &got); err != nil {
			return err
		}
		if got.Server.Status != "BUILD" {
			b.up, b.active = time.Since(b.begin), got.Server.Status == "ACTIVE" && got.Server.Task == nil
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
