package audit

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
)

// A part is a part of the records that rules need.
type part int

const (
	providers part = 1 << iota
	consumers
	computing
	networking
)

// An Index is the records of a cloud, found by what they are called. It is read only, and so are the records that it returns.
type Index struct {
	Cloud     *cloud.Cloud
	Placement *cloud.Placement // without anything where it was not read, as Compute and Network
	Compute   *cloud.Compute
	Network   *cloud.Network

	ByUUID    map[string]*cloud.Provider
	ByName    map[string]*cloud.Provider
	Below     map[string][]*cloud.Provider // by parent
	Consumer  map[string]*cloud.Consumer
	allocated map[string]map[string]int64 // by provider and class

	Servers     map[string]*Server
	Migrations  map[string]*cloud.Migration
	Moves       map[string][]*cloud.Migration  // by server
	Hypervisors map[string][]*cloud.Hypervisor // by host
	nodesByUUID map[string]*cloud.Hypervisor
	nodesByName map[string]*cloud.Hypervisor
	Services    map[string]*cloud.Service // nova-compute, by host
	Ports       map[string]*cloud.Port
	PortsOf     map[string][]*cloud.Port // by device

	Agents []*Agent
	Wanted map[string]*Wanted // what agents report, by the UUID of the provider
	// opaque are hypervisors whose agents of a driver do not say what they have.
	opaque map[opaque]bool
}

type opaque struct{ driver, hypervisor string }

// An Agent is one whose type has providers.
type Agent struct {
	*cloud.Agent
	Driver guarantee.Driver
	Report guarantee.Report
	State  guarantee.State
	err    error // its report cannot be read
}

// A Wanted is a provider that an agent reports.
type Wanted struct {
	guarantee.Provider
	Agent *Agent
}

// NewIndex returns the index of records, which must not change as long as it is used.
func NewIndex(c *cloud.Cloud) *Index {
	x := &Index{
		Cloud: c, Placement: c.Placement, Compute: c.Compute, Network: c.Network,
		ByUUID: map[string]*cloud.Provider{}, ByName: map[string]*cloud.Provider{}, Below: map[string][]*cloud.Provider{},
		Consumer: map[string]*cloud.Consumer{}, allocated: map[string]map[string]int64{},
		Servers: map[string]*Server{}, Migrations: map[string]*cloud.Migration{}, Moves: map[string][]*cloud.Migration{},
		Hypervisors: map[string][]*cloud.Hypervisor{}, nodesByUUID: map[string]*cloud.Hypervisor{}, nodesByName: map[string]*cloud.Hypervisor{}, Services: map[string]*cloud.Service{},
		Ports: map[string]*cloud.Port{}, PortsOf: map[string][]*cloud.Port{},
		Wanted: map[string]*Wanted{}, opaque: map[opaque]bool{},
	}
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
			x.Below[p.Parent] = append(x.Below[p.Parent], p)
		}
	}
	for i := range x.Placement.Consumers {
		c := &x.Placement.Consumers[i]
		x.Consumer[c.UUID] = c
		for provider, classes := range c.Allocations {
			if x.allocated[provider] == nil {
				x.allocated[provider] = map[string]int64{}
			}
			for class, n := range classes {
				x.allocated[provider][class] += n
			}
		}
	}
	for i := range x.Compute.Hypervisors {
		h := &x.Compute.Hypervisors[i]
		x.Hypervisors[h.Host] = append(x.Hypervisors[h.Host], h)
		x.nodesByUUID[h.UUID], x.nodesByName[h.Hostname] = h, h
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
		x.place(s)
	}
	return x
}

func (x *Index) addAgent(of *cloud.Agent) {
	for _, d := range guarantee.Drivers() {
		if of.Type != d.AgentType && of.Binary != d.Binary {
			continue
		}
		a := &Agent{Agent: of, Driver: d}
		text, err := json.Marshal(of.Configurations)
		if err == nil {
			a.Report, err = guarantee.ParseReport(text)
		}
		if a.err = err; err == nil {
			a.State = d.State(of.Host, a.Report)
		}
		x.Agents = append(x.Agents, a)
		for _, p := range a.State.Providers {
			x.Wanted[p.UUID.String()] = &Wanted{p, a}
		}
		// Neutron does not show what chassis of OVN report.
		if a.err != nil || d.Name == guarantee.OVN.Name && !a.Report.HasBandwidths() {
			for _, h := range append(slices.Collect(maps.Values(a.Report.Hypervisors)), of.Host) {
				x.opaque[opaque{d.Name, h}] = true
			}
		}
	}
}

