package operators

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
)

// A plant puts a fault into a stack, and undoes it at the end of its test.
type plant struct {
	code, name string
	plant      func(t *testing.T, s *stack) (about string) // the id of a record that the finding is about
	also       []string                                    // codes of other findings that the fault is, in Debian's cloud
	onBerth    []string                                    // and on Berth
	only       where
	repaired   bool // by the commands of its findings
	left       int  // differences to before in placement that remain when it is repaired
}

// anything is for a fault that is repaired by removing what no agent reports any more.
const anything = -1

type where int

// Where a plant is possible.
const (
	both     where = iota
	onDebian       // needs rows that no request writes, a second host with a bridge, or rates of packets
	inRows         // on Debian's too, and audit reads placement's database
)

const (
	egress  = "NET_BW_EGR_KILOBIT_PER_SEC"
	ingress = "NET_BW_IGR_KILOBIT_PER_SEC"
)

// unbound is what else is found when Berth's network service gets a request to bind a port with a
// wrong provider.
var unbound = []string{"port-binding-failed"}

// nobody is an id that does not exist.
var nobody = rest.UUID("b0d1e5", 1)

// unplanted are the kinds that are not planted, and why: no service that runs shows them. They are
// in files, or when a service is read while it changes; "berth db check" finds the rows that are
// the cause of most.
var unplanted = map[string]string{
	"consumer-empty": "Placement shows consumers by their allocations",
	"allocation-on-gone-provider": "Placement leaves out rows that refer to a row that is not there, " +
		"and so does reading its database",
	"provider-parent-gone": "likewise",
	"unknown-class":        "likewise",
	"unknown-trait":        "likewise",
	"usage-differs":        "usages are sums of the allocations that are shown",
	"owner-trait-missing":  "Debian's Nova is older, and the hosts of Berth have the trait",
	"host-without-service": "Nova does not show compute nodes without a service: provider-of-gone-host",
}

