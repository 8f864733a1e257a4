package cloudtest

import (
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
)

// A Builder makes the records of a cloud in which all services agree.
type Builder struct {
	cloud.Cloud
}

// The project and the user of all servers.
const (
	Project = "10000000-0000-4000-8000-000000000000"
	User    = "20000000-0000-4000-8000-000000000000"
)

// FlavorSmall is the flavor of servers.
var FlavorSmall = cloud.Flavor{Name: "small", VCPUs: 2, RAM: 1024, Disk: 10, Specs: map[string]string{}}

// New returns the records of a cloud without anything.
func New() *Builder {
	b := &Builder{}
	b.Source, b.Begun, b.Ended = "a test", time.Unix(0, 0).UTC(), time.Unix(1, 0).UTC()
	b.Placement = &cloud.Placement{Consumers: []cloud.Consumer{}}
	b.Compute, b.Network = &cloud.Compute{}, &cloud.Network{}
	return b
}

// UUID returns the UUID that a name stands for.
func UUID(name string) string {
	return guarantee.UUID{0xbe}.Derive(name).String()
}

// Host adds a compute node, with its service and its provider. Its disk is that of a provider that
// shares, unless that is "".
func (b *Builder) Host(name, sharing string) {
	id := UUID("host " + name)
	b.Compute.Hypervisors = append(b.Compute.Hypervisors, cloud.Hypervisor{UUID: id, Hostname: name, Host: name})
	b.Compute.Services = append(b.Compute.Services, cloud.Service{
		ID: UUID("service " + name), Binary: "nova-compute", Host: name, Zone: "nova", Status: "enabled", State: "up",
	})
	p := cloud.Provider{
		UUID: id, Name: name, Root: id, Traits: []string{"COMPUTE_NODE", "HW_CPU_X86_AVX"},
		Inventories: map[string]cloud.Inventory{"VCPU": stock(64, 4), "MEMORY_MB": stock(1<<17, 1)},
	}
	if sharing == "" {
		p.Inventories["DISK_GB"] = stock(4000, 1)
	} else {
		p.Aggregates = []string{UUID("sharing " + sharing)}
	}
	b.Placement.Providers = append(b.Placement.Providers, p)
}

// Sharing adds a provider that shares its disk with hosts.
func (b *Builder) Sharing(name string) {
	id := UUID("provider " + name)
	b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
		UUID: id, Name: name, Root: id, Traits: []string{"MISC_SHARES_VIA_AGGREGATE"},
		Aggregates:  []string{UUID("sharing " + name)},
		Inventories: map[string]cloud.Inventory{"DISK_GB": stock(100000, 1)},
	})
}

func stock(total int64, ratio float64) cloud.Inventory {
	return cloud.Inventory{Total: total, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: ratio}
}

