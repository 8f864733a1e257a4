package scheduler

import (
	"maps"
	"slices"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
)

// Requests name the traits that hosts report.
func TestTraitsOfNodes(t *testing.T) {
	for requested, reported := range map[string]string{
		request.TraitNUMARoot: inventory.TraitNUMARoot, request.TraitNonNUMA: inventory.TraitNonNUMA,
		request.TraitPageSize: inventory.TraitPageSize, request.TraitPageSize + "SMALL": inventory.TraitSmallPages,
		request.TraitPageSize + "LARGE": inventory.TraitLargePages,
	} {
		if requested != reported {
			t.Errorf("%s is requested, and %s reported", requested, reported)
		}
	}
}

// What hosts report is known with the rows that were read again, and forgotten with the host.
func TestTraitsOfHosts(t *testing.T) {
	h := &Hosts{nodes: map[compute.ID]compute.NodeRow{}}
	set := func(id compute.ID, topology string, additions string) {
		t.Helper()
		h.nodes[id] = compute.NodeRow{ID: id, Topology: []byte(topology), Additions: []byte(additions)}
		h.readTraits(dirtyRows{nodes: with(nil, id)})
	}
	check := func(what string, want ...string) {
		t.Helper()
		got := slices.Sorted(maps.Keys(h.traits))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	h.readTraits(dirtyRows{all: true})
	check("no host")
	set("a", `{"nodes": []}`, "")
	check("a host without nodes")
	set("a", `{"nodes": [], "reported": true}`, "")
	set("b", `{"nodes": [], "excluded": true}`, "")
	check("two hosts", request.TraitNonNUMA, request.TraitNUMARoot)
	set("a", `{"nodes": []}`, `{"7": {"traits": ["CUSTOM_A", "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]}}`)
	check("one has changed", request.TraitSocketAffinity, request.TraitNonNUMA)
	h.readTraits(dirtyRows{all: true})
	check("all were read again", request.TraitSocketAffinity, request.TraitNonNUMA)
	set("b", "no JSON", "")
	check("a report that cannot be read", request.TraitSocketAffinity)
	delete(h.nodes, "a")
	h.readTraits(dirtyRows{nodes: with(nil, "a")})
	check("a host was deleted")
}
