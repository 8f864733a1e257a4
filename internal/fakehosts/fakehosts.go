// Package fakehosts runs simulated compute hosts: they report to Berth's services over HTTP,
// without Keystone, and keep their servers in memory. A process may have any number of them. It is
// for tests and benchmarks; trials of Berth use "berth up".
package fakehosts

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
)

// Services are those that hosts report to. Its fields are set before it is used.
type Services struct {
	// Placement, Network and Compute are addresses without a trailing slash. Without Network hosts
	// have no network agent, and plugged ports are not reported.
	Placement, Network, Compute string
	// Client sends the requests.
	Client *http.Client
	// Log is nil for none.
	Log *slog.Logger
	// ReportInterval is how often hosts report, 0 for every ten seconds.
	ReportInterval time.Duration
	// Again is the delay before a host retries a failed request, 0 for the hosts' own delay of those
	// to compute; those to the network service then fail what the host does.
	Again time.Duration
	// Traits are those of the hosts' providers.
	Traits []string
	// Inventories has hosts report what they have, and compute bring it into placement.
	Inventories bool
	// Reported are the traits that hosts report with their inventories.
	Reported []string
}

// A Host is one host. Its fields are set before it is used.
type Host struct {
	Name, ID string // the ID is that of its provider and of its hypervisor
	// VCPUs, MemoryMB and DiskGB are its resources for servers.
	VCPUs, MemoryMB, DiskGB int
	// Bridges are the rates of its bridges in each direction, in kbit/s, by physical
	// network.
	Bridges map[string]int
	// NICs are its interfaces with virtual functions.
	NICs []NIC
	// Driver has the servers.
	Driver driver.Fake
}

// A NIC is an interface of a host whose virtual functions can be ports.
type NIC struct {
	Name, PhysicalNetwork string
	Kbps                  int // in each direction
	VFs                   int // at most seven
}

// Slot is the PCI address of a virtual function of the host's NIC, both counted from 0.
func Slot(nic, vf int) string { return fmt.Sprintf("0000:%02x:00.%d", nic+1, vf+1) }

// Bridge is the name of a host's bridge to a physical network.
func Bridge(physicalNetwork string) string { return "br-" + physicalNetwork }

// Introduce registers hosts: their providers in placement, and they and their network agents in the
// services. It returns when placement has the devices of the agents.
func (s *Services) Introduce(ctx context.Context, hosts ...*Host) error {
	err := each(hosts, func(h *Host) error {
		if err := s.introduce(ctx, h); err != nil {
			return fmt.Errorf("introducing host %s: %w", h.Name, err)
		}
		return nil
	})
	if err != nil || s.Network == "" {
		return err
	}
	return s.awaitAgents(ctx, hosts)
}