// Agent adds an agent of a driver on a host, whose devices are on physical networks of their own:
// "br-net0" on net0. Each has 10 Gbit/s in each direction. It has packet rates when packets is
// above 0.
func (b *Builder) Agent(host string, d guarantee.Driver, packets int64, nets ...string) {
	bandwidths, hypervisors, bridges, nics := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	for _, net := range nets {
		device := Device(d, net)
		bandwidths[device] = map[string]any{"egress": 10000000.0, "ingress": 10000000.0}
		hypervisors[device] = host
		bridges[net], nics[net] = device, []any{device}
	}
	c := map[string]any{
		"resource_provider_bandwidths": bandwidths, "resource_provider_hypervisors": hypervisors,
		"resource_provider_inventory_defaults": map[string]any{
			"allocation_ratio": 1.0, "min_unit": 1.0, "step_size": 1.0, "reserved": 0.0,
		},
	}
	if d.Name == guarantee.SRIOV.Name {
		c["device_mappings"] = nics
	} else {
		c["bridge_mappings"] = bridges
	}
	if packets > 0 {
		c["resource_provider_packet_processing_without_direction"] = map[string]any{
			host: map[string]any{"any": float64(packets)},
		}
	}
	synced := true
	b.Network.Agents = append(b.Network.Agents, cloud.Agent{
		UUID: UUID(d.Name + " on " + host), Type: d.AgentType, Binary: d.Binary, Host: host, Alive: true, AdminUp: true,
		Heartbeat: "2026-01-01 00:00:00", Synced: &synced, Configurations: c,
	})
	own := guarantee.Name{Driver: d, Hypervisor: host}
	vnics := []string{}
	for _, t := range d.VNICTypes {
		vnics = append(vnics, guarantee.VNICTypeTrait(t))
	}
	agent := cloud.Provider{
		UUID: own.UUID().String(), Name: own.String(), Parent: UUID("host " + host), Root: UUID("host " + host),
	}
	if packets > 0 {
		agent.Inventories = map[string]cloud.Inventory{guarantee.PacketRate: endless(packets)}
		agent.Traits = slices.Clone(vnics)
	}
	b.Placement.Providers = append(b.Placement.Providers, agent)
	for _, net := range nets {
		n := own
		n.Device = Device(d, net)
		b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
			UUID: n.UUID().String(), Name: n.String(), Parent: agent.UUID, Root: agent.Root,
			Traits: append(slices.Clone(vnics), guarantee.PhysicalNetworkTrait(net)),
			Inventories: map[string]cloud.Inventory{
				guarantee.EgressBandwidth: endless(10000000), guarantee.IngressBandwidth: endless(10000000),
			},
		})
	}
}

// endless is an inventory without a greatest unit, as agents have it.
func endless(total int64) cloud.Inventory {
	return cloud.Inventory{Total: total, MinUnit: 1, MaxUnit: 1<<31 - 1, StepSize: 1, AllocationRatio: 1}
}

// Device returns the name of the device of a driver on a physical network.
func Device(d guarantee.Driver, net string) string {
	if d.Name == guarantee.SRIOV.Name {
		return "ens-" + net
	}
	return "br-" + net
}

// Server adds a server that runs on a host, with its allocation.
func (b *Builder) Server(name, host string) *cloud.Server {
	b.Compute.Servers = append(b.Compute.Servers, cloud.Server{
		UUID: UUID("server " + name), Name: name, Status: "ACTIVE", Host: host, Node: host, Zone: "nova",
		Project: Project, User: User, Image: UUID("image"), Flavor: FlavorSmall,
	})
	b.allocate(UUID("server "+name), "INSTANCE", host)
	return b.At(name)
}

// At returns a server. It panics when there is none.
func (b *Builder) At(name string) *cloud.Server {
	i := len(b.Compute.Servers) - 1 // it mostly is the last one
	for b.Compute.Servers[i].Name != name {
		i--
	}
	return &b.Compute.Servers[i]
}

// allocate adds a consumer that has what the flavor requests on a host.
func (b *Builder) allocate(uuid, kind, host string) {
	root := UUID("host " + host)
	amounts := map[string]map[string]int64{root: {"VCPU": FlavorSmall.VCPUs, "MEMORY_MB": FlavorSmall.RAM}}
	disk := root
	for i := range b.Placement.Providers {
		if p := &b.Placement.Providers[i]; p.UUID == root && len(p.Aggregates) > 0 {
			for _, provider := range b.Placement.Providers {
				if slices.Contains(provider.Traits, "MISC_SHARES_VIA_AGGREGATE") &&
					slices.Contains(p.Aggregates, provider.Aggregates[0]) {
					disk = provider.UUID
				}
			}
		}
	}
	if amounts[disk] == nil {
		amounts[disk] = map[string]int64{}
	}
	amounts[disk]["DISK_GB"] = FlavorSmall.Disk
	b.Placement.Consumers = append(b.Placement.Consumers, cloud.Consumer{
		UUID: uuid, Generation: 1, Project: Project, User: User, Type: kind, Allocations: amounts,
	})
}

