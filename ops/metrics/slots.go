package metrics

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Query is what free slots are counted of: a flavor, or a query that an operator has named.
type Query struct {
	Name  string
	Query placement.Query
	// Refused is why Nova sends placement no query, and answers that there is no valid host; nil
	// when it sends one.
	Refused error
	// Flavor says that it is Nova's query: hosts whose service is disabled or down are excluded.
	Flavor bool
}

// FlavorQueries returns Nova's queries for servers of flavors with nothing but the flavor: without
// an image, ports, a project or hints. The zone is that of servers which are created without one,
// "" for any.
func FlavorQueries(
	c *cloud.Cloud, flavors []cloud.Flavor, settings request.Settings, zone, defaultZone string,
) []Query {
	settings = novaquery.Settings(c, settings)
	queries := make([]Query, 0, len(flavors))
	for _, f := range flavors {
		r, err := novaquery.Request(novaquery.Server{Flavor: f, Zone: zone, DefaultZone: defaultZone}, c, settings)
		queries = append(queries, Query{Name: f.Name, Query: r.Query, Refused: err, Flavor: true})
	}
	return queries
}

// slots adds how many more of each query fit.
func (x *computation) slots() error {
	if len(x.options.Queries) == 0 {
		return nil
	}
	counters := map[bool]*counter{}
	counted := map[string]*slotCount{}
	for _, q := range x.options.Queries {
		if !requests(q.Query) && q.Refused == nil {
			continue // any number fits
		}
		k := counters[q.Flavor]
		if k == nil {
			k = x.counter(q.Flavor)
			counters[q.Flavor] = k
		}
		key := fmt.Sprintf("%v %v %+v", q.Flavor, q.Refused != nil, q.Query)
		n := counted[key]
		if n == nil {
			var err error
			if n, err = k.count(x, q); err != nil {
				return err
			}
			counted[key] = n
		}
		x.addSlots(q.Name, n)
	}
	return nil
}

// addSlots adds the samples of a count.
func (x *computation) addSlots(name string, n *slotCount) {
	x.add("berth_cloud_flavor_slots", float64(n.whole.Least), name)
	x.add("berth_cloud_flavor_slots_limit", float64(n.whole.Most), name)
	x.add("berth_cloud_flavor_slots_unfragmented", n.unfragmented, name)
	if x.options.OSCapacity {
		x.add("openstack_free_capacity_by_flavor_total", float64(n.whole.Least), name)
	}
	for _, zone := range slices.Sorted(maps.Keys(n.zones)) {
		x.add("berth_cloud_zone_flavor_slots", float64(n.zones[zone]), zone, name)
	}
	for _, aggregate := range slices.Sorted(maps.Keys(n.aggregates)) {
		x.add("berth_cloud_aggregate_flavor_slots", float64(n.aggregates[aggregate]), aggregate, name)
	}
	if x.options.SlotsByHost {
		for _, h := range n.hosts {
			x.add("berth_cloud_host_flavor_slots", float64(h.Most), h.Name, name)
		}
	}
}

// Slots are how many more of a query fit, of a flavor or of a query that an operator has named.
type Slots struct {
	Name string `json:"name"`
	capacity.Range
	// Unfragmented is how many would fit if what is free of each class were of one provider; -1 for
	// any number.
	Unfragmented int64 `json:"unfragmented"`
	// Exhausted is what hosts lack for one more, as [capacity.Count] has it.
	Exhausted []capacity.Exhausted `json:"runs_out"`
	// Refused is why Nova sends placement no query, "" when it sends one.
	Refused string `json:"refused,omitempty"`
}

// CountSlots returns how many more of each query fit, in the order of the queries, without those
// that request no resources. The error is that of ctx.
func CountSlots(ctx context.Context, s *snapshot.Snapshot, c *cloud.Cloud, queries []Query) ([]Slots, error) {
	x := &computation{ctx: ctx, snapshot: s, cloud: c, places: placesOf(s, c)}
	counters := map[bool]*counter{}
	list := []Slots{}
	for _, q := range queries {
		if !requests(q.Query) && q.Refused == nil {
			continue
		}
		k := counters[q.Flavor]
		if k == nil {
			k = x.counter(q.Flavor)
			k.zones, k.aggregates = nil, nil
			counters[q.Flavor] = k
		}
		n, err := k.count(x, q)
		if err != nil {
			return nil, err
		}
		slots := Slots{
			Name: q.Name, Range: n.whole, Unfragmented: -1, Exhausted: append([]capacity.Exhausted{}, n.exhausted...),
		}
		if !math.IsInf(n.unfragmented, 1) {
			slots.Unfragmented = int64(n.unfragmented)
		}
		if q.Refused != nil {
			slots.Refused = q.Refused.Error()
		}
		list = append(list, slots)
	}
	return list, nil
}

// A slotCount is how many more of a query fit.
type slotCount struct {
	whole             capacity.Range
	exhausted         []capacity.Exhausted
	unfragmented      float64
	zones, aggregates map[string]int64
	hosts             []capacity.Host // Most of each is what fits there, if there are none elsewhere
}

// A counter counts on the hosts that Nova may take, or on all that placement has.
type counter struct {
	snapshot *snapshot.Snapshot
	places   []place
	// zones and aggregates are the hosts of each. Where hosts share providers, they have a snapshot
	// without the other hosts: what is counted on their hosts of the whole depends on where it begins.
	zones, aggregates map[string]*part
	shared            bool
}

