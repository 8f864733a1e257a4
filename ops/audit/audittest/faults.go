// Package audittest makes clouds for tests of the tools that find and repair disagreements: in
// which all services agree, and in which one fault of a kind is injected.
package audittest

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// A Fault can be injected into records.
type Fault struct {
	Code audit.Code
	Name string
	// Also is the code of another finding that the fault is, "" for none.
	Also   audit.Code
	inject func(x target) bool
	usage  bool // it is about usages, which are not counted again then
}

// Codes are those of the findings that the fault is, sorted.
func (f Fault) Codes() []audit.Code {
	if f.Also == "" {
		return []audit.Code{f.Code}
	}
	list := []audit.Code{f.Code, f.Also}
	slices.Sort(list)
	return list
}

// Key is the fault's name in tests: "CODE/NAME".
func (f Fault) Key() string { return string(f.Code) + "/" + f.Name }

// InjectInto injects the fault into records. It returns false, and may have changed them, when they
// have nothing that can have it.
func (f Fault) InjectInto(c *cloud.Cloud) bool {
	if !f.inject(target{index.New(c)}) {
		return false
	}
	if !f.usage {
		cloudtest.Count(c)
	}
	return true
}

// A target finds the records to inject faults into.
type target struct{ *index.Index }

// These methods return the first record with a property, nil when there is none.

func (x target) anyServer(ok func(s *index.Server) bool) (match *index.Server) {
	for i := range x.Compute.Servers {
		if s := x.Servers[x.Compute.Servers[i].UUID]; match == nil && ok(s) {
			match = s
		}
	}
	return match
}

// settledServer returns a server that runs on its host and was never moved, and has its allocation
// there.
func (x target) settledServer(ok func(s *index.Server) bool) *index.Server {
	return x.anyServer(func(s *index.Server) bool {
		return s.Status == "ACTIVE" && !s.Busy && s.Consumer != nil && len(s.Trees) == 1 && len(s.Moves) == 0 && ok(s)
	})
}

func (x target) portless(s *index.Server) bool { return len(x.PortsOf[s.UUID]) == 0 }

// guaranteedPort returns a port of such a server that requests something from placement, the first
// one of its server.
func (x target) guaranteedPort(ok func(p *cloud.Port) bool) *cloud.Port {
	var match *cloud.Port
	x.settledServer(func(s *index.Server) bool {
		for _, p := range x.PortsOf[s.UUID] {
			if match == nil && index.HasRequest(p) && ok(p) {
				match = p
			}
		}
		return match != nil
	})
	return match
}

func groups(p *cloud.Port) bool { return p.Request.Groups[0].ID != "" }

func anyPort(*cloud.Port) bool { return true }

func anyServer(*index.Server) bool { return true }

// anyProvider returns the first provider with a property.
func (x target) anyProvider(ok func(p *cloud.Provider) bool) *cloud.Provider {
	for i := range x.Placement.Providers {
		if p := &x.Placement.Providers[i]; ok(p) {
			return p
		}
	}
	return nil
}

// idleDevice is the provider of a device without allocations, which no port names.
func (x target) idleDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.Reported[p.UUID]
		return w != nil && w.Device != "" && len(p.Usages) == 0 && !x.named(p.UUID)
	})
}

func (x target) named(uuid string) bool {
	return slices.ContainsFunc(x.Network.Ports, func(p cloud.Port) bool {
		for _, id := range p.Allocation {
			if id == uuid {
				return true
			}
		}
		return false
	})
}

// usedDevice is the provider of a device with allocations.
func (x target) usedDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.Reported[p.UUID]
		return w != nil && w.Device != "" && p.Usages[guarantee.EgressBandwidth] > 1
	})
}

