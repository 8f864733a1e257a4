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

// An index is the records of a cloud, found by what they are called.
type index struct {
	cloud     *cloud.Cloud
	placement *cloud.Placement // without anything where it was not read, as compute and network
	compute   *cloud.Compute
	network   *cloud.Network

	byUUID    map[string]*cloud.Provider
	byName    map[string]*cloud.Provider
	below     map[string][]*cloud.Provider // by parent
	consumer  map[string]*cloud.Consumer
	allocated map[string]map[string]int64 // by provider and class

	servers     map[string]*server
	migrations  map[string]*cloud.Migration
	moves       map[string][]*cloud.Migration  // by server
	hypervisors map[string][]*cloud.Hypervisor // by host
	nodesByUUID map[string]*cloud.Hypervisor
	nodesByName map[string]*cloud.Hypervisor
	services    map[string]*cloud.Service // nova-compute, by host
	ports       map[string]*cloud.Port
	portsOf     map[string][]*cloud.Port // by device

	agents []*agent
	wanted map[string]*wanted // what agents report, by the UUID of the provider
	// opaque are hypervisors whose agents of a driver do not say what they have.
	opaque map[opaque]bool
}

type opaque struct{ driver, hypervisor string }

// An agent is one whose type has providers.
type agent struct {
	*cloud.Agent
	driver guarantee.Driver
	report guarantee.Report
	state  guarantee.State
	err    error // its report cannot be read
}

// A wanted is a provider that an agent reports.
type wanted struct {
	guarantee.Provider
	agent *agent
}

func newIndex(c *cloud.Cloud) *index {
	x := &index{
		cloud: c, placement: c.Placement, compute: c.Compute, network: c.Network,
		byUUID: map[string]*cloud.Provider{}, byName: map[string]*cloud.Provider{}, below: map[string][]*cloud.Provider{},
		consumer: map[string]*cloud.Consumer{}, allocated: map[string]map[string]int64{},
		servers: map[string]*server{}, migrations: map[string]*cloud.Migration{}, moves: map[string][]*cloud.Migration{},
		hypervisors: map[string][]*cloud.Hypervisor{}, nodesByUUID: map[string]*cloud.Hypervisor{}, nodesByName: map[string]*cloud.Hypervisor{}, services: map[string]*cloud.Service{},
		ports: map[string]*cloud.Port{}, portsOf: map[string][]*cloud.Port{},
		wanted: map[string]*wanted{}, opaque: map[opaque]bool{},
	}
	if x.placement == nil {
		x.placement = &cloud.Placement{}
	}
	if x.compute == nil {
		x.compute = &cloud.Compute{}
	}
	if x.network == nil {
		x.network = &cloud.Network{}
	}
	for i := range x.placement.Providers {
		p := &x.placement.Providers[i]
		x.byUUID[p.UUID], x.byName[p.Name] = p, p
		if p.Parent != "" {
			x.below[p.Parent] = append(x.below[p.Parent], p)
		}
	}
	for i := range x.placement.Consumers {
		c := &x.placement.Consumers[i]
		x.consumer[c.UUID] = c
		for provider, classes := range c.Allocations {
			if x.allocated[provider] == nil {
				x.allocated[provider] = map[string]int64{}
			}
			for class, n := range classes {
				x.allocated[provider][class] += n
			}
		}
	}
	for i := range x.compute.Hypervisors {
		h := &x.compute.Hypervisors[i]
		x.hypervisors[h.Host] = append(x.hypervisors[h.Host], h)
		x.nodesByUUID[h.UUID], x.nodesByName[h.Hostname] = h, h
	}
	for i := range x.compute.Services {
		if s := &x.compute.Services[i]; s.Binary == "nova-compute" {
			x.services[s.Host] = s
		}
	}
	for i := range x.compute.Migrations {
		m := &x.compute.Migrations[i]
		x.migrations[m.UUID] = m
		x.moves[m.Server] = append(x.moves[m.Server], m)
	}
	for i := range x.network.Ports {
		p := &x.network.Ports[i]
		x.ports[p.UUID] = p
		x.portsOf[p.Device] = append(x.portsOf[p.Device], p)
	}
	for i := range x.network.Agents {
		x.addAgent(&x.network.Agents[i])
	}
	for i := range x.compute.Servers {
		s := &server{Server: &x.compute.Servers[i]}
		x.servers[s.UUID] = s
		x.place(s)
	}
	return x
}

func (x *index) addAgent(of *cloud.Agent) {
	for _, d := range guarantee.Drivers() {
		if of.Type != d.AgentType && of.Binary != d.Binary {
			continue
		}
		a := &agent{Agent: of, driver: d}
		text, err := json.Marshal(of.Configurations)
		if err == nil {
			a.report, err = guarantee.ParseReport(text)
		}
		if a.err = err; err == nil {
			a.state = d.State(of.Host, a.report)
		}
		x.agents = append(x.agents, a)
		for _, p := range a.state.Providers {
			x.wanted[p.UUID.String()] = &wanted{p, a}
		}
		// Neutron does not show what chassis of OVN report.
		if a.err != nil || d.Name == guarantee.OVN.Name && !a.report.HasBandwidths() {
			for _, h := range append(slices.Collect(maps.Values(a.report.Hypervisors)), of.Host) {
				x.opaque[opaque{d.Name, h}] = true
			}
		}
	}
}