// A part is the hosts of a zone or of an aggregate.
type part struct {
	roots    map[int64]bool
	names    map[string]bool
	snapshot *snapshot.Snapshot // nil where hosts share nothing
}

// counter returns a counter on the snapshot, without the hosts that Nova does not take if it is for
// Nova's queries.
func (x *computation) counter(flavors bool) *counter {
	k := &counter{snapshot: x.snapshot, zones: map[string]*part{}, aggregates: map[string]*part{}}
	var excluded []int64
	refused := novaquery.Server{}.Refusals(x.cloud)
	for _, p := range x.places {
		if flavors && refused(p.tree.Root().Name) != "" {
			excluded = append(excluded, p.tree.Root().ID)
			continue
		}
		k.places = append(k.places, p)
	}
	if len(excluded) > 0 {
		k.snapshot = x.snapshot.WithTrees(excluded, placement.TreeRows{}, x.snapshot.Built())
	}
	k.shared = slices.ContainsFunc(k.snapshot.WithSharing(), func(word uint64) bool { return word != 0 })
	add := func(m map[string]*part, name string, p place) {
		if m[name] == nil {
			m[name] = &part{roots: map[int64]bool{}, names: map[string]bool{}}
		}
		m[name].roots[p.tree.Root().ID], m[name].names[p.tree.Root().Name] = true, true
	}
	for _, p := range k.places {
		if p.zone != "" {
			add(k.zones, p.zone, p)
		}
		for _, name := range p.aggregates {
			add(k.aggregates, name, p)
		}
	}
	// A zone or an aggregate without a host that Nova takes has none free.
	for _, p := range x.places {
		if p.zone != "" && k.zones[p.zone] == nil {
			k.zones[p.zone] = &part{}
		}
		for _, name := range p.aggregates {
			if k.aggregates[name] == nil {
				k.aggregates[name] = &part{}
			}
		}
	}
	if k.shared {
		for _, m := range []map[string]*part{k.zones, k.aggregates} {
			for _, part := range m {
				k.restrict(part)
			}
		}
	}
	return k
}

// restrict gives a part the snapshot without the hosts that are not in it. Providers that share
// remain.
func (k *counter) restrict(p *part) {
	var others []int64
	for _, other := range k.places {
		root := other.tree.Root()
		if !p.roots[root.ID] &&
			!slices.ContainsFunc(other.tree.Providers, func(p *snapshot.Provider) bool { return p.Shares }) {
			others = append(others, root.ID)
		}
	}
	p.snapshot = k.snapshot.WithTrees(others, placement.TreeRows{}, k.snapshot.Built())
}

// count counts a query. One that placement refuses, such as for a trait that does not exist, fits
// nowhere.
func (k *counter) count(x *computation, q Query) (*slotCount, error) {
	n := &slotCount{zones: map[string]int64{}, aggregates: map[string]int64{}}
	whole := &capacity.Count{}
	if q.Refused == nil {
		c, err := capacity.Headroom(x.ctx, k.snapshot, q.Query)
		switch {
		case x.ctx.Err() != nil:
			return nil, x.ctx.Err()
		case err == nil:
			whole = c
			n.unfragmented = k.unfragmented(q.Query)
		}
	}
	n.whole, n.hosts, n.exhausted = whole.Range, whole.Hosts, whole.Exhausted
	for _, m := range []struct {
		parts map[string]*part
		into  map[string]int64
	}{{k.zones, n.zones}, {k.aggregates, n.aggregates}} {
		for name, p := range m.parts {
			hosts := whole.Hosts
			if p.snapshot != nil && len(hosts) > 0 {
				c, err := capacity.Headroom(x.ctx, p.snapshot, q.Query)
				if x.ctx.Err() != nil {
					return nil, x.ctx.Err()
				}
				hosts = nil
				if err == nil {
					hosts = c.Hosts
				}
			}
			m.into[name] = 0
			for _, h := range hosts {
				if p.names[h.Name] {
					m.into[name] += h.Least
				}
			}
		}
	}
	return n, nil
}

// unfragmented is how many of a query would fit if what is free of each class were of one provider:
// what a sum over the cloud says. It is infinite for an amount without end only.
func (k *counter) unfragmented(q placement.Query) float64 {
	requested := map[placement.ClassID]float64{}
	for _, g := range q.Groups {
		for _, r := range g.Resources {
			if id, ok := k.snapshot.Class(r.Class); ok && r.Amount > 0 {
				requested[id] += float64(r.Amount)
			}
		}
	}
	free := make(map[placement.ClassID]float64, len(requested))
	for _, p := range k.places {
		for _, provider := range p.tree.Providers {
			for i := range provider.Inventories {
				if inv := &provider.Inventories[i]; requested[inv.Class] > 0 {
					free[inv.Class] += freeOf(inv)
				}
			}
		}
	}
	most := math.Inf(1)
	for id, amount := range requested {
		most = min(most, math.Floor(free[id]/amount))
	}
	return most
}

// requests reports whether a query requests any resources.
func requests(q placement.Query) bool {
	return slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool {
		return slices.ContainsFunc(g.Resources, func(r placement.ClassAmount) bool { return r.Amount > 0 })
	})
}