// bareHost is the provider of a host without agents, servers, aggregates and moves.
func (x target) bareHost() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		h := x.HypervisorOf(p)
		return h != nil && len(x.Children[p.UUID]) == 0 && len(p.Aggregates) == 0 && len(p.Usages) == 0 &&
			!slices.ContainsFunc(x.Compute.Migrations, func(m cloud.Migration) bool {
				return m.SourceHost == h.Host || m.DestHost == h.Host
			})
	})
}

func (x target) dropProvider(uuid string) bool {
	x.Cloud.Placement.Providers = slices.DeleteFunc(x.Cloud.Placement.Providers, func(p cloud.Provider) bool {
		return p.UUID == uuid
	})
	return true
}

func (x target) addConsumer(uuid, kind, provider string) bool {
	x.Cloud.Placement.Consumers = append(x.Cloud.Placement.Consumers, cloud.Consumer{
		UUID: uuid, Generation: 1, Project: cloudtest.Project, User: cloudtest.User, Type: kind,
		Allocations: map[string]map[string]int64{provider: {"VCPU": 1}},
	})
	x.Cloud.Placement.Sort()
	return true
}

// host is the provider of any host.
func (x target) host() *cloud.Provider { return x.anyProvider(index.IsHost) }

// otherHost is the provider of another host than a server's.
func (x target) otherHost(s *index.Server) *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool { return index.IsHost(p) && p != s.Root })
}

// resizing is the migration of a resize that waits, between two hosts.
func (x target) resizing() *cloud.Migration {
	for i := range x.Compute.Migrations {
		if m := &x.Compute.Migrations[i]; m.Status == "finished" && m.SourceHost != m.DestHost {
			return m
		}
	}
	return nil
}

func (x target) dropConsumer(uuid string) bool {
	x.Cloud.Placement.Consumers = slices.DeleteFunc(x.Cloud.Placement.Consumers, func(c cloud.Consumer) bool {
		return c.UUID == uuid
	})
	return true
}

func without(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, prefix) })
}