var plants = []plant{
	// Allocations and their consumers.
	{
		code: "orphaned-allocation", repaired: true,
		plant: func(t *testing.T, s *stack) string { s.hold(t, nobody, s.roots[2], ""); return nobody },
	},
	{
		code: "orphaned-allocation", name: "of a server whose row is deleted", only: onDebian,
		plant: func(t *testing.T, s *stack) string {
			id := s.id("server plain")
			rows(t, s.novaSQL, "UPDATE instances SET deleted = id WHERE uuid = '"+id+"'",
				"UPDATE instances SET deleted = 0 WHERE uuid = '"+id+"'")
			return id
		},
	},
	{
		code: "migration-left-over", repaired: true,
		plant: func(t *testing.T, s *stack) string { s.hold(t, nobody, s.roots[2], "MIGRATION"); return nobody },
	},
	{code: "migration-left-over", name: "with its record", only: onDebian, plant: func(t *testing.T, s *stack) string {
		id := s.migration(t)
		s.confirmed(t)
		rows(t, s.novaSQL, "UPDATE migrations SET status = 'confirmed' WHERE uuid = '"+id+"'",
			"UPDATE migrations SET status = 'finished' WHERE uuid = '"+id+"'")
		return id
	}},
	{code: "consumer-without-type", repaired: true, plant: func(t *testing.T, s *stack) string {
		changed, other := s.id("server plain"), s.id("server golden")
		s.allocations(t, changed, func(c *claim) { c.Type = map[bool]string{true: "INSTANCE"}[s.debian] })
		return map[bool]string{true: other, false: changed}[s.debian] // Nova's servers have no types
	}},
	{
		code: "consumer-type-wrong", repaired: true, also: []string{"consumer-without-type"},
		plant: func(t *testing.T, s *stack) string {
			s.allocations(t, s.id("server plain"), func(c *claim) { c.Type = "MIGRATION" })
			return s.id("server plain")
		},
	},
	{code: "consumer-project-wrong", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server plain"), func(c *claim) { c.Project = nobody })
		return s.id("server plain")
	}},
	{code: "consumer-project-wrong", name: "of a migration", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.migration(t), func(c *claim) { c.Project = nobody })
		return s.migration(t)
	}},
	{code: "consumer-user-wrong", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server plain"), func(c *claim) { c.User = nobody })
		return s.id("server plain")
	}},
	{code: "allocation-without-inventory", only: onDebian, plant: func(t *testing.T, s *stack) string {
		owner := " WHERE resource_class_id = 2 AND resource_provider_id = (SELECT id FROM resource_providers WHERE uuid = '" +
			s.roots[1] + "')"
		rows(t, s.placementSQL, "UPDATE inventories SET resource_class_id = 12"+strings.TrimPrefix(owner, ""),
			"UPDATE inventories SET resource_class_id = 2"+strings.Replace(owner, "= 2", "= 12", 1))
		return s.id("server plain")
	}},
	{code: "amount-breaks-units", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.roots[1], "MEMORY_MB", object{"min_unit": 500})
		return s.id("server plain")
	}},
	{code: "amount-breaks-units", name: "step", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.roots[1], "MEMORY_MB", object{"step_size": 100})
		return s.id("server plain")
	}},

	// Servers.
	{code: "server-without-allocation", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server plain"), func(c *claim) { c.amounts = nil })
		return s.id("server plain")
	}},
	{code: "server-without-allocation", name: "with ports", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server golden"), func(c *claim) { c.amounts = nil })
		return s.id("server golden")
	}},
	{code: "allocation-on-wrong-host", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server plain"), func(c *claim) {
			c.amounts = map[string]map[string]int{s.roots[2]: c.amounts[s.roots[1]]}
		})
		return s.id("server plain")
	}},
	{code: "held-on-several-hosts", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server plain"), s.roots[2], map[string]int{"VCPU": 1})
		return s.id("server plain")
	}},
	{code: "flavor-amount-missing", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server plain"), s.roots[1], map[string]int{"MEMORY_MB": -1})
		return s.id("server plain")
	}},
	{code: "flavor-amount-missing", name: "class", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server plain"), s.roots[1], map[string]int{"VCPU": -1})
		return s.id("server plain")
	}},
	{code: "flavor-amount-superfluous", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server plain"), s.roots[1], map[string]int{"MEMORY_MB": 1})
		return s.id("server plain")
	}},
	{code: "class-not-asked", repaired: true, left: 1, plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.roots[1], "VGPU", object{"total": 1})
		s.allocated(t, s.id("server plain"), s.roots[1], map[string]int{"VGPU": 1})
		return s.id("server plain")
	}},
	{code: "offloaded-server-holds", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.hold(t, s.id("server offloaded"), s.roots[2], s.instance())
		return s.id("server offloaded")
	}},
	{code: "unplaced-server-holds", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.hold(t, s.id("server failed"), s.roots[2], s.instance())
		return s.id("server failed")
	}},
	{code: "server-host-unknown", only: onDebian, plant: func(t *testing.T, s *stack) string {
		id := s.id("server plain")
		set := "UPDATE instances SET host = '%[1]s', node = '%[1]s' WHERE uuid = '" + id + "'"
		rows(t, s.novaSQL, fmt.Sprintf(set, "nowhere"), fmt.Sprintf(set, s.hosts[1]))
		return id
	}},
	{
		code: "evacuation-source-held", only: onDebian, also: []string{"provider-of-gone-host"},
		plant: func(t *testing.T, s *stack) string {
			id := s.id("server plain")
			rows(t, s.novaSQL, "INSERT INTO migrations (uuid, instance_uuid, migration_type, status, source_compute, "+
				"source_node, dest_compute, dest_node, deleted, hidden) VALUES ('"+
				nobody+"', '"+id+"', 'evacuation', 'done', '"+s.hosts[2]+"', '"+s.hosts[2]+"', '"+s.hosts[1]+"', '"+s.hosts[1]+
				"', 0, 0)",
				"DELETE FROM migrations WHERE uuid = '"+nobody+"'")
			s.withoutService(t)
			s.allocated(t, id, s.roots[2], map[string]int{"VCPU": 1})
			return id
		},
	},

	// Migrations.
	{code: "migration-without-allocation", plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.migration(t), func(c *claim) { c.amounts = nil })
		return s.migration(t)
	}},
	{code: "migration-on-wrong-host", plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.migration(t), func(c *claim) {
			for _, amounts := range c.amounts {
				c.amounts = map[string]map[string]int{s.rootOf(t, "moved"): amounts}
			}
		})
		return s.migration(t)
	}},
	{code: "migration-of-gone-server", only: onDebian, plant: func(t *testing.T, s *stack) string {
		id := s.id("server moved")
		rows(t, s.novaSQL, "UPDATE instances SET deleted = id WHERE uuid = '"+id+"'",
			"UPDATE instances SET deleted = 0 WHERE uuid = '"+id+"'")
		s.allocations(t, id, func(c *claim) { c.amounts = nil })
		return s.migration(t)
	}},
	{
		code: "migration-record-stale", only: onDebian,
		plant: func(t *testing.T, s *stack) string { s.confirmed(t); return s.migration(t) },
	},

	// Ports.
	{code: "port-of-gone-server", repaired: true, plant: func(t *testing.T, s *stack) string {
		return s.newPort(t, object{"network_id": s.id("network net0"), "device_id": nobody, "device_owner": "compute:nova"})
	}},
	{code: "port-host-differs", only: onDebian, plant: func(t *testing.T, s *stack) string {
		s.port(t, "usual", object{"binding:host_id": s.hosts[1]})
		return s.id("port usual")
	}},
	{code: "port-binding-failed", only: onDebian, plant: func(t *testing.T, s *stack) string {
		set := "UPDATE ml2_port_bindings SET vif_type = '%s' WHERE port_id = '" + s.id("port usual") + "'"
		rows(t, s.neutronSQL, fmt.Sprintf(set, "binding_failed"), fmt.Sprintf(set, "ovs"))
		return s.id("port usual")
	}},
	{code: "port-not-bound", plant: func(t *testing.T, s *stack) string {
		s.port(t, "usual", object{"binding:host_id": ""})
		return s.id("port usual")
	}},
	{code: "key-of-unbound-port", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.port(t, "waiting", object{"binding:host_id": ""})
		s.key(t, "waiting", func(map[string]string) any { return map[string]string{nobody: s.bridge(t, 0)} })
		return s.id("port waiting")
	}},
	{code: "bound-without-key", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.key(t, "first", func(map[string]string) any { return nil })
		return s.id("port first")
	}},
	{code: "key-without-request", repaired: true, only: onDebian, plant: func(t *testing.T, s *stack) string {
		s.key(t, "usual", func(map[string]string) any { return map[string]string{nobody: s.bridge(t, 0)} })
		return s.id("port usual")
	}},
	{code: "key-group-unknown", repaired: true, only: onDebian, plant: func(t *testing.T, s *stack) string {
		s.key(t, "first", func(a map[string]string) any {
			a[nobody] = s.bridge(t, 0)
			return a
		})
		return s.id("port first")
	}},
	{code: "key-group-missing", repaired: true, only: onDebian, plant: func(t *testing.T, s *stack) string {
		s.key(t, "first", func(a map[string]string) any {
			for group, owner := range a {
				if owner == s.bridge(t, 0) {
					delete(a, group)
				}
			}
			return a
		})
		return s.id("port first")
	}},
	{
		code: "key-format-old", repaired: true, also: []string{"key-group-missing"},
		plant: func(t *testing.T, s *stack) string {
			s.key(t, "first", func(map[string]string) any { return s.bridge(t, 0) })
			return s.id("port first")
		},
	},
	{
		code: "key-provider-gone", onBerth: unbound,
		plant: func(t *testing.T, s *stack) string { s.rename(t, nobody); return s.id("port first") },
	},
	{code: "key-provider-of-other-host", onBerth: unbound, plant: func(t *testing.T, s *stack) string {
		s.rename(t, s.roots[1])
		return s.id("port first")
	}},
	{
		code: "key-provider-lacks-class", also: []string{"port-amount-superfluous"},
		onBerth: []string{"port-amount-superfluous", "port-binding-failed"}, plant: func(t *testing.T, s *stack) string {
			other := s.add(t, "other", s.roots[0], nil, s.traitsOf(t, s.bridge(t, 0))...)
			s.rename(t, other)
			return s.id("port first")
		},
	},
	{code: "key-provider-lacks-trait", onBerth: unbound, plant: func(t *testing.T, s *stack) string {
		card := s.card(t)
		s.allocations(t, s.id("server golden"), func(c *claim) {
			c.amounts[card] = c.amounts[s.bridge(t, 0)]
			delete(c.amounts, s.bridge(t, 0))
		})
		s.rename(t, card)
		return s.id("port first")
	}},
	{code: "key-not-allocated", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocations(t, s.id("server golden"), func(c *claim) { delete(c.amounts, s.bridge(t, 0)) })
		return s.id("port first")
	}},
	{code: "port-amount-missing", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server golden"), s.bridge(t, 0), map[string]int{egress: -1})
		return s.id("port first")
	}},
	{code: "port-amount-superfluous", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.allocated(t, s.id("server golden"), s.bridge(t, 0), map[string]int{egress: 1})
		return s.id("server golden")
	}},
	{code: "request-trait-without-provider", only: onDebian, plant: func(t *testing.T, s *stack) string {
		elsewhere := s.made(t, "/networks", "network", object{
			"name": "elsewhere", "provider:network_type": "vlan", "provider:physical_network": "physnet1",
			"provider:segmentation_id": 7,
		})
		return s.newPort(t, object{
			"network_id": elsewhere, "device_id": s.id("server failed"), "device_owner": "compute:nova",
			"qos_policy_id": s.id("policy gold"),
		})
	}},

	// Agents and what they report.
	{code: "agent-dead-with-ports", only: onDebian, plant: func(t *testing.T, s *stack) string {
		agent := s.agent(t, ovs, 0)
		rows(t, s.neutronSQL, "UPDATE agents SET heartbeat_timestamp = '2020-01-01' WHERE id = '"+agent+"'",
			"UPDATE agents SET heartbeat_timestamp = UTC_TIMESTAMP() WHERE id = '"+agent+"'")
		return agent
	}},
	{code: "agent-not-synced", only: onDebian, plant: func(t *testing.T, s *stack) string {
		agent := s.agent(t, ovs, 0)
		rows(t, s.neutronSQL, "UPDATE agents SET resources_synced = 0 WHERE id = '"+agent+"'",
			"UPDATE agents SET resources_synced = 1 WHERE id = '"+agent+"'")
		return agent
	}},
	{code: "agent-report-invalid", only: onDebian, plant: func(t *testing.T, s *stack) string {
		return s.configurations(t, ovs, s.hosts[1], func(c object) { c["resource_provider_bandwidths"] = "plenty" })
	}},
	{code: "agent-device-left-out", only: onDebian, plant: func(t *testing.T, s *stack) string {
		return s.configurations(t, ovs, s.hosts[1], func(c object) {
			c["resource_provider_bandwidths"].(object)["br-other"] = object{"egress": 1, "ingress": 1}
		})
	}},
	{
		code: "agent-host-unknown", only: onDebian, also: []string{"device-provider-stale"},
		plant: func(t *testing.T, s *stack) string {
			return s.configurations(t, ovs, s.hosts[1], func(c object) {
				c["resource_provider_hypervisors"] = object{"br-physnet0": s.hosts[1] + ".example.com"}
			})
		},
	},
	{code: "agent-host-differs", only: onDebian, plant: func(t *testing.T, s *stack) string {
		agent := s.agent(t, ovs, 1)
		set := "UPDATE agents SET host = '%s' WHERE id = '" + agent + "'"
		rows(t, s.neutronSQL, fmt.Sprintf(set, s.hosts[1]+".example.com"), fmt.Sprintf(set, s.hosts[1]))
		return agent
	}},
	{code: "agent-provider-missing", plant: func(t *testing.T, s *stack) string {
		card := s.card(t)
		s.remove(t, card)
		return card
	}},
	{code: "provider-name-differs", repaired: true, plant: func(t *testing.T, s *stack) string {
		card := s.card(t)
		s.change(t, card, func(p *provider) { p.Name = "card" })
		return card
	}},
	{code: "agent-provider-misplaced", repaired: true, plant: func(t *testing.T, s *stack) string {
		agent := s.provider(t, s.hosts[0]+":NIC Switch agent")
		s.change(t, agent, func(p *provider) { p.Parent = s.roots[1] })
		return agent
	}},
	{code: "agent-provider-misplaced", name: "orphan", repaired: true, plant: func(t *testing.T, s *stack) string {
		agent := s.provider(t, s.hosts[0]+":NIC Switch agent")
		s.change(t, agent, func(p *provider) { p.Parent = nil })
		return agent
	}},
	{code: "device-provider-misplaced", repaired: true, plant: func(t *testing.T, s *stack) string {
		card := s.card(t)
		s.change(t, card, func(p *provider) { p.Parent = s.roots[0] })
		return card
	}},
	{code: "agent-provider-stale", repaired: true, plant: func(t *testing.T, s *stack) string {
		return s.add(t, s.hosts[2]+":NIC Switch agent", s.roots[2], nil)
	}},
	{
		code: "agent-provider-stale", name: "with its devices", only: onDebian, repaired: true, left: anything,
		plant: func(t *testing.T, s *stack) string {
			uuid := s.provider(t, s.hosts[0]+":NIC Switch agent")
			s.nets.Must(t, http.StatusNoContent, "DELETE", "/agents/"+s.agent(t, "neutron-sriov-nic-agent", 0), nil)
			t.Cleanup(func() { s.reportCard(t) })
			return uuid
		},
	},
	{code: "device-provider-stale", repaired: true, plant: func(t *testing.T, s *stack) string {
		return s.add(t, s.hosts[0]+":NIC Switch agent:ens9", s.provider(t, s.hosts[0]+":NIC Switch agent"),
			map[string]int{egress: 1000})
	}},
	{code: "inventory-class-missing", plant: func(t *testing.T, s *stack) string {
		s.inventories(t, s.card(t), func(all map[string]object) { delete(all, egress) })
		return s.card(t)
	}},
	{code: "inventory-class-superfluous", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.card(t), "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC", object{"total": 5})
		return s.card(t)
	}},
	{code: "inventory-total-differs", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.card(t), egress, object{"total": 5, "max_unit": 5})
		return s.card(t)
	}},
	{code: "inventory-settings-differ", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.card(t), egress, object{"reserved": 5})
		return s.card(t)
	}},
	{code: "max-unit-below-total", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.card(t), egress, object{"max_unit": 5})
		return s.card(t)
	}},
	{code: "physnet-trait-missing", plant: func(t *testing.T, s *stack) string {
		s.traits(t, s.card(t), without("CUSTOM_PHYSNET_PHYSNET0"))
		return s.card(t)
	}},
	{code: "physnet-trait-superfluous", plant: func(t *testing.T, s *stack) string {
		s.trait(t, "CUSTOM_PHYSNET_OTHER")
		s.traits(t, s.card(t), with("CUSTOM_PHYSNET_OTHER"))
		return s.card(t)
	}},
	{code: "vnic-trait-missing", plant: func(t *testing.T, s *stack) string {
		s.traits(t, s.card(t), func(list []string) []string {
			return slices.DeleteFunc(list, func(trait string) bool { return strings.HasPrefix(trait, "CUSTOM_VNIC_TYPE_") })
		})
		return s.card(t)
	}},

	// Hosts.
	{
		code:  "hypervisor-without-provider",
		plant: func(t *testing.T, s *stack) string { s.remove(t, s.roots[2]); return s.hosts[2] },
	},
	{code: "hypervisor-uuid-differs", plant: func(t *testing.T, s *stack) string {
		s.remove(t, s.roots[2])
		return s.add(t, s.hosts[2], "", map[string]int{"VCPU": 8}, "COMPUTE_NODE")
	}},
	{code: "hypervisor-name-differs", plant: func(t *testing.T, s *stack) string {
		s.change(t, s.roots[2], func(p *provider) { p.Name = "formerly" })
		return s.hosts[2]
	}},
	{
		code: "provider-of-gone-host", repaired: true,
		plant: func(t *testing.T, s *stack) string { return s.add(t, "formerly", "", map[string]int{"VCPU": 8}) },
	},
	{
		code: "provider-of-gone-host", name: "whose service row is deleted", only: onDebian,
		plant: func(t *testing.T, s *stack) string {
			s.withoutService(t)
			return s.roots[2]
		},
	},
	{code: "names-alike", plant: func(t *testing.T, s *stack) string {
		return s.add(t, strings.ToUpper(s.hosts[0])+".example.com", "", nil)
	}},
	{code: "disabled-trait-missing", repaired: true, left: 1, plant: func(t *testing.T, s *stack) string {
		service := object{"host": s.hosts[2], "binary": "nova-compute"}
		var list struct{ Services []struct{ ID string } }
		s.computes.Read(t, "/os-services?binary=nova-compute&host="+s.hosts[2], &list)
		set := func(status string) {
			t.Helper()
			s.computes.Must(t, http.StatusOK, "PUT", "/os-services/"+list.Services[0].ID, object{"status": status})
			await(t, fmt.Sprint(service, status), func() bool {
				return slices.Contains(s.traitsOf(t, s.roots[2]), "COMPUTE_STATUS_DISABLED") == (status == "disabled")
			})
		}
		set("disabled")
		t.Cleanup(func() { set("enabled") })
		s.traits(t, s.roots[2], without("COMPUTE_STATUS_DISABLED"))
		return s.hosts[2]
	}},
	{code: "disabled-trait-superfluous", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.traits(t, s.roots[2], with("COMPUTE_STATUS_DISABLED"))
		return s.hosts[2]
	}},

	// Aggregates.
	{code: "aggregate-mirror-missing", repaired: true, plant: func(t *testing.T, s *stack) string {
		s.list(t, s.roots[1], "aggregates", func([]string) []string { return nil })
		return s.roots[1]
	}},
	{code: "aggregate-mirror-superfluous", repaired: true, plant: func(t *testing.T, s *stack) string {
		var owner struct{ Aggregates []string }
		s.place.Read(t, "/resource_providers/"+s.roots[1]+"/aggregates", &owner)
		s.list(t, s.roots[2], "aggregates", with(owner.Aggregates...))
		return s.roots[2]
	}},
	{code: "aggregate-host-unknown", only: onDebian, plant: func(t *testing.T, s *stack) string {
		rows(t, s.novaAPISQL,
			"INSERT INTO aggregate_hosts (host, aggregate_id) VALUES ('nowhere', "+s.id("aggregate fast")+")",
			"DELETE FROM aggregate_hosts WHERE host = 'nowhere'")
		return "nowhere"
	}},
	{code: "aggregate-ratio-differs", repaired: true, left: 2, plant: func(t *testing.T, s *stack) string {
		set := func(ratio any) {
			t.Helper()
			s.computes.Must(t, http.StatusOK, "POST", "/os-aggregates/"+s.id("aggregate fast")+"/action",
				object{"set_metadata": object{"metadata": object{"cpu_allocation_ratio": ratio}}})
		}
		set("2.0")
		t.Cleanup(func() { set(nil) })
		for _, root := range s.roots[:2] { // which the commands change
			s.inventory(t, root, "VCPU", nil)
		}
		return s.roots[0]
	}},
	{code: "ratios-differ-in-aggregate", plant: func(t *testing.T, s *stack) string {
		s.inventory(t, s.roots[1], "VCPU", object{"allocation_ratio": 3})
		return s.roots[1]
	}},
	{code: "sharing-without-aggregate", plant: func(t *testing.T, s *stack) string {
		return s.add(t, "nfs", "", map[string]int{"DISK_GB": 1000}, "MISC_SHARES_VIA_AGGREGATE")
	}},
	{code: "sharing-aggregate-empty", plant: func(t *testing.T, s *stack) string {
		nfs := s.add(t, "nfs", "", map[string]int{"DISK_GB": 1000}, "MISC_SHARES_VIA_AGGREGATE")
		s.list(t, nfs, "aggregates", with(nobody))
		return nfs
	}},

	// Providers by themselves.
	{code: "capacity-exceeded", plant: func(t *testing.T, s *stack) string {
		s.inventories(t, s.roots[1], func(all map[string]object) {
			all["MEMORY_MB"]["reserved"] = all["MEMORY_MB"]["total"].(float64) - 1
		})
		return s.roots[1]
	}},
	{code: "reserved-in-use", plant: func(t *testing.T, s *stack) string {
		s.inventories(t, s.roots[1], func(all map[string]object) { all["MEMORY_MB"]["reserved"] = all["MEMORY_MB"]["total"] })
		return s.roots[1]
	}},
	{code: "vanished-device", plant: func(t *testing.T, s *stack) string {
		s.trait(t, "CUSTOM_BERTH_REMOVED")
		device := s.add(t, s.hosts[2]+" card", s.roots[2], map[string]int{"VCPU": 2}, "CUSTOM_BERTH_REMOVED")
		s.hold(t, nobody, device, "CARD")
		s.inventory(t, device, "VCPU", object{"reserved": 2})
		return device
	}},
	{code: "guarantee-overcommitted", only: onDebian, plant: func(t *testing.T, s *stack) string {
		s.configurations(t, ovs, s.hosts[0], func(c object) {
			c["resource_provider_bandwidths"] = object{"br-physnet0": object{"egress": 1500, "ingress": bandwidth}}
			c["resource_provider_inventory_defaults"].(object)["allocation_ratio"] = 10.0
		})
		s.inventories(t, s.bridge(t, 0), func(all map[string]object) {
			for _, owner := range all {
				owner["allocation_ratio"] = 10.0
			}
			all[egress]["total"], all[egress]["max_unit"] = 1500, 1500
		})
		return s.bridge(t, 0)
	}},
	{code: "reserved-above-total", only: onDebian, plant: func(t *testing.T, s *stack) string {
		set := "UPDATE inventories SET reserved = %s WHERE resource_class_id = 0 AND resource_provider_id = (SELECT id " +
			"FROM resource_providers WHERE uuid = '" + s.roots[2] + "')"
		rows(t, s.placementSQL, fmt.Sprintf(set, "total + 1"), fmt.Sprintf(set, "0"))
		return s.roots[2]
	}},
	{code: "provider-root-differs", only: inRows, plant: func(t *testing.T, s *stack) string {
		card := s.card(t)
		set := "UPDATE resource_providers AS r JOIN resource_providers AS o ON o.uuid = '%s' SET r.root_provider_id = o.id " +
			"WHERE r.uuid = '" + card + "'"
		rows(t, s.placementSQL, fmt.Sprintf(set, card), fmt.Sprintf(set, s.roots[0]))
		return card
	}},
}