// Add adds what a consumer has of a provider.
func (b *Builder) Add(consumer, provider string, amounts map[string]int64) {
	i := len(b.Placement.Consumers) - 1 // it mostly is the last one
	for b.Placement.Consumers[i].UUID != consumer {
		i--
	}
	allocations := b.Placement.Consumers[i].Allocations
	if allocations[provider] == nil {
		allocations[provider] = map[string]int64{}
	}
	for class, n := range amounts {
		allocations[provider][class] += n
	}
}

// Port adds a port of a server that guarantees kbit/s in both directions, of an agent's device on a
// physical network, in the format with groups or the older one. With groups it may guarantee
// packets too.
func (b *Builder) Port(name, server, net string, d guarantee.Driver, kbps, packets int64, groups bool) {
	s := b.At(server)
	n := guarantee.Name{Driver: d, Hypervisor: s.Host, Device: Device(d, net)}
	p := cloud.Port{
		UUID: UUID("port " + name), Name: name, Network: UUID("network " + net), Device: s.UUID, Owner: "compute:nova",
		Project: Project, Status: "ACTIVE", AdminUp: true,
		Host: s.Host, VNIC: "normal", VIF: d.VIFTypes[0],
	}
	if d.Name == guarantee.SRIOV.Name {
		p.VNIC = "direct"
	}
	bandwidth := cloud.PortGroup{
		Required:  []string{guarantee.PhysicalNetworkTrait(net), guarantee.VNICTypeTrait(p.VNIC)},
		Resources: map[string]int64{guarantee.EgressBandwidth: kbps, guarantee.IngressBandwidth: kbps},
	}
	p.Request = &cloud.PortRequest{}
	p.Allocation = map[string]string{"": n.UUID().String()}
	if groups {
		bandwidth.ID = UUID("bandwidth of " + name)
		p.Allocation = map[string]string{bandwidth.ID: n.UUID().String()}
		p.Request.SameSubtree = []string{bandwidth.ID}
	}
	p.Request.Groups = []cloud.PortGroup{bandwidth}
	b.Add(s.UUID, n.UUID().String(), bandwidth.Resources)
	if packets > 0 && groups {
		agent := guarantee.Name{Driver: d, Hypervisor: s.Host}.UUID().String()
		g := cloud.PortGroup{
			ID: UUID("packets of " + name), Required: bandwidth.Required[1:],
			Resources: map[string]int64{guarantee.PacketRate: packets},
		}
		p.Request.Groups = append(p.Request.Groups, g)
		p.Request.SameSubtree = append(p.Request.SameSubtree, g.ID)
		p.Allocation[g.ID] = agent
		b.Add(s.UUID, agent, g.Resources)
	}
	b.Network.Ports = append(b.Network.Ports, p)
}

// Plain adds a port of a server without a guarantee.
func (b *Builder) Plain(name, server string) {
	s := b.At(server)
	b.Network.Ports = append(b.Network.Ports, cloud.Port{
		UUID: UUID("port " + name), Name: name, Network: UUID("network"), Device: s.UUID, Owner: "compute:nova",
		Project: Project, Status: "ACTIVE", AdminUp: true,
		Host: s.Host, VNIC: "normal", VIF: "ovs",
	})
}

// Resized has a server that is on its new host, and came from another one: its resize waits to be
// confirmed.
func (b *Builder) Resized(server, from string) {
	s := b.At(server)
	s.Status = "VERIFY_RESIZE"
	b.move(s, "resize", "finished", from, s.Host)
}

// Moving has a server move live to another host, to which it has a claim.
func (b *Builder) Moving(server, to string) {
	s := b.At(server)
	s.Status, s.Task = "MIGRATING", "migrating"
	i := slices.IndexFunc(b.Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == s.UUID })
	b.Placement.Consumers = slices.Delete(b.Placement.Consumers, i, i+1)
	b.allocate(s.UUID, "INSTANCE", to)
	b.move(s, "live-migration", "running", s.Host, to)
}