// reporting is an agent that reports a device.
func (x target) reporting() *index.Agent {
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

// Faults has a fault of each kind of finding, or several.
var Faults = []Fault{
	{
		Code:   audit.OrphanedAllocation,
		inject: func(x target) bool { return x.addConsumer(cloudtest.UUID("unknown"), "INSTANCE", x.host().UUID) },
	},
	{
		Code: audit.OrphanedAllocation, Name: "without a type",
		inject: func(x target) bool { return x.addConsumer(cloudtest.UUID("unknown"), "", x.host().UUID) },
	},
	{Code: audit.OrphanedAllocation, Name: "of a server that was deleted", inject: func(x target) bool {
		s := x.settledServer(x.portless)
		if s == nil {
			return false
		}
		x.Compute.Servers = slices.DeleteFunc(x.Compute.Servers, func(o cloud.Server) bool { return o.UUID == s.UUID })
		return true
	}},
	{
		Code:   audit.EndedMigrationAllocated,
		inject: func(x target) bool { return x.addConsumer(cloudtest.UUID("unknown"), "MIGRATION", x.host().UUID) },
	},
	{Code: audit.EndedMigrationAllocated, Name: "with its record", inject: func(x target) bool {
		m, s := x.resizing(), (*index.Server)(nil)
		if m == nil {
			return false
		}
		s = x.Servers[m.Server]
		m.Status, s.Status = "confirmed", "ACTIVE"
		return true
	}},
	{Code: audit.ConsumerEmpty, inject: func(x target) bool {
		uuid := cloudtest.UUID("unknown")
		x.addConsumer(uuid, "INSTANCE", "")
		for i := range x.Placement.Consumers {
			if c := &x.Placement.Consumers[i]; c.UUID == uuid {
				c.Allocations = map[string]map[string]int64{}
			}
		}
		return true
	}},
	{Code: audit.ConsumerWithoutType, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil || len(x.Placement.Consumers) < 2 {
			return false
		}
		s.Consumer.Type = ""
		return true
	}},
	{Code: audit.ConsumerTypeWrong, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Type = "MIGRATION"
		return true
	}},
	{Code: audit.ConsumerProjectWrong, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Project = "another"
		return true
	}},
	{Code: audit.ConsumerProjectWrong, Name: "of a migration", inject: func(x target) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Consumers[m.UUID].Project = "another"
		return true
	}},
	{Code: audit.ConsumerUserWrong, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.User = "another"
		return true
	}},
	{Code: audit.AllocationOnMissingProvider, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Allocations[cloudtest.UUID("nothing")] = map[string]int64{"CUSTOM_X": 1}
		return true
	}},
	{Code: audit.AllocationWithoutInventory, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Allocations[s.Root.UUID]["CUSTOM_GOLD"] = 1
		return true
	}},
	{Code: audit.AmountBreaksUnits, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "VCPU", func(i *cloud.Inventory) { i.MinUnit = 3 })
	}},
	{Code: audit.AmountBreaksUnits, Name: "step", inject: func(x target) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.StepSize = 1000 })
	}},
	{Code: audit.UsageDiffers, usage: true, inject: func(x target) bool {
		x.host().Usages["VCPU"]++
		return len(x.Placement.Consumers) > 0
	}},

	{Code: audit.ServerWithoutAllocation, inject: func(x target) bool {
		s := x.settledServer(x.portless)
		return s != nil && x.dropConsumer(s.UUID)
	}},
	{Code: audit.ServerWithoutAllocation, Name: "with ports", inject: func(x target) bool {
		p := x.guaranteedPort(anyPort)
		return p != nil && x.dropConsumer(p.Device)
	}},
	{Code: audit.AllocationOnWrongHost, inject: func(x target) bool {
		s := x.settledServer(x.portless)
		if s == nil || s.Consumer.Allocations[s.Root.UUID]["DISK_GB"] == 0 {
			return false
		}
		to := x.anyProvider(func(p *cloud.Provider) bool {
			_, disk := p.Inventories["DISK_GB"]
			return index.IsHost(p) && disk && p != s.Root
		})
		if to == nil {
			return false
		}
		s.Consumer.Allocations = map[string]map[string]int64{to.UUID: s.Consumer.Allocations[s.Root.UUID]}
		return true
	}},
	{Code: audit.AllocatedOnSeveralHosts, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil || x.otherHost(s) == nil {
			return false
		}
		s.Consumer.Allocations[x.otherHost(s).UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{Code: audit.AllocatedOnSeveralHosts, Name: "three of a move", inject: func(x target) bool {
		s := x.anyServer(func(s *index.Server) bool { return s.Task == "migrating" })
		if s == nil {
			return false
		}
		for p := range x.Roots() {
			if index.IsHost(p) && s.Consumer.Allocations[p.UUID] == nil {
				s.Consumer.Allocations[p.UUID] = map[string]int64{"VCPU": 1}
			}
		}
		return len(s.Consumer.Allocations) > 3
	}},
	{Code: audit.FlavorAmountMissing, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Allocations[s.Root.UUID]["MEMORY_MB"]--
		return true
	}},
	{Code: audit.FlavorAmountMissing, Name: "class", inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		delete(s.Consumer.Allocations[s.Root.UUID], "VCPU")
		return true
	}},
	{Code: audit.FlavorAmountSuperfluous, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Consumer.Allocations[s.Root.UUID]["MEMORY_MB"]++
		return true
	}},
	{Code: audit.ClassNotRequested, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		s.Image = "" // it boots from a volume
		return true
	}},
	{Code: audit.OffloadedServerAllocated, inject: func(x target) bool {
		s := x.anyServer(func(s *index.Server) bool { return s.Status == "SHELVED_OFFLOADED" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{Code: audit.HostlessServerAllocated, inject: func(x target) bool {
		s := x.anyServer(func(s *index.Server) bool { return s.Status == "ERROR" && s.Host == "" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{Code: audit.ServerHostUnknown, inject: func(x target) bool {
		s := x.settledServer(x.portless)
		if s == nil {
			return false
		}
		s.Host = "nowhere"
		return true
	}},
	{Code: audit.EvacuationSourceAllocated, Also: audit.HostWithoutService, inject: func(x target) bool {
		for _, m := range x.Compute.Migrations {
			if m.Type == "evacuation" && x.Hypervisors[m.SourceHost] != nil {
				x.Compute.Services = slices.DeleteFunc(x.Compute.Services, func(s cloud.Service) bool {
					return s.Host == m.SourceHost
				})
				return true
			}
		}
		return false
	}},

	{Code: audit.MigrationWithoutAllocation, inject: func(x target) bool {
		m := x.resizing()
		return m != nil && x.dropConsumer(m.UUID)
	}},
	{Code: audit.MigrationOnWrongHost, inject: func(x target) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Consumers[m.UUID].Allocations[x.HostRoot(m.DestHost, "").UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{Code: audit.MigrationOfDeletedServer, inject: func(x target) bool {
		m := x.resizing()
		if m == nil || !x.portless(x.Servers[m.Server]) {
			m = nil
			for i := range x.Compute.Migrations {
				if migration := &x.Compute.Migrations[i]; migration.Status == "finished" &&
					x.portless(x.Servers[migration.Server]) {
					m = migration
				}
			}
		}
		if m == nil {
			return false
		}
		x.Compute.Servers = slices.DeleteFunc(x.Compute.Servers, func(s cloud.Server) bool { return s.UUID == m.Server })
		return x.dropConsumer(m.Server)
	}},
	{Code: audit.MigrationRecordStale, inject: func(x target) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.Servers[m.Server].Status = "ACTIVE"
		return true
	}},

	{Code: audit.PortOfDeletedServer, inject: func(x target) bool {
		if len(x.Network.Ports) == 0 {
			return false
		}
		p := x.Network.Ports[0]
		p.UUID, p.Device, p.Allocation, p.Request = cloudtest.UUID("port of unknown"), cloudtest.UUID("unknown"), nil, nil
		x.Network.Ports = append(x.Network.Ports, p)
		return true
	}},
	{Code: audit.PortHostDiffers, inject: func(x target) bool {
		s := x.settledServer(func(s *index.Server) bool { return len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].Host = "elsewhere"
		return true
	}},
	{Code: audit.PortBindingFailed, inject: func(x target) bool {
		s := x.settledServer(func(s *index.Server) bool { return len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].VIF = "binding_failed"
		return true
	}},
	{Code: audit.PortNotBound, inject: func(x target) bool {
		s := x.settledServer(func(s *index.Server) bool {
			return slices.ContainsFunc(x.PortsOf[s.UUID], func(p *cloud.Port) bool { return !index.HasRequest(p) })
		})
		if s == nil {
			return false
		}
		for _, p := range x.PortsOf[s.UUID] {
			if !index.HasRequest(p) {
				p.Host, p.VIF = "", "unbound"
			}
		}
		return true
	}},
	{Code: audit.KeyOfUnboundPort, inject: func(x target) bool {
		s := x.anyServer(func(s *index.Server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.PortsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.PortsOf[s.UUID][0].Allocation = map[string]string{"": x.host().UUID}
		return true
	}},
	{Code: audit.KeyOfUnboundPort, Name: "of no server", inject: func(x target) bool {
		x.Network.Ports = append(x.Network.Ports, cloud.Port{
			UUID: cloudtest.UUID("detached"), Name: "detached", Network: cloudtest.UUID("network"), Project: cloudtest.Project,
			Status: "DOWN", AdminUp: true,
			VNIC: "normal", VIF: "unbound", Allocation: map[string]string{"": x.host().UUID},
		})
		return true
	}},
	{Code: audit.BoundWithoutKey, inject: func(x target) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Allocation = nil
		return true
	}},
	{Code: audit.KeyWithoutRequest, inject: func(x target) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Request = nil
		return true
	}},
	{Code: audit.KeyGroupUnknown, inject: func(x target) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		id := p.Request.Groups[0].ID
		p.Allocation[cloudtest.UUID("other group")] = p.Allocation[id]
		delete(p.Allocation, id)
		return true
	}},
	{Code: audit.KeyGroupMissing, inject: func(x target) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) > 1 })
		if p == nil {
			return false
		}
		delete(p.Allocation, p.Request.Groups[1].ID)
		return true
	}},
	{Code: audit.KeyFormatOld, inject: func(x target) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		p.Allocation = map[string]string{"": p.Allocation[p.Request.Groups[0].ID]}
		return true
	}},
	{Code: audit.KeyProviderMissing, inject: func(x target) bool {
		p := x.guaranteedPort(groups)
		if p == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = cloudtest.UUID("nothing")
		return true
	}},
	{Code: audit.KeyProviderOfOtherHost, inject: func(x target) bool {
		p := x.guaranteedPort(groups)
		if p == nil || x.otherHost(x.Servers[p.Device]) == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = x.otherHost(x.Servers[p.Device]).UUID
		return true
	}},
	{Code: audit.KeyProviderLacksClass, inject: func(x target) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool {
			return groups(p) && len(p.Request.Groups) == 1 && len(x.PortsOf[p.Device]) == 1
		})
		if p == nil {
			return false
		}
		// The key names the host's root provider, which has the traits.
		s, g := x.Servers[p.Device], p.Request.Groups[0]
		delete(s.Consumer.Allocations, p.Allocation[g.ID])
		p.Allocation[g.ID] = s.Root.UUID
		s.Root.Traits = append(s.Root.Traits, g.Required...)
		slices.Sort(s.Root.Traits)
		return true
	}},
	{Code: audit.KeyProviderLacksTrait, inject: func(x target) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		p.Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("net1"), "HW_CPU_X86_AVX"}
		return x.anyProvider(func(p *cloud.Provider) bool {
			return slices.Contains(p.Traits, guarantee.PhysicalNetworkTrait("net1"))
		}) != nil
	}},
	{Code: audit.KeyNotAllocated, inject: func(x target) bool {
		p := x.guaranteedPort(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		delete(x.Servers[p.Device].Consumer.Allocations, p.Allocation[p.Request.Groups[0].ID])
		return true
	}},
	{Code: audit.PortAmountMissing, inject: func(x target) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		g := &p.Request.Groups[0]
		g.Resources[guarantee.EgressBandwidth]++
		return true
	}},
	{Code: audit.PortAmountSuperfluous, inject: func(x target) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		x.Servers[p.Device].Consumer.Allocations[index.NamedProvider(p, p.Request.Groups[0])][guarantee.EgressBandwidth]++
		return true
	}},
	{Code: audit.PortAmountSuperfluous, Name: "port that was deleted", inject: func(x target) bool {
		p := x.guaranteedPort(anyPort)
		if p == nil {
			return false
		}
		x.Network.Ports = slices.DeleteFunc(x.Network.Ports, func(o cloud.Port) bool { return o.UUID == p.UUID })
		return true
	}},
	{Code: audit.RequestTraitWithoutProvider, inject: func(x target) bool {
		s := x.anyServer(func(s *index.Server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.PortsOf[s.UUID]) > 0 })
		if s == nil || !index.HasRequest(x.PortsOf[s.UUID][0]) {
			return false
		}
		x.PortsOf[s.UUID][0].Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("none")}
		return true
	}},

	{Code: audit.AgentDeadWithPorts, inject: func(x target) bool {
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
	{Code: audit.AgentNotSynced, inject: func(x target) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		*a.Synced = false
		return true
	}},
	{Code: audit.AgentReportInvalid, inject: func(x target) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"] = "much"
		return true
	}},
	{Code: audit.AgentDeviceIgnored, inject: func(x target) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"].(map[string]any)["br-stray"] = map[string]any{"egress": 1.0}
		a.Configurations["resource_provider_hypervisors"].(map[string]any)["br-stray"] = a.Host
		return true
	}},
	{Code: audit.AgentHostUnknown, inject: func(x target) bool {
		x.Network.Agents = append(x.Network.Agents, cloud.Agent{
			UUID: cloudtest.UUID("agent of nowhere"), Type: guarantee.OpenVSwitch.AgentType,
			Binary: guarantee.OpenVSwitch.Binary, Host: "cn1.example.com", Alive: true,
			Configurations: map[string]any{
				"resource_provider_bandwidths": map[string]any{"br0": map[string]any{"egress": 1.0}},
				"bridge_mappings":              map[string]any{"net0": "br0"},
			},
		})
		return true
	}},
	{Code: audit.AgentHostDiffers, inject: func(x target) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Host += ".example.com"
		return true
	}},
	{Code: audit.AgentProviderMissing, inject: func(x target) bool {
		p := x.idleDevice()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{Code: audit.ProviderNameDiffers, inject: func(x target) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Name += "-old"
		return true
	}},
	{Code: audit.AgentProviderMisplaced, inject: func(x target) bool {
		agent := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.Reported[p.UUID]
			return w != nil && w.Device == "" && len(x.SubtreeUsage(p)) == 0 && !x.named(p.UUID) &&
				!slices.ContainsFunc(x.Children[p.UUID], func(child *cloud.Provider) bool { return x.named(child.UUID) })
		})
		if agent == nil {
			return false
		}
		other := x.anyProvider(func(o *cloud.Provider) bool { return index.IsHost(o) && o.UUID != agent.Parent })
		agent.Parent, agent.Root = other.UUID, other.UUID
		for _, child := range x.Children[agent.UUID] {
			child.Root = other.UUID
		}
		return true
	}},
	{Code: audit.DeviceProviderMisplaced, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = p.Root
		return true
	}},
	{Code: audit.AgentProviderStale, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.Reported[p.UUID]
		x.Network.Agents = slices.DeleteFunc(x.Network.Agents, func(a cloud.Agent) bool { return a.UUID == w.Agent.UUID })
		return true
	}},
	{Code: audit.DeviceProviderStale, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.Reported[p.UUID]
		for _, key := range []string{"resource_provider_bandwidths", "resource_provider_hypervisors"} {
			devices := w.Agent.Configurations[key].(map[string]any)
			if key == "resource_provider_hypervisors" && len(devices) == 1 {
				continue // the agent still has a provider
			}
			delete(devices, w.Device)
		}
		return true
	}},
	{Code: audit.InventoryClassMissing, inject: func(x target) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		delete(p.Inventories, guarantee.IngressBandwidth)
		return true
	}},
	{Code: audit.InventoryClassSuperfluous, inject: func(x target) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		devices := x.Reported[p.UUID].Agent.Configurations["resource_provider_bandwidths"].(map[string]any)
		delete(devices[x.Reported[p.UUID].Device].(map[string]any), "ingress")
		return true
	}},
	{Code: audit.InventoryTotalDiffers, inject: func(x target) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total++ })
	}},
	{Code: audit.InventorySettingsDiffer, inject: func(x target) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.AllocationRatio = 2 })
	}},
	{Code: audit.InventorySettingsDiffer, Name: "reserved", inject: func(x target) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Reserved = 1 })
	}},
	{Code: audit.MaxUnitBelowTotal, inject: func(x target) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.MaxUnit = i.Total - 1 })
	}},
	{Code: audit.PhysnetTraitMissing, inject: func(x target) bool {
		// Another device has the network, so that it is not the last one that ports can request.
		p := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.Reported[p.UUID]
			return w != nil && w.Device != "" && x.anyProvider(func(o *cloud.Provider) bool {
				return o != p && slices.Contains(o.Traits, index.PhysicalNetworks(w.Traits)[0])
			}) != nil
		})
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_PHYSNET_")
		return true
	}},
	{Code: audit.PhysnetTraitSuperfluous, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Traits = append(p.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.Placement.Traits = append(x.Placement.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.Cloud.Placement.Sort()
		return true
	}},
	{Code: audit.VNICTraitMissing, inject: func(x target) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_VNIC_TYPE_")
		return true
	}},

	{Code: audit.HypervisorWithoutProvider, inject: func(x target) bool {
		p := x.bareHost()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{Code: audit.HypervisorUUIDDiffers, inject: func(x target) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.HypervisorOf(p).UUID = cloudtest.UUID("made again")
		return true
	}},
	{Code: audit.HypervisorNameDiffers, inject: func(x target) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.HypervisorOf(p).Hostname = "renamed"
		return true
	}},
	{Code: audit.ProviderOfDeletedHost, inject: func(x target) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.Compute.Hypervisors = slices.DeleteFunc(x.Compute.Hypervisors, func(h cloud.Hypervisor) bool {
			return h.UUID == p.UUID
		})
		return true
	}},
	{Code: audit.HostWithoutService, inject: func(x target) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		host := x.HypervisorOf(p).Host
		x.Compute.Services = slices.DeleteFunc(x.Compute.Services, func(s cloud.Service) bool { return s.Host == host })
		return true
	}},
	{Code: audit.NamesAlike, inject: func(x target) bool {
		id := cloudtest.UUID("again")
		x.Cloud.Placement.Providers = append(x.Cloud.Placement.Providers, cloud.Provider{
			UUID: id, Root: id, Name: strings.ToUpper(x.host().Name) + ".example.com",
		})
		x.Cloud.Placement.Sort()
		return true
	}},
	{Code: audit.DisabledTraitMissing, inject: func(x target) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool { return slices.Contains(p.Traits, index.DisabledTrait) })
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, index.DisabledTrait)
		return true
	}},
	{Code: audit.DisabledTraitSuperfluous, inject: func(x target) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool {
			return index.IsHost(p) && !slices.Contains(p.Traits, index.DisabledTrait)
		})
		p.Traits = append([]string{index.DisabledTrait}, p.Traits...)
		return true
	}},

	{Code: audit.OwnerTraitMissing, inject: func(x target) bool {
		x.Cloud.Compute.Version = "2.104"
		for i := range x.Placement.Providers {
			p := &x.Placement.Providers[i]
			p.Traits = append(p.Traits, index.OwnerNova)
			slices.Sort(p.Traits)
		}
		x.Cloud.Placement.Traits = slices.Compact(slices.Sorted(slices.Values(append(x.Cloud.Placement.Traits,
			index.OwnerNova))))
		p := x.host()
		p.Traits = without(p.Traits, index.OwnerNova)
		return true
	}},

	{Code: audit.AggregateMirrorMissing, inject: func(x target) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		p := x.HostRoot(a.Hosts[0], "")
		p.Aggregates = without(p.Aggregates, a.UUID)
		return true
	}},
	{Code: audit.AggregateMirrorSuperfluous, inject: func(x target) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		p := x.anyProvider(func(p *cloud.Provider) bool { return index.IsHost(p) && !slices.Contains(p.Aggregates, a.UUID) })
		if p == nil {
			return false
		}
		p.Aggregates = append(p.Aggregates, a.UUID)
		return true
	}},
	{Code: audit.AggregateHostUnknown, inject: func(x target) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		a := &x.Compute.Aggregates[0]
		a.Hosts = append(a.Hosts, "nowhere")
		return true
	}},
	{Code: audit.AggregateRatioDiffers, inject: func(x target) bool {
		if len(x.Compute.Aggregates) == 0 {
			return false
		}
		x.Compute.Aggregates[0].Metadata["cpu_allocation_ratio"] = "16.0"
		return true
	}},
	{Code: audit.RatiosDifferInAggregate, inject: func(x target) bool {
		for _, a := range x.Compute.Aggregates {
			if len(a.Hosts) > 1 {
				return set(x.HostRoot(a.Hosts[1], ""), "VCPU", func(i *cloud.Inventory) { i.AllocationRatio = 16 })
			}
		}
		return false
	}},
	{
		Code:   audit.SharingWithoutAggregate,
		inject: func(x target) bool { x.ByName["nfs"].Aggregates = []string{}; return true },
	},
	{Code: audit.SharingAggregateEmpty, inject: func(x target) bool {
		x.ByName["nfs"].Aggregates = []string{cloudtest.UUID("unknown aggregate")}
		return true
	}},

	{Code: audit.CapacityExceeded, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.Reserved = i.Total - 1 })
	}},
	{Code: audit.ReservedInUse, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		return s != nil && set(s.Root, "MEMORY_MB", func(i *cloud.Inventory) { i.Reserved = i.Total })
	}},
	{Code: audit.VanishedDevice, inject: func(x target) bool {
		s := x.settledServer(anyServer)
		if s == nil {
			return false
		}
		const class = "CUSTOM_CARD"
		device := cloud.Provider{
			UUID: cloudtest.UUID("vanished"), Name: s.Root.Name + "_0000:81:00.0", Parent: s.Root.UUID, Root: s.Root.UUID,
			Inventories: map[string]cloud.Inventory{class: {
				Total: 2, Reserved: 2, MinUnit: 1, MaxUnit: 2, StepSize: 1, AllocationRatio: 1,
			}},
			Traits: []string{index.RemovedTrait}, Usages: map[string]int64{},
		}
		if s.Flavor.Specs == nil {
			s.Flavor.Specs = map[string]string{}
		}
		s.Flavor.Specs["resources:"+class] = "1"
		s.Consumer.Allocations[device.UUID] = map[string]int64{class: 1}
		x.Cloud.Placement.Providers = append(x.Cloud.Placement.Providers, device)
		x.Cloud.Placement.Classes = append(x.Cloud.Placement.Classes, class)
		x.Cloud.Placement.Traits = append(x.Cloud.Placement.Traits, index.RemovedTrait)
		x.Cloud.Placement.Sort()
		return true
	}},
	{Code: audit.GuaranteeOvercommitted, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		// The agent reports less, with a ratio, than it is used of.
		w := x.Reported[p.UUID]
		total := p.Usages[guarantee.EgressBandwidth] - 1
		c := w.Agent.Configurations
		c["resource_provider_bandwidths"].(map[string]any)[w.Device].(map[string]any)["egress"] = float64(total)
		c["resource_provider_inventory_defaults"].(map[string]any)["allocation_ratio"] = 10.0
		for _, provider := range w.Agent.State.Providers {
			if provider.Device != "" {
				for class := range provider.Inventories {
					set(x.ByUUID[provider.UUID.String()], class, func(i *cloud.Inventory) { i.AllocationRatio = 10 })
				}
			}
		}
		return set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total = total })
	}},
	{Code: audit.ReservedAboveTotal, inject: func(x target) bool {
		p := x.bareHost()
		return p != nil && set(p, "VCPU", func(i *cloud.Inventory) { i.Reserved = i.Total + 1 })
	}},
	{Code: audit.UnknownClass, inject: func(x target) bool {
		x.host().Inventories["CUSTOM_NONE"] = cloud.Inventory{
			Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1,
		}
		return true
	}},
	{Code: audit.UnknownTrait, inject: func(x target) bool {
		x.host().Traits = append(x.host().Traits, "CUSTOM_NONE")
		return true
	}},
	{Code: audit.ProviderParentMissing, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = cloudtest.UUID("nothing")
		return true
	}},
	{Code: audit.ProviderRootDiffers, inject: func(x target) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Root = p.UUID
		return true
	}},
}