// The binaries of agents.
const ovs = "neutron-openvswitch-agent"

// instance is the type that the consumers of servers have, "" for none.
func (s *stack) instance() string {
	if s.debian {
		return ""
	}
	return "INSTANCE"
}

// card returns the provider of the card of the first host, of which nothing is allocated.
func (s *stack) card(t testing.TB) string {
	t.Helper()
	return s.provider(t, s.hosts[0]+":NIC Switch agent:ens5")
}

// traitsOf are the traits of a provider.
func (s *stack) traitsOf(t testing.TB, uuid string) []string {
	t.Helper()
	var owner struct{ Traits []string }
	s.place.Read(t, "/resource_providers/"+uuid+"/traits", &owner)
	return owner.Traits
}

// rename has the port named first name another provider instead of the bridge.
func (s *stack) rename(t *testing.T, uuid string) {
	t.Helper()
	s.key(t, "first", func(a map[string]string) any {
		for group, owner := range a {
			if owner == s.bridge(t, 0) {
				a[group] = uuid
			}
		}
		return a
	})
}

// agent returns the id of the agent of a host.
func (s *stack) agent(t testing.TB, binary string, host int) string {
	t.Helper()
	var list struct{ Agents []struct{ ID string } }
	s.nets.Read(t, "/agents?binary="+binary+"&host="+s.hosts[host], &list)
	return list.Agents[0].ID
}

