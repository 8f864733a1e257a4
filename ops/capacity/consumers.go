package capacity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Consumers returns the consumers that have allocations in the tree of a host, and those among them
// that cannot be moved: migrations that are under way, and their servers. requests returns what is
// requested from placement when a server moves; it may be nil. A consumer that is no server in the
// records, or that requests has an error for, is taken to need what it has. It fails when the
// records have no allocations.
func Consumers(
	c *cloud.Cloud, s *snapshot.Snapshot, host *snapshot.Tree, query func(*cloud.Server) (placement.Query, error),
) ([]Consumer, []Waiting, error) {
	if c.Placement == nil || c.Placement.Consumers == nil {
		return nil, nil, errors.New("the records have no allocations of placement")
	}
	servers, migrations, moving := map[string]*cloud.Server{}, map[string]*cloud.Migration{}, map[string]*cloud.Migration{}
	if c.Compute != nil {
		for i := range c.Compute.Servers {
			servers[c.Compute.Servers[i].UUID] = &c.Compute.Servers[i]
		}
		for i := range c.Compute.Migrations {
			m := &c.Compute.Migrations[i]
			migrations[m.UUID] = m
			if inProgress(m.Status) {
				moving[m.Server] = m
			}
		}
	}
	groups := hardGroups(c)
	var consumers []Consumer
	waiting := []Waiting{}
	for i := range c.Placement.Consumers {
		consumer := &c.Placement.Consumers[i]
		allocated := onHost(consumer, host)
		if len(allocated) == 0 {
			continue
		}
		m, move := migrations[consumer.UUID], moving[consumer.UUID]
		switch {
		case m != nil:
			waiting = append(waiting, Waiting{consumer.UUID, m.Server, fmt.Sprintf(
				"migration of server %s to %s (%s): it has what the server had here allocated until it is confirmed or reverted",
				m.Server, m.DestNode, m.Status)})
			continue
		case strings.EqualFold(consumer.Type, "migration"):
			waiting = append(waiting, Waiting{
				Consumer: consumer.UUID, Reason: "a migration that the records of the compute service do not have",
			})
			continue
		case move != nil:
			waiting = append(waiting, Waiting{
				consumer.UUID, consumer.UUID,
				fmt.Sprintf("the server is moving from %s to %s (%s)", move.SourceNode, move.DestNode, move.Status),
			})
			continue
		}
		h := Consumer{UUID: consumer.UUID, Group: groups[consumer.UUID], Shared: map[string]map[string]int64{}}
		for uuid, amounts := range consumer.Allocations {
			if p, _ := s.Provider(placement.UUID(uuid)); allocated[uuid] == nil && p != nil && p.Shares {
				h.Shared[uuid] = amounts
			}
		}
		reason := "the records have no server with this UUID"
		if server := servers[consumer.UUID]; server != nil {
			h.Name, reason = server.Name, "what the server requests is not known"
			if query != nil {
				q, err := query(server)
				if h.Query = q; err == nil {
					consumers = append(consumers, h)
					continue
				}
				reason = err.Error()
			}
		}
		h.Query = fromAllocations(s, host, allocated, h.Shared)
		h.Assumed = reason + "; it is taken to need the classes and amounts that it has, of providers with the same " +
			"CUSTOM_PHYSNET_* and CUSTOM_VNIC_TYPE_* traits, and nothing else"
		consumers = append(consumers, h)
	}
	return consumers, waiting, nil
}

// hardGroups returns the server groups by the UUIDs of their members, without those of a soft
// policy, which forbid no host.
func hardGroups(c *cloud.Cloud) map[string]*Group {
	if c.Compute == nil {
		return nil
	}
	hosts, moving := map[string]string{}, map[string][]string{} // nodes by the UUIDs of servers
	for _, s := range c.Compute.Servers {
		hosts[s.UUID] = s.Node
	}
	for _, m := range c.Compute.Migrations {
		if inProgress(m.Status) {
			moving[m.Server] = append(moving[m.Server], m.SourceNode, m.DestNode)
		}
	}
	groups := map[string]*Group{}
	for _, group := range c.Compute.Groups {
		if group.Policy != "affinity" && group.Policy != "anti-affinity" {
			continue
		}
		g := &Group{
			UUID: group.UUID, Name: group.Name, Affinity: group.Policy == "affinity", Most: max(1, group.Rules.MaxPerHost),
			Members: map[string]int{},
		}
		for _, member := range group.Members {
			if groups[member] == nil { // a server is in one group
				groups[member] = g
			}
			nodes := []string{hosts[member]}
			if !g.Affinity {
				nodes = append(nodes, moving[member]...)
			}
			slices.Sort(nodes)
			for _, node := range slices.Compact(nodes) {
				if node != "" { // it has none before one is chosen, and when it is offloaded
					g.Members[node]++
				}
			}
		}
	}
	return groups
}

// inProgress reports whether Nova counts a migration with a status at both of its hosts.
func inProgress(status string) bool {
	return !slices.Contains([]string{"confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"}, status)
}

// onHost returns the allocations of a consumer on the providers of a tree, by their UUIDs.
func onHost(consumer *cloud.Consumer, host *snapshot.Tree) map[string]map[string]int64 {
	allocated := map[string]map[string]int64{}
	for _, p := range host.Providers {
		if amounts := consumer.Allocations[string(p.UUID)]; len(amounts) > 0 {
			allocated[string(p.UUID)] = amounts
		}
	}
	return allocated
}

// fromAllocations returns a query for what a consumer has: what the root and sharing providers give
// is the group without suffix, and what each other provider gives a group of its own, which
// requires the traits of physical networks and VNIC types that the provider has.
func fromAllocations(
	s *snapshot.Snapshot, host *snapshot.Tree, allocated, shared map[string]map[string]int64,
) placement.Query {
	sums := map[string]int64{}
	var q placement.Query
	for _, p := range host.Providers {
		amounts := allocated[string(p.UUID)]
		if p.Parent < 0 || p.Shares {
			for class, n := range amounts {
				sums[class] += n
			}
			continue
		}
		if len(amounts) == 0 {
			continue
		}
		g := placement.RequestGroup{Suffix: fmt.Sprintf("_%d", len(q.Groups)+1), Resources: amountsOf(amounts)}
		for _, id := range p.Traits {
			if name := s.TraitName(id); strings.HasPrefix(name, "CUSTOM_PHYSNET_") ||
				strings.HasPrefix(name, "CUSTOM_VNIC_TYPE_") {
				g.Required = append(g.Required, []string{name})
			}
		}
		q.Groups = append(q.Groups, g)
	}
	for _, amounts := range shared {
		for class, n := range amounts {
			sums[class] += n
		}
	}
	if len(sums) > 0 {
		q.Groups = slices.Insert(q.Groups, 0, placement.RequestGroup{Resources: amountsOf(sums)})
	}
	return q
}

// amountsOf lists amounts in the order of their classes.
func amountsOf(amounts map[string]int64) (list []placement.ClassAmount) {
	for _, class := range slices.Sorted(maps.Keys(amounts)) {
		list = append(list, placement.ClassAmount{Class: class, Amount: amounts[class]})
	}
	return list
}