// move adds a migration, which has what the server has on the source.
func (b *Builder) move(s *cloud.Server, kind, status, from, to string) {
	id := UUID("migration of " + s.Name)
	b.Compute.Migrations = append(b.Compute.Migrations, cloud.Migration{
		UUID: id, Server: s.UUID, Status: status, Type: kind, SourceHost: from, SourceNode: from, DestHost: to, DestNode: to,
	})
	b.allocate(id, "MIGRATION", from)
}

// Evacuated has a server on its host that came from another one, which has not returned.
func (b *Builder) Evacuated(server, from string) {
	s := b.At(server)
	b.Compute.Migrations = append(b.Compute.Migrations, cloud.Migration{
		UUID: UUID("migration of " + server), Server: s.UUID, Status: "done", Type: "evacuation", SourceHost: from,
		SourceNode: from, DestHost: s.Host, DestNode: s.Host,
	})
	b.Add(s.UUID, UUID("host "+from), map[string]int64{"VCPU": FlavorSmall.VCPUs, "MEMORY_MB": FlavorSmall.RAM})
}

// Offloaded takes a server from its host: it is shelved. Its ports stay.
func (b *Builder) Offloaded(server string) {
	s := b.At(server)
	s.Status, s.Host, s.Node = "SHELVED_OFFLOADED", "", ""
	b.Placement.Consumers = slices.DeleteFunc(b.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.UUID == s.UUID
	})
	for i := range b.Network.Ports {
		if p := &b.Network.Ports[i]; p.Device == s.UUID {
			p.Host, p.VIF, p.Status, p.Allocation = "", "unbound", "DOWN", nil
		}
	}
}

// Failed has a server that got no host.
func (b *Builder) Failed(server string) {
	b.Offloaded(server)
	b.At(server).Status, b.At(server).Fault = "ERROR", "No valid host was found."
}

// Disable disables the compute service of a host.
func (b *Builder) Disable(host string) {
	for i := range b.Compute.Services {
		if b.Compute.Services[i].Host == host {
			b.Compute.Services[i].Status = "disabled"
		}
	}
	for i := range b.Placement.Providers {
		if p := &b.Placement.Providers[i]; p.Name == host {
			p.Traits = append(p.Traits, "COMPUTE_STATUS_DISABLED")
		}
	}
}

// Aggregate adds a host aggregate, with its mirror in placement.
func (b *Builder) Aggregate(name string, hosts ...string) {
	id := UUID("aggregate " + name)
	b.Compute.Aggregates = append(b.Compute.Aggregates, cloud.Aggregate{
		ID: int64(len(b.Compute.Aggregates) + 1), UUID: id, Name: name, Hosts: hosts, Metadata: map[string]string{},
	})
	for i := range b.Placement.Providers {
		if p := &b.Placement.Providers[i]; slices.Contains(hosts, p.Name) {
			p.Aggregates = append(p.Aggregates, id)
		}
	}
}

// Done returns the records, sorted and with what is used.
func (b *Builder) Done() *cloud.Cloud {
	classes, traits := map[string]bool{}, map[string]bool{"COMPUTE_STATUS_DISABLED": true}
	for _, p := range b.Placement.Providers {
		for class := range p.Inventories {
			classes[class] = true
		}
		for _, trait := range p.Traits {
			traits[trait] = true
		}
	}
	b.Placement.Classes, b.Placement.Traits = slices.Collect(maps.Keys(classes)), slices.Collect(maps.Keys(traits))
	b.Placement.Sort()
	Count(&b.Cloud)
	return &b.Cloud
}

// Count sums up the allocations as the usages of providers.
func Count(c *cloud.Cloud) {
	usages := map[string]map[string]int64{}
	for i := range c.Placement.Providers {
		p := &c.Placement.Providers[i]
		p.Usages = map[string]int64{}
		usages[p.UUID] = p.Usages
	}
	for _, consumer := range c.Placement.Consumers {
		for provider, amounts := range consumer.Allocations {
			for class, n := range amounts {
				if usages[provider] != nil {
					usages[provider][class] += n
				}
			}
		}
	}
}
