// Package audittest makes clouds for tests of the tools that find and mend disagreements: in which all services agree, and in which one
// fault of a kind is planted.
package audittest

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// A Plant puts a fault into records.
type Plant struct {
	Code, Name string
	// Also is the code of another finding that the fault is, "" for none.
	Also  string
	plant func(x index) bool
	usage bool // it is about usages, which are not counted again then
}

// Codes are those of the findings that the fault is, sorted.
func (p Plant) Codes() []string {
	if p.Also == "" {
		return []string{p.Code}
	}
	list := []string{p.Code, p.Also}
	slices.Sort(list)
	return list
}

// In plants the fault into records. It returns false, and may have changed them, when they have nothing to put it in.
func (p Plant) In(c *cloud.Cloud) bool {
	if !p.plant(index{audit.NewIndex(c)}) {
		return false
	}
	if !p.usage {
		cloudtest.Count(c)
	}
	return true
}

// An index finds the records to put faults in.
type index struct{ *audit.Index }

// These methods return the first record with a property, nil when there is none.

func (x index) anyServer(ok func(s *audit.Server) bool) (found *audit.Server) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; found == nil && ok(s) {
			found = s
		}
	}
	return found
}

// settledServer returns a server that runs on its host and was never moved, and has its allocation there.
func (x index) settledServer(ok func(s *audit.Server) bool) *audit.Server {
	return x.anyServer(func(s *audit.Server) bool {
		return s.Status == "ACTIVE" && !s.Busy && s.Held != nil && len(s.Trees) == 1 && len(s.Moves) == 0 && ok(s)
	})
}

func (x index) portless(s *audit.Server) bool { return len(x.PortsOf[s.UUID]) == 0 }

// guaranteedPort returns a port of such a server that asks placement for something, the first one of its server.
func (x index) guaranteedPort(ok func(p *cloud.Port) bool) *cloud.Port {
	var found *cloud.Port
	x.settledServer(func(s *audit.Server) bool {
		for _, p := range x.PortsOf[s.UUID] {
			if found == nil && audit.Asks(p) && ok(p) {
				found = p
			}
		}
		return found != nil
	})
	return found
}

func groups(p *cloud.Port) bool { return p.Request.Groups[0].ID != "" }

func anyPort(*cloud.Port) bool { return true }

func anyServer(*audit.Server) bool { return true }

// anyProvider returns the first provider with a property.
func (x index) anyProvider(ok func(p *cloud.Provider) bool) *cloud.Provider {
	for i := range x.Placement.Providers {
		if p := &x.Placement.Providers[i]; ok(p) {
			return p
		}
	}
	return nil
}

// idleDevice is the provider of a device without allocations, which no port names.
func (x index) idleDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.Wanted[p.UUID]
		return w != nil && w.Device != "" && len(p.Usages) == 0 && !x.named(p.UUID)
	})
}

func (x index) named(uuid string) bool {
	return slices.ContainsFunc(x.Network.Ports, func(p cloud.Port) bool {
		for _, of := range p.Allocation {
			if of == uuid {
				return true
			}
		}
		return false
	})
}

// usedDevice is the provider of a device with allocations.
func (x index) usedDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.Wanted[p.UUID]
		return w != nil && w.Device != "" && p.Usages[guarantee.EgressBandwidth] > 1
	})
}

// bareHost is the provider of a host without agents, servers, aggregates and moves.
func (x index) bareHost() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		h := x.HypervisorOf(p)
		return h != nil && len(x.Below[p.UUID]) == 0 && len(p.Aggregates) == 0 && len(p.Usages) == 0 &&
			!slices.ContainsFunc(x.Compute.Migrations, func(m cloud.Migration) bool { return m.SourceHost == h.Host || m.DestHost == h.Host })
	})
}

func (x index) dropProvider(uuid string) bool {
	x.Cloud.Placement.Providers = slices.DeleteFunc(x.Cloud.Placement.Providers, func(p cloud.Provider) bool { return p.UUID == uuid })
	return true
}