// rootOf returns the provider of the host of a server.
func (s *stack) rootOf(t testing.TB, server string) string {
	t.Helper()
	return s.roots[slices.Index(s.hosts, fmt.Sprint(s.show(t, server)["OS-EXT-SRV-ATTR:host"]))]
}

// made makes an object of the network service.
func (s *stack) made(t *testing.T, path, kind string, body object) string {
	t.Helper()
	id := made(t, s.nets, path, kind, body)
	t.Cleanup(func() { s.deleted(t, s.nets, path+"/"+id) })
	return id
}

func (s *stack) newPort(t *testing.T, body object) string {
	t.Helper()
	return s.made(t, "/ports", "port", body)
}

// confirmed has the row of the server that was moved say that its resize is confirmed.
func (s *stack) confirmed(t *testing.T) {
	t.Helper()
	id := s.id("server moved")
	rows(t, s.novaSQL, "UPDATE instances SET vm_state = 'active' WHERE uuid = '"+id+"'",
		"UPDATE instances SET vm_state = 'resized' WHERE uuid = '"+id+"'")
}

// withoutService has the last host have no compute service.
func (s *stack) withoutService(t *testing.T) {
	t.Helper()
	owner := " WHERE host = '" + s.hosts[2] + "' AND `binary` = 'nova-compute'"
	rows(t, s.novaSQL, "UPDATE services SET deleted = id"+owner, "UPDATE services SET deleted = 0"+owner)
}