// lacks returns which of the parts that a rule needs were not read, "" when all were.
func (x *index) lacks(needs part) string {
	c := x.cloud
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
func (x *index) port(uuid string) *cloud.Port { return x.ports[uuid] }

// top returns the root of the tree that a provider is in. Where a parent is missing it is the one that the provider names as its root.
func (x *index) top(p *cloud.Provider) *cloud.Provider {
	seen := 0
	for at := p; ; at = x.byUUID[at.Parent] {
		switch {
		case at == nil || seen > len(x.byUUID): // no parent, or a circle
			if root := x.byUUID[p.Root]; root != nil {
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
func (x *index) treeOf(uuid string) string {
	if p := x.byUUID[uuid]; p != nil {
		return x.top(p).UUID
	}
	return ""
}

// shares reports whether a provider shares what it has with other trees.
func shares(p *cloud.Provider) bool { return slices.Contains(p.Traits, "MISC_SHARES_VIA_AGGREGATE") }

// hostRoot returns the provider of a compute node, nil when there is none. One with the name of the node will do.
func (x *index) hostRoot(host, node string) *cloud.Provider {
	for _, h := range x.hypervisors[host] {
		if node != "" && h.Hostname != node {
			continue
		}
		if p := x.byUUID[h.UUID]; p != nil {
			return p
		}
		if p := x.byName[h.Hostname]; p != nil {
			return p
		}
	}
	return nil
}

// hypervisorOf returns the compute node that a root provider is of, nil for none.
func (x *index) hypervisorOf(p *cloud.Provider) *cloud.Hypervisor {
	if h := x.nodesByUUID[p.UUID]; h != nil {
		return h
	}
	return x.nodesByName[p.Name]
}

// hostsOf are the names of the hosts that a subject is on.
func (x *index) hostsOf(s Subject) []string {
	switch s.Kind {
	case "host":
		return []string{s.ID, s.Name}
	case "provider":
		p := x.byUUID[s.ID]
		if p == nil {
			return nil
		}
		root := x.top(p)
		names := []string{root.Name}
		if h := x.hypervisorOf(root); h != nil {
			names = append(names, h.Host)
		}
		return names
	case "server", "consumer":
		if s := x.servers[s.ID]; s != nil {
			return []string{s.Host, s.Node}
		}
	case "migration":
		if m := x.migrations[s.ID]; m != nil {
			return []string{m.SourceHost, m.SourceNode, m.DestHost, m.DestNode}
		}
	case "port":
		if p := x.ports[s.ID]; p != nil {
			return []string{p.Host}
		}
	case "agent":
		for _, a := range x.agents {
			if a.UUID == s.ID {
				return append(a.state.Hypervisors(), a.Host)
			}
		}
	}
	return nil
}

// roots are the providers without a parent.
func (x *index) roots() iter.Seq[*cloud.Provider] {
	return func(yield func(*cloud.Provider) bool) {
		for i := range x.placement.Providers {
			if p := &x.placement.Providers[i]; p.Parent == "" && !yield(p) {
				return
			}
		}
	}
}

// The subjects.

func (x *index) providerSubject(uuid string) Subject {
	s := Subject{Kind: "provider", ID: uuid}
	if p := x.byUUID[uuid]; p != nil {
		s.Name = p.Name
	}
	return s
}

func (x *index) consumerSubject(uuid string) Subject {
	switch {
	case x.servers[uuid] != nil:
		return x.servers[uuid].subject()
	case x.migrations[uuid] != nil:
		return Subject{Kind: "migration", ID: uuid}
	}
	return Subject{Kind: "consumer", ID: uuid}
}

func portSubject(p *cloud.Port) Subject { return Subject{Kind: "port", ID: p.UUID, Name: p.Name} }

func (a *agent) subject() Subject {
	return Subject{Kind: "agent", ID: a.UUID, Name: a.Type + " on " + a.Host}
}

func hostSubject(h *cloud.Hypervisor) Subject {
	return Subject{Kind: "host", ID: h.Host, Name: h.Hostname}
}

// amounts describes allocations or resources: "NET_BW_EGR_KILOBIT_PER_SEC 1000, VCPU 2".
func amounts(of map[string]int64) string {
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
func (x *index) held(c *cloud.Consumer) string {
	if c == nil || len(c.Allocations) == 0 {
		return "nothing"
	}
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(c.Allocations)) {
		name := x.providerSubject(uuid).Name
		if name == "" {
			name = uuid
		}
		list = append(list, amounts(c.Allocations[uuid])+" on "+name)
	}
	return strings.Join(list, "; ")
}