// lacks returns which of the parts that a rule needs were not read, "" when all were.
func (x *Index) lacks(needs part) string {
	c := x.Cloud
	for _, p := range []struct {
		part  part
		there bool
		name  string
	}{
		{providers, c.Placement != nil, "placement's providers"},
		{consumers, c.Placement != nil && c.Placement.Consumers != nil, "allocations"},
		{computing, c.Compute != nil, "the compute service"},
		{networking, c.Network != nil, "the network service"},
	} {
		if needs&p.part != 0 && !p.there {
			return "The records of " + p.name + " were not read."
		}
	}
	return ""
}

// port returns a port, nil when there is none.
func (x *Index) port(uuid string) *cloud.Port { return x.Ports[uuid] }

// Top returns the root of the tree that a provider is in. Where a parent is missing it is the one that the provider names as its root.
func (x *Index) Top(p *cloud.Provider) *cloud.Provider {
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

// treeOf returns the UUID of the root of a provider's tree, "" for a provider that is not there.
func (x *Index) treeOf(uuid string) string {
	if p := x.ByUUID[uuid]; p != nil {
		return x.Top(p).UUID
	}
	return ""
}

// Shares reports whether a provider shares what it has with other trees.
func Shares(p *cloud.Provider) bool { return slices.Contains(p.Traits, "MISC_SHARES_VIA_AGGREGATE") }

// HostRoot returns the provider of a compute node, nil when there is none. One with the name of the node will do.
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
	if h := x.nodesByUUID[p.UUID]; h != nil {
		return h
	}
	return x.nodesByName[p.Name]
}

// hostsOf are the names of the hosts that a subject is on.
func (x *Index) hostsOf(s Subject) []string {
	switch s.Kind {
	case "host":
		return []string{s.ID, s.Name}
	case "provider":
		p := x.ByUUID[s.ID]
		if p == nil {
			return nil
		}
		root := x.Top(p)
		names := []string{root.Name}
		if h := x.HypervisorOf(root); h != nil {
			names = append(names, h.Host)
		}
		return names
	case "server", "consumer":
		if s := x.Servers[s.ID]; s != nil {
			return []string{s.Host, s.Node}
		}
	case "migration":
		if m := x.Migrations[s.ID]; m != nil {
			return []string{m.SourceHost, m.SourceNode, m.DestHost, m.DestNode}
		}
	case "port":
		if p := x.Ports[s.ID]; p != nil {
			return []string{p.Host}
		}
	case "agent":
		for _, a := range x.Agents {
			if a.UUID == s.ID {
				return append(a.State.Hypervisors(), a.Host)
			}
		}
	}
	return nil
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

// The subjects.

func (x *Index) providerSubject(uuid string) Subject {
	s := Subject{Kind: "provider", ID: uuid}
	if p := x.ByUUID[uuid]; p != nil {
		s.Name = p.Name
	}
	return s
}

func (x *Index) consumerSubject(uuid string) Subject {
	switch {
	case x.Servers[uuid] != nil:
		return x.Servers[uuid].subject()
	case x.Migrations[uuid] != nil:
		return Subject{Kind: "migration", ID: uuid}
	}
	return Subject{Kind: "consumer", ID: uuid}
}

func portSubject(p *cloud.Port) Subject { return Subject{Kind: "port", ID: p.UUID, Name: p.Name} }

func (a *Agent) subject() Subject {
	return Subject{Kind: "agent", ID: a.UUID, Name: a.Type + " on " + a.Host}
}

func hostSubject(h *cloud.Hypervisor) Subject {
	return Subject{Kind: "host", ID: h.Host, Name: h.Hostname}
}

// Amounts describes allocations or resources: "NET_BW_EGR_KILOBIT_PER_SEC 1000, VCPU 2".
func Amounts(of map[string]int64) string {
	var list []string
	for _, class := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%s %d", class, of[class]))
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// held describes the allocations of a consumer by provider.
func (x *Index) held(c *cloud.Consumer) string {
	if c == nil || len(c.Allocations) == 0 {
		return "nothing"
	}
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
		name := x.providerSubject(uuid).Name
		if name == "" {
			name = uuid
		}
		list = append(list, Amounts(c.Allocations[uuid])+" on "+name)
	}
	return strings.Join(list, "; ")
}

// Total is the sum of amounts.
func Total(of map[string]int64) (sum int64) {
	for _, n := range of {
		sum += n
	}
	return sum
}
