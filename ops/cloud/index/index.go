// Package index finds the records of a cloud by what they are called, and by what they belong to:
// the allocations of a server, the providers below a host, the ports of a device, what an agent
// reports. It decides nothing about them; audit, doctor and heal do, on one index of a run.
package index

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
)

// An Index is the records of a cloud, found by what they are called. It is read only, and so are
// the records that it returns.
type Index struct {
	Cloud     *cloud.Cloud
	Placement *cloud.Placement // without anything where it was not read, as Compute and Network
	Compute   *cloud.Compute
	Network   *cloud.Network

	ByUUID    map[string]*cloud.Provider
	ByName    map[string]*cloud.Provider
	Children  map[string][]*cloud.Provider // by parent
	Consumers map[string]*cloud.Consumer
	Allocated map[string]map[string]int64 // by provider and class

	Servers     map[string]*Server
	Migrations  map[string]*cloud.Migration
	Moves       map[string][]*cloud.Migration  // by server
	Hypervisors map[string][]*cloud.Hypervisor // by host
	nodeByUUID  map[string]*cloud.Hypervisor
	NodeByName  map[string]*cloud.Hypervisor
	Services    map[string]*cloud.Service // nova-compute, by host
	Ports       map[string]*cloud.Port
	PortsOf     map[string][]*cloud.Port // by device

	Agents   []*Agent
	Reported map[string]*ReportedProvider // what agents report, by the UUID of the provider
	opaque   map[opaque]bool
	release  request.Release // of Nova

	numaNodes, numaExcluded bool // see NUMA
	// PCI are the aliases of PCI devices that Nova schedules in placement, nil where it does not, or
	// its settings are not known. It is set before anything is computed from flavors.
	PCI map[string]request.Alias
}

type opaque struct{ driver, hypervisor string }

// Opaque reports whether the agent of a driver on a hypervisor does not say what it has.
func (x *Index) Opaque(driver, hypervisor string) bool { return x.opaque[opaque{driver, hypervisor}] }

// An Agent is one whose type has providers.
type Agent struct {
	*cloud.Agent
	Driver    guarantee.Driver
	Report    guarantee.Report
	State     guarantee.State
	ReportErr error // why its report cannot be read
}

// A ReportedProvider is a provider that an agent reports.
type ReportedProvider struct {
	guarantee.Provider
	Agent *Agent
}

// New returns the index of records, which must not change as long as it is used.
func New(c *cloud.Cloud) *Index {
	x := &Index{
		Cloud: c, Placement: c.Placement, Compute: c.Compute, Network: c.Network,
		ByUUID: map[string]*cloud.Provider{}, ByName: map[string]*cloud.Provider{}, Children: map[string][]*cloud.Provider{},
		Consumers: map[string]*cloud.Consumer{}, Allocated: map[string]map[string]int64{},
		Servers: map[string]*Server{}, Migrations: map[string]*cloud.Migration{}, Moves: map[string][]*cloud.Migration{},
		Hypervisors: map[string][]*cloud.Hypervisor{}, nodeByUUID: map[string]*cloud.Hypervisor{},
		NodeByName: map[string]*cloud.Hypervisor{}, Services: map[string]*cloud.Service{},
		Ports: map[string]*cloud.Port{}, PortsOf: map[string][]*cloud.Port{},
		Reported: map[string]*ReportedProvider{}, opaque: map[opaque]bool{},
	}
	x.release, _ = Release(c)
	x.numaNodes, x.numaExcluded = NUMA(c)
	if x.Placement == nil {
		x.Placement = &cloud.Placement{}
	}
	if x.Compute == nil {
		x.Compute = &cloud.Compute{}
	}
	if x.Network == nil {
		x.Network = &cloud.Network{}
	}
	for i := range x.Placement.Providers {
		p := &x.Placement.Providers[i]
		x.ByUUID[p.UUID], x.ByName[p.Name] = p, p
		if p.Parent != "" {
			x.Children[p.Parent] = append(x.Children[p.Parent], p)
		}
	}
	for i := range x.Placement.Consumers {
		c := &x.Placement.Consumers[i]
		x.Consumers[c.UUID] = c
		for provider, classes := range c.Allocations {
			if x.Allocated[provider] == nil {
				x.Allocated[provider] = map[string]int64{}
			}
			for class, n := range classes {
				x.Allocated[provider][class] += n
			}
		}
	}
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		x.Hypervisors[h.Host] = append(x.Hypervisors[h.Host], h)
		x.nodeByUUID[h.UUID], x.NodeByName[h.Hostname] = h, h
	}
	for i := range x.Compute.Services {
		if s := &x.Compute.Services[i]; s.Binary == "nova-compute" {
			x.Services[s.Host] = s
		}
	}
	for i := range x.Compute.Migrations {
		m := &x.Compute.Migrations[i]
		x.Migrations[m.UUID] = m
		x.Moves[m.Server] = append(x.Moves[m.Server], m)
	}
	for i := range x.Network.Ports {
		p := &x.Network.Ports[i]
		x.Ports[p.UUID] = p
		x.PortsOf[p.Device] = append(x.PortsOf[p.Device], p)
	}
	for i := range x.Network.Agents {
		x.addAgent(&x.Network.Agents[i])
	}
	for i := range x.Compute.Servers {
		s := &Server{Server: &x.Compute.Servers[i]}
		x.Servers[s.UUID] = s
		x.addPlacement(s)
	}
	return x
}

