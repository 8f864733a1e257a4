// Package metrics computes the numbers about a cloud that dashboards and alerts need, as metrics of
// Prometheus: what placement's providers have and what is free of it, free slots of flavors, usage
// of projects, findings of the audit, the state of hosts and agents. It is pure: it takes a
// snapshot of placement's providers and the records of the other services, and sends no requests.
// What was not read has no metrics: absent is not 0.
//
// Labels have the values of hosts, zones, aggregates, resource classes, flavors, projects and
// codes. No metric is of a consumer, a server or a port. The list of all metrics, with their
// labels, is [Described].
package metrics

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Options say what is computed.
type Options struct {
	// Queries are what free slots are counted of.
	Queries []Query
	// Projects are the projects with metrics, with their names and limits; nil for all that have
	// consumers.
	Projects *cloud.Projects
	// WithoutHosts omits the metrics of single hosts.
	WithoutHosts bool
	// SlotsByHost adds the free slots on each host, a series for each flavor and host.
	SlotsByHost bool
	// OSCapacity and OpenStackExporter add metrics with the names and labels of these exporters, as
	// far as they are known and are numbers that this package has.
	OSCapacity, OpenStackExporter bool
}

// Compute returns the metrics of a cloud. The snapshot is that of placement's providers, nil when
// they were not read; the records are those of all services, as far as they were read. The error is
// that of ctx.
func Compute(ctx context.Context, s *snapshot.Snapshot, c *cloud.Cloud, o Options) ([]Family, error) {
	x := &computation{ctx: ctx, cloud: c, options: o, families: map[string]*Family{}}
	if s != nil {
		x.snapshot = s
		x.places = placesOf(s, c)
		x.resources()
		if err := x.slots(); err != nil {
			return nil, err
		}
	}
	x.projects()
	x.services()
	x.findings()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var families []Family
	for _, d := range described {
		if f := x.families[d.Name]; f != nil {
			f.sort()
			families = append(families, *f)
		}
	}
	return families, nil
}

// A computation collects the samples of families.
type computation struct {
	ctx      context.Context
	snapshot *snapshot.Snapshot // nil for none
	places   []place            // in the order of its trees
	cloud    *cloud.Cloud
	options  Options
	families map[string]*Family
}

// add adds a sample to a family, with the values of its labels in their order.
func (x *computation) add(name string, value float64, labels ...string) {
	f := x.families[name]
	if f == nil {
		i := slices.IndexFunc(described, func(d Description) bool { return d.Name == name })
		f = &Family{Description: described[i]}
		x.families[name] = f
	}
	f.Samples = append(f.Samples, Sample{labels, value})
}

// A place is a tree of providers, with what is known of the host that it is of.
type place struct {
	tree *snapshot.Tree
	zone string // "" when it is not known
	// aggregates are the names of host aggregates, or the UUIDs of placement's where the compute
	// service was not read; sorted.
	aggregates []string
}

// placesOf returns the trees of a snapshot with where they are.
func placesOf(s *snapshot.Snapshot, c *cloud.Cloud) []place {
	zones, members := map[string]string{}, map[string][]string{} // by the host of the service
	// the host of the service, by the UUID and the name of the node
	hosts := map[string]string{}
	if c.Compute != nil {
		for _, service := range c.Compute.Services {
			if service.Binary == "nova-compute" {
				zones[service.Host] = service.Zone
			}
		}
		for _, a := range c.Compute.Aggregates {
			for _, host := range a.Hosts {
				members[host] = append(members[host], a.Name)
			}
		}
		for _, h := range c.Compute.Hypervisors {
			hosts[h.UUID], hosts[h.Hostname] = h.Host, h.Host
		}
	}
	var places []place
	for tree := range s.Trees() {
		p := place{tree: tree}
		root := tree.Root()
		switch host, known := hosts[string(root.UUID)]; {
		case c.Compute == nil:
			for _, id := range root.Aggregates {
				p.aggregates = append(p.aggregates, string(s.AggregateUUID(id)))
			}
		default:
			if !known {
				host, known = hosts[root.Name]
			}
			if known {
				p.zone, p.aggregates = zones[host], slices.Clone(members[host])
			}
		}
		slices.Sort(p.aggregates)
		p.aggregates = slices.Compact(p.aggregates)
		places = append(places, p)
	}
	return places
}

// services adds the state of hosts, servers and agents.
func (x *computation) services() {
	if c := x.cloud.Compute; c != nil {
		type state struct{ status, state string }
		counts := map[state]int64{
			{"enabled", "up"}: 0, {"enabled", "down"}: 0, {"disabled", "up"}: 0, {"disabled", "down"}: 0,
		}
		nodes := map[string][]string{} // names, by the host of the service
		for _, h := range c.Hypervisors {
			nodes[h.Host] = append(nodes[h.Host], h.Hostname)
		}
		for _, service := range c.Services {
			if service.Binary != "nova-compute" {
				continue
			}
			counts[state{service.Status, service.State}]++
			if x.options.WithoutHosts {
				continue
			}
			for _, node := range nodes[service.Host] {
				x.add("berth_cloud_host_info", 1, node, service.Zone)
				x.add("berth_cloud_host_enabled", truth(service.Status == "enabled"), node)
				x.add("berth_cloud_host_up", truth(service.State == "up"), node)
			}
		}
		for k, n := range counts {
			x.add("berth_cloud_hosts", float64(n), k.status, k.state)
		}
		servers := map[string]int64{}
		for i := range c.Servers {
			servers[c.Servers[i].Status]++
		}
		for status, n := range servers {
			x.add("berth_cloud_servers", float64(n), status)
		}
	}
	if n := x.cloud.Network; n != nil {
		type state struct{ kind, state string }
		counts, unsynced := map[state]int64{}, map[string]int64{}
		for i := range n.Agents {
			a := &n.Agents[i]
			for _, s := range []string{"alive", "dead"} {
				counts[state{a.Type, s}] += 0
			}
			if a.Alive {
				counts[state{a.Type, "alive"}]++
			} else {
				counts[state{a.Type, "dead"}]++
			}
			if a.Synced != nil {
				unsynced[a.Type] += int64(1 - truth(*a.Synced))
			}
		}
		for k, n := range counts {
			x.add("berth_cloud_agents", float64(n), k.kind, k.state)
		}
		for kind, n := range unsynced {
			x.add("berth_cloud_agents_unsynced", float64(n), kind)
		}
	}
}

// truth is 1 for true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// findings adds how many findings the audit has of each code that it could check. One that it could
// check in part has the findings of that part.
func (x *computation) findings() {
	if x.cloud.Has()&(cloud.ConsumersPart|cloud.ComputePart|cloud.NetworkPart) == 0 || x.ctx.Err() != nil {
		return
	}
	r := audit.Check(index.New(x.cloud), audit.Options{})
	counts := map[audit.Code]int{}
	for _, k := range audit.Kinds() {
		counts[k.Code] = 0
	}
	for _, u := range r.Unchecked {
		for _, code := range u.Codes {
			delete(counts, code)
		}
	}
	for _, f := range r.Findings {
		counts[f.Code]++
	}
	severities := map[audit.Code]audit.Severity{}
	for _, k := range audit.Kinds() {
		severities[k.Code] = k.Severity
	}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		x.add("berth_cloud_audit_findings", float64(counts[code]), string(code), string(severities[code]))
	}
}