func (x index) addConsumer(uuid, kind, provider string) bool {
	x.Cloud.Placement.Consumers = append(x.Cloud.Placement.Consumers, cloud.Consumer{
		UUID: uuid, Generation: 1, Project: cloudtest.Project, User: cloudtest.User, Type: kind,
		Allocations: map[string]map[string]int64{provider: {"VCPU": 1}},
	})
	x.Cloud.Placement.Sort()
	return true
}

// host is the provider of any host.
func (x index) host() *cloud.Provider { return x.anyProvider(audit.IsHost) }

// otherHost is the provider of another host than a server's.
func (x index) otherHost(s *audit.Server) *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool { return audit.IsHost(p) && p != s.Root })
}

// resizing is the migration of a resize that waits, between two hosts.
func (x index) resizing() *cloud.Migration {
	for i := range x.Compute.Migrations {
		if m := &x.Compute.Migrations[i]; m.Status == "finished" && m.SourceHost != m.DestHost {
			return m
		}
	}
	return nil
}

func (x index) dropConsumer(uuid string) bool {
	x.Cloud.Placement.Consumers = slices.DeleteFunc(x.Cloud.Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == uuid })
	return true
}

func without(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, prefix) })
}

// reporting is an agent that reports a device.
func (x index) reporting() *audit.Agent {
	for _, a := range x.Agents {
		if len(a.Report.Bandwidths) > 0 {
			return a
		}
	}
	return nil
}

// set changes a key of an inventory.
func set(p *cloud.Provider, class string, change func(i *cloud.Inventory)) bool {
	i, ok := p.Inventories[class]
	change(&i)
	p.Inventories[class] = i
	return ok
}