// parts are of how many faults a sample injects one, and has one repaired. Reading Debian's
// cloud takes seconds.
func (s *stack) parts() (planted, repaired int) {
	if s.debian {
		return 16, 24
	}
	return 2, 8
}

// here are the plants of a run that are possible in a stack. A sample has one of so many.
func (s *stack) here(t *testing.T, parts int, ok func(p plant) bool) (here []plant) {
	for _, p := range plants {
		if (s.debian || p.only == both) && ok(p) {
			here = append(here, p)
		}
	}
	return sweep.Sample(t, here, parts)
}

// title names the test of a plant.
func (p plant) title() string { return strings.TrimSuffix(p.code+"/"+p.name, "/") }

// plant plants faults one by one. Audit finds each, and nothing else; that a fault was undone is
// seen with the next one.
func (s *stack) plant(t *testing.T) {
	parts, _ := s.parts()
	for _, p := range s.here(t, parts, func(plant) bool { return true }) {
		t.Run(p.title(), func(t *testing.T) {
			about := p.plant(t, s)
			var args []string
			if p.only == inRows {
				args = []string{"--connection", file(t, "url", s.database)}
				args[1] = "@" + args[1]
			}
			found := s.audit(t, args...)
			want := []string{p.code}
			if s.debian {
				want = append(want, p.also...)
			} else {
				want = append(want, p.onBerth...)
			}
			slices.Sort(want)
			named := slices.ContainsFunc(found, func(f finding) bool {
				return f.Code == p.code && slices.ContainsFunc(f.About, func(a subject) bool { return a.ID == about })
			})
			if !slices.Equal(codes(found), want) || !named {
				t.Errorf("audit finds %q, want %q about %s: %+v", codes(found), want, about, found)
			}
			if p.only != inRows {
				s.look(t, found)
			}
		})
	}
	if found := s.audit(t); len(found) > 0 {
		t.Errorf("after all faults are undone, audit finds %+v", found)
	}
}