// each calls do for all hosts, a few at a time, and returns the first error.
func each(hosts []*Host, do func(*Host) error) error {
	const atOnce = 8
	var all sync.WaitGroup
	errs := make([]error, len(hosts))
	for worker := range atOnce {
		all.Go(func() {
			for i := worker; i < len(hosts); i += atOnce {
				errs[i] = do(hosts[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Services) introduce(ctx context.Context, h *Host) error {
	at := s.Placement + "/resource_providers"
	if err := s.call(ctx, "POST", at, object{"name": h.Name, "uuid": h.ID}, nil); err != nil {
		return err
	}
	inventories := object{}
	for class, total := range map[string]int{"VCPU": h.VCPUs, "MEMORY_MB": h.MemoryMB, "DISK_GB": h.DiskGB} {
		inventories[class] = object{"total": total}
	}
	err := s.call(ctx, "PUT", at+"/"+h.ID+"/inventories",
		object{"resource_provider_generation": 0, "inventories": inventories}, nil)
	if err != nil {
		return err
	}
	if len(s.Traits) > 0 {
		var provider struct {
			Generation int `json:"generation"`
		}
		if err := s.call(ctx, "GET", at+"/"+h.ID, nil, &provider); err != nil {
			return err
		}
		err := s.call(ctx, "PUT", at+"/"+h.ID+"/traits",
			object{"resource_provider_generation": provider.Generation, "traits": s.Traits}, nil)
		if err != nil {
			return err
		}
	}
	return (&seen{s, h}).Report(ctx, nil)
}

// Beat has the network agents of a host report.
func (s *Services) Beat(ctx context.Context, h *Host) error {
	mappings, rates, hypervisors := object{}, object{}, object{}
	for network, kbps := range h.Bridges {
		bridge := Bridge(network)
		mappings[network], hypervisors[bridge], rates[bridge] = bridge, h.Name, object{"egress": kbps, "ingress": kbps}
	}
	err := s.beat(ctx, h, "Open vSwitch agent", "neutron-openvswitch-agent", object{
		"bridge_mappings": mappings, "resource_provider_bandwidths": rates, "resource_provider_hypervisors": hypervisors,
	})
	if err != nil || len(h.NICs) == 0 {
		return err
	}
	devices := map[string][]string{}
	rates, hypervisors = object{}, object{}
	for _, n := range h.NICs {
		devices[n.PhysicalNetwork] = append(devices[n.PhysicalNetwork], n.Name)
		hypervisors[n.Name], rates[n.Name] = h.Name, object{"egress": n.Kbps, "ingress": n.Kbps}
	}
	return s.beat(ctx, h, "NIC Switch agent", "neutron-sriov-nic-agent", object{
		"device_mappings": devices, "resource_provider_bandwidths": rates, "resource_provider_hypervisors": hypervisors,
	})
}

func (s *Services) beat(ctx context.Context, h *Host, kind, binary string, configurations object) error {
	return s.call(ctx, "POST", s.Network+"/berth/v1/heartbeats", object{"agent": object{
		"agent_type": kind, "binary": binary, "host": h.Name, "configurations": configurations,
	}}, nil)
}

// agentsInTime bounds how long the network service may take to bring the devices of agents
// into placement.
const agentsInTime = 5 * time.Minute

// awaitAgents has agents report until their devices are in placement.
func (s *Services) awaitAgents(ctx context.Context, hosts []*Host) error {
	ctx, stop := context.WithTimeout(ctx, agentsInTime)
	defer stop()
	remaining := hosts
	for {
		if err := each(remaining, func(h *Host) error { return s.Beat(ctx, h) }); err != nil {
			return err
		}
		done, err := s.synced(ctx)
		if err != nil {
			return err
		}
		var still []*Host
		for _, h := range remaining {
			if !done[h.Name] {
				still = append(still, h)
			}
		}
		if remaining = still; len(remaining) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the agents of %d hosts are not in placement: %w", len(remaining), ctx.Err())
		case <-time.After(min(20*time.Millisecond*time.Duration(len(remaining)), time.Second)):
		}
	}
}

// synced returns the hosts whose agents are reported to be in placement.
func (s *Services) synced(ctx context.Context) (map[string]bool, error) {
	var all struct {
		Agents []struct {
			Host   string
			Synced *bool `json:"resources_synced"`
		}
	}
	fields := url.Values{"fields": {"host", "resources_synced"}}
	err := s.call(ctx, "GET", s.Network+"/v2.0/agents?"+fields.Encode(), nil, &all)
	done := map[string]bool{}
	for _, a := range all.Agents {
		others, seen := done[a.Host]
		done[a.Host] = a.Synced != nil && *a.Synced && (others || !seen)
	}
	return done, err
}

// Run has hosts report and work until ctx ends.
func (s *Services) Run(ctx context.Context, hosts ...*Host) {
	var all sync.WaitGroup
	defer all.Wait()
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for _, h := range hosts {
		one := host.Host{
			Service: s.service(h),
			Driver: &driver.Reporting{Driver: &h.Driver, Report: func(ctx context.Context, ports []string) error {
				return s.until(ctx, func() error { return s.wire(ctx, h.Name, ports) })
			}},
			Log:            log.With("host", h.Name),
			ReportInterval: s.ReportInterval, Concurrency: 10,
		}
		if one.ReportInterval == 0 {
			one.ReportInterval = 10 * time.Second
		}
		all.Go(func() { one.Run(ctx) })
		if s.Network != "" {
			all.Go(func() { s.keepBeating(ctx, h, one.Log) })
		}
	}
}

// beatInterval is how often network agents report.
const beatInterval = 30 * time.Second

// keepBeating has the network agent of a host report until ctx ends; the reports of many hosts are
// spread over the interval.
func (s *Services) keepBeating(ctx context.Context, h *Host, log *slog.Logger) {
	for pause := rand.N(beatInterval); ; pause = beatInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if err := s.until(ctx, func() error { return s.Beat(ctx, h) }); err != nil && ctx.Err() == nil {
			log.Warn("the network service did not take the report", "error", err)
		}
	}
}

// wire has the network agent of a host report that ports are plugged in.
func (s *Services) wire(ctx context.Context, host string, ports []string) error {
	if s.Network == "" || len(ports) == 0 {
		return nil
	}
	said := object{}
	for _, id := range ports {
		said[id] = "ACTIVE"
	}
	return s.call(ctx, "POST", s.Network+"/berth/v1/hosts/"+url.PathEscape(host)+"/ports", object{"ports": said}, nil)
}