// Plants has a fault of each kind of finding, or several.
var Plants = []Plant{
	{Code: "orphaned-allocation", plant: func(x index) bool { return x.addConsumer(cloudtest.UUID("unknown"), "INSTANCE", x.host().UUID) }},
	{Code: "orphaned-allocation", Name: "without a type", plant: func(x index) bool { return x.addConsumer(cloudtest.UUID("unknown"), "", x.host().UUID) }},
	{Code: "orphaned-allocation", Name: "of a server that was deleted", plant: func(x index) bool {
		s := x.settledServer(x.portless)
		if s == nil {
			return false
		}
		x.Compute.Servers = slices.DeleteFunc(x.Compute.Servers, func(o cloud.Server) bool { return o.UUID == s.UUID })
		return true
	}},
	{Code: "migration-left-over", plant: func(x index) bool { return x.addConsumer(cloudtest.UUID("unknown"), "MIGRATION", x.host().UUID) }},
	{Code: "migration-left-over", Name: "with its record", plant: func(x index) bool {
		m, s := x.resizing(), (*audit.Server)(nil)
		if m == nil {
			return false
		}
		s = x.Servers[m.Server]
		m.Status, s.Status = "confirmed", "ACTIVE"
		return true
	}},
	{Code: "consumer-empty", plant: func(x index) bool {
		uuid := cloudtest.UUID("unknown")
		x.addConsumer(uuid, "INSTANCE", "")
		for i := range x.Placement.Consumers {
			if c := &x.Placement.Consumers[i]; c.UUID == uuid {
				c.Allocations = map[string]map[string]int64{}
			}
		}
		return true
	}},
	{Code: "consumer-without-type", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil || len(x.Placement.Consumers) < 2 {
			return false
		}
		s.Held.Type = ""
		return true
	}},
	{Code: "consumer-type-wrong", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Type = "MIGRATION"
		return true
	}},
	{Code: "consumer-project-wrong", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Project = "another"
		return true
	}},
	{Code: "consumer-project-wrong", Name: "of a migration", plant: func(x index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Consumer[m.UUID].Project = "another"
		return true
	}},
	{Code: "consumer-user-wrong", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.User = "another"
		return true
	}},
	{Code: "allocation-on-gone-provider", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Allocations[cloudtest.UUID("nothing")] = map[string]int64{"CUSTOM_X": 1}
		return true
	}},
	{Code: "allocation-without-inventory", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Allocations[s.Root.UUID]["CUSTOM_GOLD"] = 1
		return true
	}},
	{Code: "amount-breaks-units", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "VCPU", func(i *cloud.Inventory) { i.MinUnit = 3 })
	}},
	{Code: "amount-breaks-units", Name: "step", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.StepSize = 1000 })
	}},
	{Code: "usage-differs", usage: true, plant: func(x index) bool {
		x.host().Usages["VCPU"]++
		return len(x.Placement.Consumers) > 0
	}},

	{Code: "server-without-allocation", plant: func(x index) bool {
		s := x.settledServer(x.portless)
		return s != nil && x.dropConsumer(s.UUID)
	}},
	{Code: "server-without-allocation", Name: "with ports", plant: func(x index) bool {
		p := x.guaranteedPort(anyPort)
		return p != nil && x.dropConsumer(p.Device)
	}},
	{Code: "allocation-on-wrong-host", plant: func(x index) bool {
		s := x.settledServer(x.portless)
		if s == nil || s.Held.Allocations[s.Root.UUID]["DISK_GB"] == 0 {
			return false
		}
		to := x.anyProvider(func(p *cloud.Provider) bool {
			_, disk := p.Inventories["DISK_GB"]
			return audit.IsHost(p) && disk && p != s.Root
		})
		if to == nil {
			return false
		}
		s.Held.Allocations = map[string]map[string]int64{to.UUID: s.Held.Allocations[s.Root.UUID]}
		return true
	}},
	{Code: "held-on-several-hosts", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil || x.otherHost(s) == nil {
			return false
		}
		s.Held.Allocations[x.otherHost(s).UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{Code: "held-on-several-hosts", Name: "three of a move", plant: func(x index) bool {
		s := x.anyServer(func(s *audit.Server) bool { return s.Task == "migrating" })
		if s == nil {
			return false
		}
		for p := range x.Roots() {
			if audit.IsHost(p) && s.Held.Allocations[p.UUID] == nil {
				s.Held.Allocations[p.UUID] = map[string]int64{"VCPU": 1}
			}
		}
		return len(s.Held.Allocations) > 3
	}},
	{Code: "flavor-amount-missing", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Allocations[s.Root.UUID]["MEMORY_MB"]--
		return true
	}},
	{Code: "flavor-amount-missing", Name: "class", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		delete(s.Held.Allocations[s.Root.UUID], "VCPU")
		return true
	}},
	{Code: "flavor-amount-superfluous", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Held.Allocations[s.Root.UUID]["MEMORY_MB"]++
		return true
	}},
	{Code: "class-not-asked", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Image = "" // it boots from a volume
		return true
	}},
	{Code: "offloaded-server-holds", plant: func(x index) bool {
		s := x.anyServer(func(s *audit.Server) bool { return s.Status == "SHELVED_OFFLOADED" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{Code: "unplaced-server-holds", plant: func(x index) bool {
		s := x.anyServer(func(s *audit.Server) bool { return s.Status == "ERROR" && s.Host == "" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{Code: "server-host-unknown", plant: func(x index) bool {
		s := x.settledServer(x.portless)
		if s == nil {
			return false
		}
		s.Host = "nowhere"
		return true
	}},
	{Code: "evacuation-source-held", Also: "host-without-service", plant: func(x index) bool {
		for _, m := range x.Compute.Migrations {
			if m.Type == "evacuation" && x.Hypervisors[m.SourceHost] != nil {
				x.Compute.Services = slices.DeleteFunc(x.Compute.Services, func(s cloud.Service) bool { return s.Host == m.SourceHost })
				return true
			}
		}
		return false
	}},

	{Code: "migration-without-allocation", plant: func(x index) bool {
		m := x.resizing()
		return m != nil && x.dropConsumer(m.UUID)
	}},
	{Code: "migration-on-wrong-host", plant: func(x index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Consumer[m.UUID].Allocations[x.HostRoot(m.DestHost, "").UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{Code: "migration-of-gone-server", plant: func(x index) bool {
		m := x.resizing()
		if m == nil || !x.portless(x.Servers[m.Server]) {
			m = nil
			for i := range x.Compute.Migrations {
				if of := &x.Compute.Migrations[i]; of.Status == "finished" && x.portless(x.Servers[of.Server]) {
					m = of
				}
			}
		}
		if m == nil {
			return false
		}
		x.Compute.Servers = slices.DeleteFunc(x.Compute.Servers, func(s cloud.Server) bool { return s.UUID == m.Server })
		return x.dropConsumer(m.Server)
	}},
	{Code: "migration-record-stale", plant: func(x index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Servers[m.Server].Status = "ACTIVE"
		return true
	}},

	{Code: "port-of-gone-server", plant: func(x index) bool {
		if len(x.Network.Ports) == 0 {
			return false
		}
		p := x.Network.Ports[0]
		p.UUID, p.Device, p.Allocation, p.Request = cloudtest.UUID("port of unknown"), cloudtest.UUID("unknown"), nil, nil
		x.Network.Ports = append(x.Network.Ports, p)
		return true
	}},
	{Code: "port-host-differs", plant: func(x index) bool {
		s := x.settledServer(func(s *audit.Server) bool { return len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].Host = "elsewhere"
		return true
	}},
	{Code: "port-binding-failed", plant: func(x index) bool {
		s := x.settledServer(func(s *audit.Server) bool { return len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].VIF = "binding_failed"
		return true
	}},
	{Code: "port-not-bound", plant: func(x index) bool {
		s := x.settledServer(func(s *audit.Server) bool {
			return slices.ContainsFunc(x.PortsOf[s.UUID], func(p *cloud.Port) bool { return !audit.Asks(p) })
		})
		if s == nil {
			return false
		}
		for _, p := range x.PortsOf[s.UUID] {
			if !audit.Asks(p) {
				p.Host, p.VIF = "", "unbound"
			}
		}
		return true
	}},
	{Code: "key-of-unbound-port", plant: func(x index) bool {
		s := x.anyServer(func(s *audit.Server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].Allocation = map[string]string{"": x.host().UUID}
		return true
	}},
	{Code: "key-of-unbound-port", Name: "of no server", plant: func(x index) bool {
		x.Network.Ports = append(x.Network.Ports, cloud.Port{
			UUID: cloudtest.UUID("detached"), Name: "detached", Network: cloudtest.UUID("network"), Project: cloudtest.Project, Status: "DOWN", AdminUp: true,
			VNIC: "normal", VIF: "unbound", Allocation: map[string]string{"": x.host().UUID},
		})
		return true
	}},
	{Code: "bound-without-key", plant: func(x index) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Allocation = nil
		return true
	}},
	{Code: "key-without-request", plant: func(x index) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Request = nil
		return true
	}},
	{Code: "key-group-unknown", plant: func(x index) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		id := p.Request.Groups[0].ID
		p.Allocation[cloudtest.UUID("other group")] = p.Allocation[id]
		delete(p.Allocation, id)
		return true
	}},
	{Code: "key-group-missing", plant: func(x index) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) > 1 })
		if p == nil {
			return false
		}
		delete(p.Allocation, p.Request.Groups[1].ID)
		return true
	}},
	{Code: "key-format-old", plant: func(x index) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		p.Allocation = map[string]string{"": p.Allocation[p.Request.Groups[0].ID]}
		return true
	}},
	{Code: "key-provider-gone", plant: func(x index) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = cloudtest.UUID("nothing")
		return true
	}},
	{Code: "key-provider-of-other-host", plant: func(x index) bool {
		p := x.guaranteedPort(groups)
		if p == nil || x.otherHost(x.Servers[p.Device]) == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = x.otherHost(x.Servers[p.Device]).UUID
		return true
	}},
	{Code: "key-provider-lacks-class", plant: func(x index) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool {
			return groups(p) && len(p.Request.Groups) == 1 && len(x.PortsOf[p.Device]) == 1
		})
		if p == nil {
			return false
		}
		// The key names the host's root provider, which has the traits.
		s, g := x.Servers[p.Device], p.Request.Groups[0]
		delete(s.Held.Allocations, p.Allocation[g.ID])
		p.Allocation[g.ID] = s.Root.UUID
		s.Root.Traits = append(s.Root.Traits, g.Required...)
		slices.Sort(s.Root.Traits)
		return true
	}},
	{Code: "key-provider-lacks-trait", plant: func(x index) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		p.Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("net1"), "HW_CPU_X86_AVX"}
		return x.anyProvider(func(p *cloud.Provider) bool { return slices.Contains(p.Traits, guarantee.PhysicalNetworkTrait("net1")) }) != nil
	}},
	{Code: "key-not-allocated", plant: func(x index) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		delete(x.Servers[p.Device].Held.Allocations, p.Allocation[p.Request.Groups[0].ID])
		return true
	}},
	{Code: "port-amount-missing", plant: func(x index) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		g := &p.Request.Groups[0]
		g.Resources[guarantee.EgressBandwidth]++
		return true
	}},
	{Code: "port-amount-superfluous", plant: func(x index) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		x.Servers[p.Device].Held.Allocations[audit.Named(p, p.Request.Groups[0])][guarantee.EgressBandwidth]++
		return true
	}},
	{Code: "port-amount-superfluous", Name: "port that was deleted", plant: func(x index) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		x.Network.Ports = slices.DeleteFunc(x.Network.Ports, func(o cloud.Port) bool { return o.UUID == p.UUID })
		return true
	}},
	{Code: "request-trait-without-provider", plant: func(x index) bool {
		s := x.anyServer(func(s *audit.Server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.PortsOf[s.UUID]) > 0 })
		if s == nil || !audit.Asks(x.PortsOf[s.UUID][0]) {
			return false
		}
		x.PortsOf[s.UUID][0].Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("none")}
		return true
	}},

	{Code: "agent-dead-with-ports", plant: func(x index) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return p.VIF == "ovs" })
		if p == nil {
			return false
		}
		for _, a := range x.Agents {
			if a.Host == p.Host && a.Driver.Name == guarantee.OpenVSwitch.Name {
				a.Alive = false
			}
		}
		return true
	}},
	{Code: "agent-not-synced", plant: func(x index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		*a.Synced = false
		return true
	}},
	{Code: "agent-report-invalid", plant: func(x index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"] = "much"
		return true
	}},
	{Code: "agent-device-left-out", plant: func(x index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"].(map[string]any)["br-stray"] = map[string]any{"egress": 1.0}
		a.Configurations["resource_provider_hypervisors"].(map[string]any)["br-stray"] = a.Host
		return true
	}},
	{Code: "agent-host-unknown", plant: func(x index) bool {
		x.Network.Agents = append(x.Network.Agents, cloud.Agent{
			UUID: cloudtest.UUID("agent of nowhere"), Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "cn1.example.com", Alive: true,
			Configurations: map[string]any{
				"resource_provider_bandwidths": map[string]any{"br0": map[string]any{"egress": 1.0}}, "bridge_mappings": map[string]any{"net0": "br0"},
			},
		})
		return true
	}},
	{Code: "agent-host-differs", plant: func(x index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Host += ".example.com"
		return true
	}},
	{Code: "agent-provider-missing", plant: func(x index) bool {
		p := x.idleDevice()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{Code: "provider-name-differs", plant: func(x index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Name += "-old"
		return true
	}},
	{Code: "agent-provider-misplaced", plant: func(x index) bool {
		agent := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.Wanted[p.UUID]
			return w != nil && w.Device == "" && len(x.UsedBelow(p)) == 0 && !x.named(p.UUID) &&
				!slices.ContainsFunc(x.Below[p.UUID], func(child *cloud.Provider) bool { return x.named(child.UUID) })
		})
		if agent == nil {
			return false
		}
		other := x.anyProvider(func(o *cloud.Provider) bool { return audit.IsHost(o) && o.UUID != agent.Parent })
		agent.Parent, agent.Root = other.UUID, other.UUID
		for _, child := range x.Below[agent.UUID] {
			child.Root = other.UUID
		}
		return true
	}},
	{Code: "device-provider-misplaced", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = p.Root
		return true
	}},
	{Code: "agent-provider-stale", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.Wanted[p.UUID]
		x.Network.Agents = slices.DeleteFunc(x.Network.Agents, func(a cloud.Agent) bool { return a.UUID == w.Agent.UUID })
		return true
	}},
	{Code: "device-provider-stale", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.Wanted[p.UUID]
		for _, key := range []string{"resource_provider_bandwidths", "resource_provider_hypervisors"} {
			devices := w.Agent.Configurations[key].(map[string]any)
			if key == "resource_provider_hypervisors" && len(devices) == 1 {
				continue // the agent still has a provider
			}
			delete(devices, w.Device)
		}
		return true
	}},
	{Code: "inventory-class-missing", plant: func(x index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		delete(p.Inventories, guarantee.IngressBandwidth)
		return true
	}},
	{Code: "inventory-class-superfluous", plant: func(x index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		devices := x.Wanted[p.UUID].Agent.Configurations["resource_provider_bandwidths"].(map[string]any)
		delete(devices[x.Wanted[p.UUID].Device].(map[string]any), "ingress")
		return true
	}},
	{Code: "inventory-total-differs", plant: func(x index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total++ })
	}},
	{Code: "inventory-settings-differ", plant: func(x index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.AllocationRatio = 2 })
	}},
	{Code: "inventory-settings-differ", Name: "reserved", plant: func(x index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Reserved = 1 })
	}},
	{Code: "max-unit-below-total", plant: func(x index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.MaxUnit = i.Total - 1 })
	}},
	{Code: "physnet-trait-missing", plant: func(x index) bool {
		// Another device has the network, so that it is not the last one that ports can ask for.
		p := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.Wanted[p.UUID]
			return w != nil && w.Device != "" && x.anyProvider(func(o *cloud.Provider) bool {
				return o != p && slices.Contains(o.Traits, audit.PhysicalNetworks(w.Traits)[0])
			}) != nil
		})
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_PHYSNET_")
		return true
	}},
	{Code: "physnet-trait-superfluous", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Traits = append(p.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.Placement.Traits = append(x.Placement.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.Cloud.Placement.Sort()
		return true
	}},
	{Code: "vnic-trait-missing", plant: func(x index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_VNIC_TYPE_")
		return true
	}},

	{Code: "hypervisor-without-provider", plant: func(x index) bool {
		p := x.bareHost()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{Code: "hypervisor-uuid-differs", plant: func(x index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.HypervisorOf(p).UUID = cloudtest.UUID("made anew")
		return true
	}},
	{Code: "hypervisor-name-differs", plant: func(x index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.HypervisorOf(p).Hostname = "renamed"
		return true
	}},
	{Code: "provider-of-gone-host", plant: func(x index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.Compute.Hypervisors = slices.DeleteFunc(x.Compute.Hypervisors, func(h cloud.Hypervisor) bool { return h.UUID == p.UUID })
		return true
	}},
	{Code: "host-without-service", plant: func(x index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		host := x.HypervisorOf(p).Host
		x.Compute.Services = slices.DeleteFunc(x.Compute.Services, func(s cloud.Service) bool { return s.Host == host })
		return true
	}},
	{Code: "names-alike", plant: func(x index) bool {
		id := cloudtest.UUID("again")
		x.Cloud.Placement.Providers = append(x.Cloud.Placement.Providers, cloud.Provider{UUID: id, Root: id, Name: strings.ToUpper(x.host().Name) + ".example.com"})
		x.Cloud.Placement.Sort()
		return true
	}},
	{Code: "disabled-trait-missing", plant: func(x index) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool { return slices.Contains(p.Traits, audit.DisabledTrait) })
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, audit.DisabledTrait)
		return true
	}},
	{Code: "disabled-trait-superfluous", plant: func(x index) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool {
			return audit.IsHost(p) && !slices.Contains(p.Traits, audit.DisabledTrait)
		})
		p.Traits = append([]string{audit.DisabledTrait}, p.Traits...)
		return true
	}},

	{Code: "aggregate-mirror-missing", plant: func(x index) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		p := x.HostRoot(a.Hosts[0], "")
		p.Aggregates = without(p.Aggregates, a.UUID)
		return true
	}},
	{Code: "aggregate-mirror-superfluous", plant: func(x index) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		p := x.anyProvider(func(p *cloud.Provider) bool { return audit.IsHost(p) && !slices.Contains(p.Aggregates, a.UUID) })
		if p == nil {
			return false
		}
		p.Aggregates = append(p.Aggregates, a.UUID)
		return true
	}},
	{Code: "aggregate-host-unknown", plant: func(x index) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		a.Hosts = append(a.Hosts, "nowhere")
		return true
	}},
	{Code: "aggregate-ratio-differs", plant: func(x index) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		x.Compute.Aggregates[0].Metadata["cpu_allocation_ratio"] = "16.0"
		return true
	}},
	{Code: "ratios-differ-in-aggregate", plant: func(x index) bool {
		for _, a := range x.Compute.Aggregates {
			if len(a.Hosts) > 1 {
				return set(x.HostRoot(a.Hosts[1], ""), "VCPU", func(i *cloud.Inventory) { i.AllocationRatio = 16 })
			}
		}
		return false
	}},
	{Code: "sharing-without-aggregate", plant: func(x index) bool { x.ByName["nfs"].Aggregates = []string{}; return true }},
	{Code: "sharing-aggregate-empty", plant: func(x index) bool {
		x.ByName["nfs"].Aggregates = []string{cloudtest.UUID("unknown aggregate")}
		return true
	}},

	{Code: "capacity-exceeded", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.Reserved = i.Total - 1 })
	}},
	{Code: "reserved-in-use", plant: func(x index) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.Reserved = i.Total })
	}},
	{Code: "guarantee-overcommitted", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		// The agent reports less, with a ratio, than it is used of.
		w := x.Wanted[p.UUID]
		total := p.Usages[guarantee.EgressBandwidth] - 1
		c := w.Agent.Configurations
		c["resource_provider_bandwidths"].(map[string]any)[w.Device].(map[string]any)["egress"] = float64(total)
		c["resource_provider_inventory_defaults"].(map[string]any)["allocation_ratio"] = 10.0
		for _, of := range w.Agent.State.Providers {
			if of.Device != "" {
				for class := range of.Inventories {
					set(x.ByUUID[of.UUID.String()], class, func(i *cloud.Inventory) { i.AllocationRatio = 10 })
				}
			}
		}
		return set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total = total })
	}},
	{Code: "reserved-above-total", plant: func(x index) bool {
		p := x.bareHost()
		return p != nil && set(p, "VCPU", func(i *cloud.Inventory) { i.Reserved = i.Total + 1 })
	}},
	{Code: "unknown-class", plant: func(x index) bool {
		x.host().Inventories["CUSTOM_NONE"] = cloud.Inventory{Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
		return true
	}},
	{Code: "unknown-trait", plant: func(x index) bool {
		x.host().Traits = append(x.host().Traits, "CUSTOM_NONE")
		return true
	}},
	{Code: "provider-parent-gone", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = cloudtest.UUID("nothing")
		return true
	}},
	{Code: "provider-root-differs", plant: func(x index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Root = p.UUID
		return true
	}},
}
