package audit

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// A plant puts a fault into records. It returns false when they have nothing to put it in.
type plant struct {
	code, name string
	plant      func(x *index) bool
	usage      bool   // it is about usages, which are not counted again then
	also       string // the code of another finding that the fault is
}

// codes are those of the findings that the fault is, sorted.
func (p plant) codes() []string {
	if p.also == "" {
		return []string{p.code}
	}
	list := []string{p.code, p.also}
	slices.Sort(list)
	return list
}

// The pickers return the first record with a property, nil when there is none.

func (x *index) anyServer(ok func(s *server) bool) (found *server) {
	for i := range x.compute.Servers {
		if s := x.servers[x.compute.Servers[i].UUID]; found == nil && ok(s) {
			found = s
		}
	}
	return found
}

// homely are servers that run and hold what they need, without anything special.
func (x *index) homely(ok func(s *server) bool) *server {
	return x.anyServer(func(s *server) bool {
		return s.Status == "ACTIVE" && !s.busy && s.held != nil && len(s.trees) == 1 && len(s.moves) == 0 && ok(s)
	})
}

func (x *index) portless(s *server) bool { return len(x.portsOf[s.UUID]) == 0 }

// promised is a port of such a server that guarantees something, the first one of its server.
func (x *index) promised(ok func(p *cloud.Port) bool) *cloud.Port {
	var found *cloud.Port
	x.homely(func(s *server) bool {
		for _, p := range x.portsOf[s.UUID] {
			if found == nil && asks(p) && ok(p) {
				found = p
			}
		}
		return found != nil
	})
	return found
}

func groups(p *cloud.Port) bool { return p.Request.Groups[0].ID != "" }

func anyPort(*cloud.Port) bool { return true }

func anyServer(*server) bool { return true }

// provider returns the first provider with a property.
func (x *index) anyProvider(ok func(p *cloud.Provider) bool) *cloud.Provider {
	for i := range x.placement.Providers {
		if p := &x.placement.Providers[i]; ok(p) {
			return p
		}
	}
	return nil
}

// idleDevice is the provider of a device that nothing uses, and nothing names.
func (x *index) idleDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.wanted[p.UUID]
		return w != nil && w.Device != "" && len(p.Usages) == 0 && !x.named(p.UUID)
	})
}

func (x *index) named(uuid string) bool {
	return slices.ContainsFunc(x.network.Ports, func(p cloud.Port) bool {
		for _, of := range p.Allocation {
			if of == uuid {
				return true
			}
		}
		return false
	})
}

// usedDevice is the provider of a device that something uses.
func (x *index) usedDevice() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		w := x.wanted[p.UUID]
		return w != nil && w.Device != "" && p.Usages[guarantee.EgressBandwidth] > 1
	})
}

// bareHost is the provider of a host without agents, servers, aggregates and moves.
func (x *index) bareHost() *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool {
		h := x.hypervisorOf(p)
		return h != nil && len(x.below[p.UUID]) == 0 && len(p.Aggregates) == 0 && len(p.Usages) == 0 &&
			!slices.ContainsFunc(x.compute.Migrations, func(m cloud.Migration) bool { return m.SourceHost == h.Host || m.DestHost == h.Host })
	})
}

func (x *index) dropProvider(uuid string) bool {
	x.cloud.Placement.Providers = slices.DeleteFunc(x.cloud.Placement.Providers, func(p cloud.Provider) bool { return p.UUID == uuid })
	return true
}

func (x *index) addConsumer(uuid, kind, provider string) bool {
	x.cloud.Placement.Consumers = append(x.cloud.Placement.Consumers, cloud.Consumer{
		UUID: uuid, Generation: 1, Project: cloudtest.Project, User: cloudtest.User, Type: kind,
		Allocations: map[string]map[string]int64{provider: {"VCPU": 1}},
	})
	x.cloud.Placement.Sort()
	return true
}

// host is the provider of any host.
func (x *index) host() *cloud.Provider { return x.anyProvider(isHost) }

// otherHost is the provider of another host than a server's.
func (x *index) otherHost(s *server) *cloud.Provider {
	return x.anyProvider(func(p *cloud.Provider) bool { return isHost(p) && p != s.root })
}

