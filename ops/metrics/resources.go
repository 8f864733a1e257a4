package metrics

import (
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// amounts are sums over the inventories of a class.
type amounts struct {
	inventory, reserved, capacity, used, free float64
	largest                                   float64 // the most that one allocation can have of one provider
}

func (a *amounts) add(inv *snapshot.Inventory) {
	a.inventory += float64(inv.Total)
	a.reserved += float64(inv.Reserved)
	a.capacity += max(0, float64(inv.Capacity()))
	a.used += float64(inv.Used)
	a.free += freeOf(inv)
	a.largest = max(a.largest, float64(inv.Most()))
}

// freeOf is how much of an inventory can be allocated yet, in several allocations.
func freeOf(inv *snapshot.Inventory) float64 {
	return max(0, float64(max(inv.Capacity(), 0))-float64(inv.Used))
}

// sums are amounts by class.
type sums map[placement.ClassID]*amounts

func (s sums) add(tree *snapshot.Tree) {
	for _, p := range tree.Providers {
		for i := range p.Inventories {
			inv := &p.Inventories[i]
			if s[inv.Class] == nil {
				s[inv.Class] = &amounts{}
			}
			s[inv.Class].add(inv)
		}
	}
}

// resources adds what the providers have, of the cloud and of its parts.
func (x *computation) resources() {
	whole, zones, aggregates := sums{}, map[string]sums{}, map[string]sums{}
	part := func(m map[string]sums, name string, tree *snapshot.Tree) {
		if m[name] == nil {
			m[name] = sums{}
		}
		m[name].add(tree)
	}
	providers := 0
	for _, p := range x.places {
		providers += len(p.tree.Providers)
		whole.add(p.tree)
		if p.zone != "" {
			part(zones, p.zone, p.tree)
		}
		for _, name := range p.aggregates {
			part(aggregates, name, p.tree)
		}
		x.host(p)
	}
	x.add("berth_cloud_providers", float64(providers))
	x.level("berth_cloud_", whole)
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		x.level("berth_cloud_zone_", zones[zone], zone)
	}
	for _, name := range slices.Sorted(maps.Keys(aggregates)) {
		x.level("berth_cloud_aggregate_", aggregates[name], name)
	}
}

// level adds the sums of the cloud, a zone or an aggregate.
func (x *computation) level(prefix string, s sums, labels ...string) {
	for id, a := range s {
		labels := append(slices.Clone(labels), x.snapshot.ClassName(id))
		x.add(prefix+"resource_inventory", a.inventory, labels...)
		x.add(prefix+"resource_reserved", a.reserved, labels...)
		x.add(prefix+"resource_capacity", a.capacity, labels...)
		x.add(prefix+"resource_used", a.used, labels...)
		x.add(prefix+"resource_free", a.free, labels...)
		x.add(prefix+"resource_largest_free", a.largest, labels...)
	}
}

// host adds the sums of the tree of a host, or of another root provider.
func (x *computation) host(p place) {
	root := p.tree.Root()
	if x.options.OpenStackExporter {
		x.eachProvider(p.tree)
	}
	if x.options.WithoutHosts {
		return
	}
	s := sums{}
	s.add(p.tree)
	for id, a := range s {
		class := x.snapshot.ClassName(id)
		x.add("berth_cloud_host_resource_inventory", a.inventory, root.Name, class)
		x.add("berth_cloud_host_resource_reserved", a.reserved, root.Name, class)
		x.add("berth_cloud_host_resource_used", a.used, root.Name, class)
		x.add("berth_cloud_host_resource_free", a.free, root.Name, class)
		if x.options.OSCapacity {
			x.add("openstack_hypervisor_placement_allocated", a.used, root.Name, class)
			x.add("openstack_hypervisor_placement_allocatable_capacity", a.capacity, root.Name, class)
		}
	}
}

// eachProvider adds the inventories of single providers as openstack-exporter names them.
func (x *computation) eachProvider(tree *snapshot.Tree) {
	for _, p := range tree.Providers {
		for i := range p.Inventories {
			inv := &p.Inventories[i]
			class := x.snapshot.ClassName(inv.Class)
			x.add("openstack_placement_resource_total", float64(inv.Total), p.Name, class)
			x.add("openstack_placement_resource_allocation_ratio", inv.AllocationRatio, p.Name, class)
			x.add("openstack_placement_resource_generation", float64(p.Generation), p.Name, class)
			x.add("openstack_placement_resource_reserved", float64(inv.Reserved), p.Name, class)
			x.add("openstack_placement_resource_usage", float64(inv.Used), p.Name, class)
		}
	}
}