func (x *Index) addAgent(record *cloud.Agent) {
	for _, d := range guarantee.Drivers() {
		if record.Type != d.AgentType && record.Binary != d.Binary {
			continue
		}
		a := &Agent{Agent: record, Driver: d}
		text, err := json.Marshal(record.Configurations)
		if err == nil {
			a.Report, err = guarantee.ParseReport(text)
		}
		if a.ReportErr = err; err == nil {
			a.State = d.State(record.Host, a.Report)
		}
		x.Agents = append(x.Agents, a)
		for _, p := range a.State.Providers {
			x.Reported[p.UUID.String()] = &ReportedProvider{p, a}
		}
		// Neutron does not show what chassis of OVN report.
		if a.ReportErr != nil || d.Name == guarantee.OVN.Name && !a.Report.HasBandwidths() {
			for _, h := range append(slices.Collect(maps.Values(a.Report.Hypervisors)), record.Host) {
				x.opaque[opaque{d.Name, h}] = true
			}
		}
	}
}

// RootOf returns the root of the tree that a provider is in. Where a parent is missing it is the
// one that the provider names as its root.
func (x *Index) RootOf(p *cloud.Provider) *cloud.Provider {
	seen := 0
	for at := p; ; at = x.ByUUID[at.Parent] {
		switch {
		case at == nil || seen > len(x.ByUUID): // no parent, or a circle
			if root := x.ByUUID[p.Root]; root != nil {
				return root
			}
			return p
		case at.Parent == "":
			return at
		}
		seen++
	}
}

// TreeOf returns the UUID of the root of a provider's tree, "" for a provider that is not there.
func (x *Index) TreeOf(uuid string) string {
	if p := x.ByUUID[uuid]; p != nil {
		return x.RootOf(p).UUID
	}
	return ""
}

// Shares reports whether a provider shares what it has with other trees.
func Shares(p *cloud.Provider) bool { return slices.Contains(p.Traits, "MISC_SHARES_VIA_AGGREGATE") }

// HostRoot returns the provider of a compute node, nil when there is none. One with the name of the
// node will do.
func (x *Index) HostRoot(host, node string) *cloud.Provider {
	for _, h := range x.Hypervisors[host] {
		if node != "" && h.Hostname != node {
			continue
		}
		if p := x.ByUUID[h.UUID]; p != nil {
			return p
		}
		if p := x.ByName[h.Hostname]; p != nil {
			return p
		}
	}
	return nil
}

// HypervisorOf returns the compute node that a root provider is of, nil for none.
func (x *Index) HypervisorOf(p *cloud.Provider) *cloud.Hypervisor {
	if h := x.nodeByUUID[p.UUID]; h != nil {
		return h
	}
	return x.NodeByName[p.Name]
}

// Roots are the providers without a parent.
func (x *Index) Roots() iter.Seq[*cloud.Provider] {
	return func(yield func(*cloud.Provider) bool) {
		for i := range x.Placement.Providers {
			if p := &x.Placement.Providers[i]; p.Parent == "" && !yield(p) {
				return
			}
		}
	}
}

// FormatAmounts describes allocations or resources: "NET_BW_EGR_KILOBIT_PER_SEC 1000, VCPU 2".
func FormatAmounts(amounts map[string]int64) string {
	var list []string
	for _, class := range slices.Sorted(maps.Keys(amounts)) {
		list = append(list, fmt.Sprintf("%s %d", class, amounts[class]))
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// FormatAllocations describes the allocations of a consumer by provider.
func (x *Index) FormatAllocations(c *cloud.Consumer) string {
	if c == nil || len(c.Allocations) == 0 {
		return "nothing"
	}
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
		name := uuid
		if p := x.ByUUID[uuid]; p != nil {
			name = p.Name
		}
		list = append(list, FormatAmounts(c.Allocations[uuid])+" on "+name)
	}
	return strings.Join(list, "; ")
}

// Total is the sum of amounts.
func Total(amounts map[string]int64) (sum int64) {
	for _, n := range amounts {
		sum += n
	}
	return sum
}

// PhysicalNetworks are the traits about networks among some.
func PhysicalNetworks(traits []string) (list []string) {
	for _, t := range traits {
		if strings.HasPrefix(t, "CUSTOM_PHYSNET_") || t == guarantee.TunnelTrait {
			list = append(list, t)
		}
	}
	return list
}

// SubtreeUsage sums what is allocated of a provider and of those below it.
func (x *Index) SubtreeUsage(p *cloud.Provider) map[string]int64 {
	sum := maps.Clone(p.Usages)
	if sum == nil {
		sum = map[string]int64{}
	}
	for _, child := range x.Children[p.UUID] {
		for class, n := range child.Usages {
			sum[class] += n
		}
	}
	maps.DeleteFunc(sum, func(_ string, n int64) bool { return n == 0 })
	return sum
}