// resizing is the migration of a resize that waits, between two hosts.
func (x *index) resizing() *cloud.Migration {
	for i := range x.compute.Migrations {
		if m := &x.compute.Migrations[i]; m.Status == "finished" && m.SourceHost != m.DestHost {
			return m
		}
	}
	return nil
}

func (x *index) dropConsumer(uuid string) bool {
	x.cloud.Placement.Consumers = slices.DeleteFunc(x.cloud.Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == uuid })
	return true
}

func without(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, prefix) })
}

// reporting is an agent that reports a device.
func (x *index) reporting() *agent {
	for _, a := range x.agents {
		if len(a.report.Bandwidths) > 0 {
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

var plants = []plant{
	{code: "orphaned-allocation", plant: func(x *index) bool { return x.addConsumer(cloudtest.UUID("nobody"), "INSTANCE", x.host().UUID) }},
	{code: "orphaned-allocation", name: "of a server that is gone", plant: func(x *index) bool {
		s := x.homely(x.portless)
		if s == nil {
			return false
		}
		x.compute.Servers = slices.DeleteFunc(x.compute.Servers, func(o cloud.Server) bool { return o.UUID == s.UUID })
		return true
	}},
	{code: "migration-left-over", plant: func(x *index) bool { return x.addConsumer(cloudtest.UUID("nobody"), "MIGRATION", x.host().UUID) }},
	{code: "migration-left-over", name: "with its record", plant: func(x *index) bool {
		m, s := x.resizing(), (*server)(nil)
		if m == nil {
			return false
		}
		s = x.servers[m.Server]
		m.Status, s.Status = "confirmed", "ACTIVE"
		return true
	}},
	{code: "consumer-empty", plant: func(x *index) bool {
		uuid := cloudtest.UUID("nobody")
		x.addConsumer(uuid, "INSTANCE", "")
		for i := range x.placement.Consumers {
			if c := &x.placement.Consumers[i]; c.UUID == uuid {
				c.Allocations = map[string]map[string]int64{}
			}
		}
		return true
	}},
	{code: "consumer-without-type", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil || len(x.placement.Consumers) < 2 {
			return false
		}
		s.held.Type = ""
		return true
	}},
	{code: "consumer-type-wrong", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Type = "MIGRATION"
		return true
	}},
	{code: "consumer-project-wrong", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Project = "another"
		return true
	}},
	{code: "consumer-project-wrong", name: "of a migration", plant: func(x *index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.consumer[m.UUID].Project = "another"
		return true
	}},
	{code: "consumer-user-wrong", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.User = "another"
		return true
	}},
	{code: "allocation-on-gone-provider", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Allocations[cloudtest.UUID("nothing")] = map[string]int64{"CUSTOM_X": 1}
		return true
	}},
	{code: "allocation-without-inventory", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Allocations[s.root.UUID]["CUSTOM_GOLD"] = 1
		return true
	}},
	{code: "amount-breaks-units", plant: func(x *index) bool {
		s := x.homely(anyServer)
		return s != nil && set(s.root, "VCPU", func(i *cloud.Inventory) { i.MinUnit = 3 })
	}},
	{code: "amount-breaks-units", name: "step", plant: func(x *index) bool {
		s := x.homely(anyServer)
		return s != nil && set(s.root, "MEMORY_MB", func(i *cloud.Inventory) { i.StepSize = 1000 })
	}},
	{code: "usage-differs", usage: true, plant: func(x *index) bool {
		x.host().Usages["VCPU"]++
		return len(x.placement.Consumers) > 0
	}},

	{code: "server-without-allocation", plant: func(x *index) bool {
		s := x.homely(x.portless)
		return s != nil && x.dropConsumer(s.UUID)
	}},
	{code: "server-without-allocation", name: "with ports", plant: func(x *index) bool {
		p := x.promised(anyPort)
		return p != nil && x.dropConsumer(p.Device)
	}},
	{code: "allocation-on-wrong-host", plant: func(x *index) bool {
		s := x.homely(x.portless)
		if s == nil || s.held.Allocations[s.root.UUID]["DISK_GB"] == 0 {
			return false
		}
		to := x.anyProvider(func(p *cloud.Provider) bool {
			_, disk := p.Inventories["DISK_GB"]
			return isHost(p) && disk && p != s.root
		})
		if to == nil {
			return false
		}
		s.held.Allocations = map[string]map[string]int64{to.UUID: s.held.Allocations[s.root.UUID]}
		return true
	}},
	{code: "held-on-several-hosts", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil || x.otherHost(s) == nil {
			return false
		}
		s.held.Allocations[x.otherHost(s).UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{code: "held-on-several-hosts", name: "three of a move", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Task == "migrating" })
		if s == nil {
			return false
		}
		for p := range x.roots() {
			if isHost(p) && s.held.Allocations[p.UUID] == nil {
				s.held.Allocations[p.UUID] = map[string]int64{"VCPU": 1}
			}
		}
		return len(s.held.Allocations) > 3
	}},
	{code: "flavor-amount-missing", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Allocations[s.root.UUID]["MEMORY_MB"]--
		return true
	}},
	{code: "flavor-amount-missing", name: "class", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		delete(s.held.Allocations[s.root.UUID], "VCPU")
		return true
	}},
	{code: "flavor-amount-superfluous", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.held.Allocations[s.root.UUID]["MEMORY_MB"]++
		return true
	}},
	{code: "class-not-asked", plant: func(x *index) bool {
		s := x.homely(anyServer)
		if s == nil {
			return false
		}
		s.Image = "" // it boots from a volume
		return true
	}},
	{code: "offloaded-server-holds", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Status == "SHELVED_OFFLOADED" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{code: "unplaced-server-holds", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Status == "ERROR" && s.Host == "" })
		return s != nil && x.addConsumer(s.UUID, "INSTANCE", x.host().UUID)
	}},
	{code: "server-host-unknown", plant: func(x *index) bool {
		s := x.homely(x.portless)
		if s == nil {
			return false
		}
		s.Host = "nowhere"
		return true
	}},
	{code: "evacuation-source-held", also: "host-without-service", plant: func(x *index) bool {
		for _, m := range x.compute.Migrations {
			if m.Type == "evacuation" && x.hypervisors[m.SourceHost] != nil {
				x.compute.Services = slices.DeleteFunc(x.compute.Services, func(s cloud.Service) bool { return s.Host == m.SourceHost })
				return true
			}
		}
		return false
	}},

	{code: "migration-without-allocation", plant: func(x *index) bool {
		m := x.resizing()
		return m != nil && x.dropConsumer(m.UUID)
	}},
	{code: "migration-on-wrong-host", plant: func(x *index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.consumer[m.UUID].Allocations[x.hostRoot(m.DestHost, "").UUID] = map[string]int64{"VCPU": 1}
		return true
	}},
	{code: "migration-of-gone-server", plant: func(x *index) bool {
		m := x.resizing()
		if m == nil || !x.portless(x.servers[m.Server]) {
			m = nil
			for i := range x.compute.Migrations {
				if of := &x.compute.Migrations[i]; of.Status == "finished" && x.portless(x.servers[of.Server]) {
					m = of
				}
			}
		}
		if m == nil {
			return false
		}
		x.compute.Servers = slices.DeleteFunc(x.compute.Servers, func(s cloud.Server) bool { return s.UUID == m.Server })
		return x.dropConsumer(m.Server)
	}},
	{code: "migration-record-stale", plant: func(x *index) bool {
		m := x.resizing()
		if m == nil {
			return false
		}
		x.servers[m.Server].Status = "ACTIVE"
		return true
	}},

	{code: "port-of-gone-server", plant: func(x *index) bool {
		if len(x.network.Ports) == 0 {
			return false
		}
		p := x.network.Ports[0]
		p.UUID, p.Device, p.Allocation, p.Request = cloudtest.UUID("port of nobody"), cloudtest.UUID("nobody"), nil, nil
		x.network.Ports = append(x.network.Ports, p)
		return true
	}},
	{code: "port-host-differs", plant: func(x *index) bool {
		s := x.homely(func(s *server) bool { return len(x.portsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.portsOf[s.UUID][0].Host = "elsewhere"
		return true
	}},
	{code: "port-binding-failed", plant: func(x *index) bool {
		s := x.homely(func(s *server) bool { return len(x.portsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.portsOf[s.UUID][0].VIF = "binding_failed"
		return true
	}},
	{code: "port-not-bound", plant: func(x *index) bool {
		s := x.homely(func(s *server) bool {
			return slices.ContainsFunc(x.portsOf[s.UUID], func(p *cloud.Port) bool { return !asks(p) })
		})
		if s == nil {
			return false
		}
		for _, p := range x.portsOf[s.UUID] {
			if !asks(p) {
				p.Host, p.VIF = "", "unbound"
			}
		}
		return true
	}},
	{code: "port-of-offloaded-server-bound", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.portsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.portsOf[s.UUID][0].Host = "cn2"
		return true
	}},
	{code: "key-of-unbound-port", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.portsOf[s.UUID]) > 0 })
		if s == nil {
			return false
		}
		x.portsOf[s.UUID][0].Allocation = map[string]string{"": x.host().UUID}
		return true
	}},
	{code: "bound-without-key", plant: func(x *index) bool {
		p := x.promised(groups)
		if p == nil {
			return false
		}
		p.Allocation = nil
		return true
	}},
	{code: "key-without-request", plant: func(x *index) bool {
		p := x.promised(groups)
		if p == nil {
			return false
		}
		p.Request = nil
		return true
	}},
	{code: "key-group-unknown", plant: func(x *index) bool {
		p := x.promised(groups)
		if p == nil {
			return false
		}
		id := p.Request.Groups[0].ID
		p.Allocation[cloudtest.UUID("other group")] = p.Allocation[id]
		delete(p.Allocation, id)
		return true
	}},
	{code: "key-group-missing", plant: func(x *index) bool {
		p := x.promised(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) > 1 })
		if p == nil {
			return false
		}
		delete(p.Allocation, p.Request.Groups[1].ID)
		return true
	}},
	{code: "key-format-old", plant: func(x *index) bool {
		p := x.promised(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		p.Allocation = map[string]string{"": p.Allocation[p.Request.Groups[0].ID]}
		return true
	}},
	{code: "key-provider-gone", plant: func(x *index) bool {
		p := x.promised(groups)
		if p == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = cloudtest.UUID("nothing")
		return true
	}},
	{code: "key-provider-of-other-host", plant: func(x *index) bool {
		p := x.promised(groups)
		if p == nil || x.otherHost(x.servers[p.Device]) == nil {
			return false
		}
		p.Allocation[p.Request.Groups[0].ID] = x.otherHost(x.servers[p.Device]).UUID
		return true
	}},
	{code: "key-provider-lacks-class", plant: func(x *index) bool {
		p := x.promised(func(p *cloud.Port) bool {
			return groups(p) && len(p.Request.Groups) == 1 && len(x.portsOf[p.Device]) == 1
		})
		if p == nil {
			return false
		}
		// The key names the host itself, which has the traits meanwhile.
		s, g := x.servers[p.Device], p.Request.Groups[0]
		delete(s.held.Allocations, p.Allocation[g.ID])
		p.Allocation[g.ID] = s.root.UUID
		s.root.Traits = append(s.root.Traits, g.Required...)
		slices.Sort(s.root.Traits)
		return true
	}},
	{code: "key-provider-lacks-trait", plant: func(x *index) bool {
		p := x.promised(anyPort)
		if p == nil {
			return false
		}
		p.Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("net1"), "HW_CPU_X86_AVX"}
		return x.anyProvider(func(p *cloud.Provider) bool { return slices.Contains(p.Traits, guarantee.PhysicalNetworkTrait("net1")) }) != nil
	}},
	{code: "key-not-allocated", plant: func(x *index) bool {
		p := x.promised(func(p *cloud.Port) bool { return groups(p) && len(p.Request.Groups) == 1 })
		if p == nil {
			return false
		}
		delete(x.servers[p.Device].held.Allocations, p.Allocation[p.Request.Groups[0].ID])
		return true
	}},
	{code: "port-amount-missing", plant: func(x *index) bool {
		p := x.promised(anyPort)
		if p == nil {
			return false
		}
		g := &p.Request.Groups[0]
		g.Resources[guarantee.EgressBandwidth]++
		return true
	}},
	{code: "port-amount-superfluous", plant: func(x *index) bool {
		p := x.promised(anyPort)
		if p == nil {
			return false
		}
		x.servers[p.Device].held.Allocations[provider(p, p.Request.Groups[0])][guarantee.EgressBandwidth]++
		return true
	}},
	{code: "port-amount-superfluous", name: "port that was deleted", plant: func(x *index) bool {
		p := x.promised(anyPort)
		if p == nil {
			return false
		}
		x.network.Ports = slices.DeleteFunc(x.network.Ports, func(o cloud.Port) bool { return o.UUID == p.UUID })
		return true
	}},
	{code: "request-trait-without-provider", plant: func(x *index) bool {
		s := x.anyServer(func(s *server) bool { return s.Status == "SHELVED_OFFLOADED" && len(x.portsOf[s.UUID]) > 0 })
		if s == nil || !asks(x.portsOf[s.UUID][0]) {
			return false
		}
		x.portsOf[s.UUID][0].Request.Groups[0].Required = []string{guarantee.PhysicalNetworkTrait("none")}
		return true
	}},

	{code: "agent-dead-with-ports", plant: func(x *index) bool {
		p := x.promised(func(p *cloud.Port) bool { return p.VIF == "ovs" })
		if p == nil {
			return false
		}
		for _, a := range x.agents {
			if a.Host == p.Host && a.driver.Name == guarantee.OpenVSwitch.Name {
				a.Alive = false
			}
		}
		return true
	}},
	{code: "agent-not-synced", plant: func(x *index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		*a.Synced = false
		return true
	}},
	{code: "agent-report-invalid", plant: func(x *index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"] = "much"
		return true
	}},
	{code: "agent-device-left-out", plant: func(x *index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Configurations["resource_provider_bandwidths"].(map[string]any)["br-stray"] = map[string]any{"egress": 1.0}
		a.Configurations["resource_provider_hypervisors"].(map[string]any)["br-stray"] = a.Host
		return true
	}},
	{code: "agent-host-unknown", plant: func(x *index) bool {
		x.network.Agents = append(x.network.Agents, cloud.Agent{
			UUID: cloudtest.UUID("agent of nowhere"), Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: "cn1.example.com", Alive: true,
			Configurations: map[string]any{
				"resource_provider_bandwidths": map[string]any{"br0": map[string]any{"egress": 1.0}}, "bridge_mappings": map[string]any{"net0": "br0"},
			},
		})
		return true
	}},
	{code: "agent-host-differs", plant: func(x *index) bool {
		a := x.reporting()
		if a == nil {
			return false
		}
		a.Host += ".example.com"
		return true
	}},
	{code: "agent-provider-missing", plant: func(x *index) bool {
		p := x.idleDevice()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{code: "provider-name-differs", plant: func(x *index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Name += "-old"
		return true
	}},
	{code: "agent-provider-misplaced", plant: func(x *index) bool {
		agent := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.wanted[p.UUID]
			return w != nil && w.Device == "" && len(x.usedBelow(p)) == 0 && !x.named(p.UUID) &&
				!slices.ContainsFunc(x.below[p.UUID], func(child *cloud.Provider) bool { return x.named(child.UUID) })
		})
		if agent == nil {
			return false
		}
		other := x.anyProvider(func(o *cloud.Provider) bool { return isHost(o) && o.UUID != agent.Parent })
		agent.Parent, agent.Root = other.UUID, other.UUID
		for _, child := range x.below[agent.UUID] {
			child.Root = other.UUID
		}
		return true
	}},
	{code: "device-provider-misplaced", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = p.Root
		return true
	}},
	{code: "agent-provider-stale", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.wanted[p.UUID]
		x.network.Agents = slices.DeleteFunc(x.network.Agents, func(a cloud.Agent) bool { return a.UUID == w.agent.UUID })
		return true
	}},
	{code: "device-provider-stale", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		w := x.wanted[p.UUID]
		for _, key := range []string{"resource_provider_bandwidths", "resource_provider_hypervisors"} {
			devices := w.agent.Configurations[key].(map[string]any)
			if key == "resource_provider_hypervisors" && len(devices) == 1 {
				continue // the agent has a provider still
			}
			delete(devices, w.Device)
		}
		return true
	}},
	{code: "inventory-class-missing", plant: func(x *index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		delete(p.Inventories, guarantee.IngressBandwidth)
		return true
	}},
	{code: "inventory-class-superfluous", plant: func(x *index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		devices := x.wanted[p.UUID].agent.Configurations["resource_provider_bandwidths"].(map[string]any)
		delete(devices[x.wanted[p.UUID].Device].(map[string]any), "ingress")
		return true
	}},
	{code: "inventory-total-differs", plant: func(x *index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total++ })
	}},
	{code: "inventory-settings-differ", plant: func(x *index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.AllocationRatio = 2 })
	}},
	{code: "inventory-settings-differ", name: "reserved", plant: func(x *index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Reserved = 1 })
	}},
	{code: "max-unit-below-total", plant: func(x *index) bool {
		p := x.usedDevice()
		return p != nil && set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.MaxUnit = i.Total - 1 })
	}},
	{code: "physnet-trait-missing", plant: func(x *index) bool {
		// Another device has the network, so that it is not the last one that ports can ask for.
		p := x.anyProvider(func(p *cloud.Provider) bool {
			w := x.wanted[p.UUID]
			return w != nil && w.Device != "" && x.anyProvider(func(o *cloud.Provider) bool {
				return o != p && slices.Contains(o.Traits, physnets(w.Traits)[0])
			}) != nil
		})
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_PHYSNET_")
		return true
	}},
	{code: "physnet-trait-superfluous", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Traits = append(p.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.placement.Traits = append(x.placement.Traits, guarantee.PhysicalNetworkTrait("other"))
		x.cloud.Placement.Sort()
		return true
	}},
	{code: "vnic-trait-missing", plant: func(x *index) bool {
		p := x.idleDevice()
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, "CUSTOM_VNIC_TYPE_")
		return true
	}},

	{code: "hypervisor-without-provider", plant: func(x *index) bool {
		p := x.bareHost()
		return p != nil && x.dropProvider(p.UUID)
	}},
	{code: "hypervisor-uuid-differs", plant: func(x *index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.hypervisorOf(p).UUID = cloudtest.UUID("made anew")
		return true
	}},
	{code: "hypervisor-name-differs", plant: func(x *index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.hypervisorOf(p).Hostname = "renamed"
		return true
	}},
	{code: "provider-of-gone-host", plant: func(x *index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		x.compute.Hypervisors = slices.DeleteFunc(x.compute.Hypervisors, func(h cloud.Hypervisor) bool { return h.UUID == p.UUID })
		return true
	}},
	{code: "host-without-service", plant: func(x *index) bool {
		p := x.bareHost()
		if p == nil {
			return false
		}
		host := x.hypervisorOf(p).Host
		x.compute.Services = slices.DeleteFunc(x.compute.Services, func(s cloud.Service) bool { return s.Host == host })
		return true
	}},
	{code: "names-alike", plant: func(x *index) bool {
		id := cloudtest.UUID("again")
		x.cloud.Placement.Providers = append(x.cloud.Placement.Providers, cloud.Provider{UUID: id, Root: id, Name: strings.ToUpper(x.host().Name) + ".example.com"})
		x.cloud.Placement.Sort()
		return true
	}},
	{code: "disabled-trait-missing", plant: func(x *index) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool { return slices.Contains(p.Traits, disabledTrait) })
		if p == nil {
			return false
		}
		p.Traits = without(p.Traits, disabledTrait)
		return true
	}},
	{code: "disabled-trait-superfluous", plant: func(x *index) bool {
		p := x.anyProvider(func(p *cloud.Provider) bool { return isHost(p) && !slices.Contains(p.Traits, disabledTrait) })
		p.Traits = append([]string{disabledTrait}, p.Traits...)
		return true
	}},

	{code: "aggregate-mirror-missing", plant: func(x *index) bool {
		if len(x.compute.Aggregates) == 0 {
			return false
		}
		a := &x.compute.Aggregates[0]
		p := x.hostRoot(a.Hosts[0], "")
		p.Aggregates = without(p.Aggregates, a.UUID)
		return true
	}},
	{code: "aggregate-mirror-superfluous", plant: func(x *index) bool {
		if len(x.compute.Aggregates) == 0 {
			return false
		}
		a := &x.compute.Aggregates[0]
		p := x.anyProvider(func(p *cloud.Provider) bool { return isHost(p) && !slices.Contains(p.Aggregates, a.UUID) })
		if p == nil {
			return false
		}
		p.Aggregates = append(p.Aggregates, a.UUID)
		return true
	}},
	{code: "aggregate-host-unknown", plant: func(x *index) bool {
		if len(x.compute.Aggregates) == 0 {
			return false
		}
		a := &x.compute.Aggregates[0]
		a.Hosts = append(a.Hosts, "nowhere")
		return true
	}},
	{code: "aggregate-ratio-differs", plant: func(x *index) bool {
		if len(x.compute.Aggregates) == 0 {
			return false
		}
		x.compute.Aggregates[0].Metadata["cpu_allocation_ratio"] = "16.0"
		return true
	}},
	{code: "ratios-differ-in-aggregate", plant: func(x *index) bool {
		for _, a := range x.compute.Aggregates {
			if len(a.Hosts) > 1 {
				return set(x.hostRoot(a.Hosts[1], ""), "VCPU", func(i *cloud.Inventory) { i.AllocationRatio = 16 })
			}
		}
		return false
	}},
	{code: "sharing-without-aggregate", plant: func(x *index) bool { x.byName["nfs"].Aggregates = []string{}; return true }},
	{code: "sharing-aggregate-empty", plant: func(x *index) bool {
		x.byName["nfs"].Aggregates = []string{cloudtest.UUID("nobody's")}
		return true
	}},

	{code: "capacity-exceeded", plant: func(x *index) bool {
		s := x.homely(anyServer)
		return s != nil && set(s.root, "MEMORY_MB", func(i *cloud.Inventory) { i.Reserved = i.Total })
	}},
	{code: "guarantee-overcommitted", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		// The agent reports less, with a ratio, than it is used of.
		w := x.wanted[p.UUID]
		total := p.Usages[guarantee.EgressBandwidth] - 1
		c := w.agent.Configurations
		c["resource_provider_bandwidths"].(map[string]any)[w.Device].(map[string]any)["egress"] = float64(total)
		c["resource_provider_inventory_defaults"].(map[string]any)["allocation_ratio"] = 10.0
		for _, of := range w.agent.state.Providers {
			if of.Device != "" {
				for class := range of.Inventories {
					set(x.byUUID[of.UUID.String()], class, func(i *cloud.Inventory) { i.AllocationRatio = 10 })
				}
			}
		}
		return set(p, guarantee.EgressBandwidth, func(i *cloud.Inventory) { i.Total = total })
	}},
	{code: "reserved-above-total", plant: func(x *index) bool {
		p := x.bareHost()
		return p != nil && set(p, "VCPU", func(i *cloud.Inventory) { i.Reserved = i.Total + 1 })
	}},
	{code: "unknown-class", plant: func(x *index) bool {
		x.host().Inventories["CUSTOM_NONE"] = cloud.Inventory{Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
		return true
	}},
	{code: "unknown-trait", plant: func(x *index) bool {
		x.host().Traits = append(x.host().Traits, "CUSTOM_NONE")
		return true
	}},
	{code: "provider-parent-gone", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Parent = cloudtest.UUID("nothing")
		return true
	}},
	{code: "provider-root-differs", plant: func(x *index) bool {
		p := x.usedDevice()
		if p == nil {
			return false
		}
		p.Root = p.UUID
		return true
	}},
}
