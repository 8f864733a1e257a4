package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// A Hosts has the hosts and aggregates that hosts are chosen by. Every change that this service
// makes invalidates the rows that it writes before it returns: a later choice of a host reads those
// rows again, and not those of all hosts. What other instances change is seen when RunWatches
// notices it, and after maxHostsAge at the latest.
type Hosts struct {
	db *compute.Database

	staleMu sync.Mutex
	stale   dirtyRows

	mu         sync.Mutex // guards what follows, also while it is read
	readAt     time.Time  // the time of reading all of it
	nodes      map[compute.ID]compute.NodeRow
	services   map[compute.ID]compute.ServiceRow
	aggregates []compute.Aggregate
	// hosts are the result, by number, without what depends on the time, and reports the services that
	// it depends on.
	hosts   []selection.Host
	reports []compute.ServiceRow
	nodeAt  map[compute.ID]int // in hosts
	hostAt  map[string][]int   // hypervisors of a host
	// traits are those of any host that requests depend on, and reported whose they are. Topologies
	// says that some host has reported its NUMA topology.
	traits     map[string]bool
	topologies bool
	reported   map[compute.ID]reportedNode
}

// NewHosts returns the hosts in a database.
func NewHosts(db *compute.Database) *Hosts {
	h := &Hosts{db: db}
	db.OnHosts(func(w compute.HostsWritten) {
		h.invalidate(dirtyRows{
			nodes: with(nil, w.Nodes...), services: with(nil, w.Services...), aggregates: w.Aggregates, all: w.All,
		})
	})
	return h
}

// maxHostsAge bounds the age of cached hosts.
const maxHostsAge = time.Minute

// dirtyRows are the rows of a Hosts that were written.
type dirtyRows struct {
	nodes, services map[compute.ID]bool
	aggregates      bool // or their members
	all             bool
}

// with adds ids to a set.
func with(set map[compute.ID]bool, ids ...compute.ID) map[compute.ID]bool {
	if set == nil {
		set = map[compute.ID]bool{}
	}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

func (t *dirtyRows) none() bool { return !t.all && !t.aggregates && len(t.nodes)+len(t.services) == 0 }

// invalidate has rows read again before they are used.
func (h *Hosts) invalidate(t dirtyRows) {
	if t.none() {
		return
	}
	h.staleMu.Lock()
	defer h.staleMu.Unlock()
	h.stale.add(t)
}

// add adds other rows.
func (t *dirtyRows) add(other dirtyRows) {
	t.nodes = with(t.nodes, slices.Collect(maps.Keys(other.nodes))...)
	t.services = with(t.services, slices.Collect(maps.Keys(other.services))...)
	t.aggregates = t.aggregates || other.aggregates
	t.all = t.all || other.all
}

// choosable returns the hosts to choose from, by their numbers, without servers, and the
// aggregates. With again all of them are read.
func (h *Hosts) choosable(ctx context.Context, again bool) ([]selection.Host, []request.Aggregate, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refresh(ctx, again); err != nil {
		return nil, nil, err
	}
	hosts := slices.Clone(h.hosts)
	for i := range hosts {
		hosts[i].Up = h.db.Rules.Serves(h.reports[i])
	}
	aggregates := make([]request.Aggregate, len(h.aggregates))
	for i, a := range h.aggregates {
		aggregates[i] = request.Aggregate{UUID: placement.UUID(a.ID), Metadata: a.Metadata}
	}
	return hosts, aggregates, nil
}

// AllKnow reports whether the services of all hosts have a version. Those that were forced down do
// not count.
func (h *Hosts) AllKnow(ctx context.Context, version int) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refresh(ctx, false); err != nil {
		return false, err
	}
	for _, row := range h.services {
		if row.Version > 0 && row.Version < version && !row.ForcedDown {
			return false, nil
		}
	}
	return true, nil
}

// ZoneHasHosts reports whether an availability zone has hosts that are enabled. Only one that seems
// to have none is looked for in the database: another instance may have created it.
func (h *Hosts) ZoneHasHosts(ctx context.Context, zone string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, again := range []bool{false, true} {
		if err := h.refresh(ctx, again); err != nil {
			return false, err
		}
		zones := compute.ZonesOf(h.aggregates)
		for _, row := range h.services {
			if !row.Disabled && cmp.Or(zones[row.Host], h.db.Rules.Settings.DefaultZone) == zone {
				return true, nil
			}
		}
	}
	return false, nil
}

// refresh reads what is stale, in a View that begins after it is known what that is: a change that
// commits later marks its rows as stale again.
func (h *Hosts) refresh(ctx context.Context, again bool) error {
	now := h.db.Rules.Now()
	h.staleMu.Lock()
	stale := h.stale
	h.stale = dirtyRows{}
	h.staleMu.Unlock()
	if age := now.Sub(h.readAt); again || h.nodes == nil || age < 0 || age > maxHostsAge {
		stale.all = true
	}
	if stale.none() {
		return nil
	}
	err := h.db.View(ctx, func(r compute.Reader) error { return h.read(r, stale) })
	if err != nil {
		h.invalidate(dirtyRows{all: true})
		return err
	}
	if stale.all {
		h.readAt = now
	}
	return nil
}

// read reads stale rows, and makes the result of all.
func (h *Hosts) read(r compute.Reader, stale dirtyRows) (err error) {
	if stale.all || len(stale.nodes) > 0 {
		err = reread(r, &h.nodes, stale.all, stale.nodes, func(n compute.NodeRow) compute.ID { return n.ID })
	}
	if err == nil && (stale.all || len(stale.nodes) > 0) {
		h.readTraits(stale)
	}
	if err == nil && (stale.all || len(stale.services) > 0) {
		err = reread(r, &h.services, stale.all, stale.services, func(row compute.ServiceRow) compute.ID { return row.ID })
	}
	if err == nil && (stale.all || stale.aggregates) {
		h.aggregates, err = compute.ReadAggregates(r)
	}
	if err != nil {
		return err
	}
	if stale.all || stale.aggregates || len(h.nodes) != len(h.hosts) {
		h.build()
		return nil
	}
	for id := range stale.nodes {
		i := h.nodeAt[id]
		h.hosts[i].Node, h.hosts[i].Failed = h.nodes[id].Name, h.nodes[id].Failed
	}
	for id := range stale.services {
		for _, i := range h.hostAt[h.services[id].Host] {
			h.reports[i], h.hosts[i].Enabled = h.services[id], !h.services[id].Disabled
		}
	}
	return nil
}

// build makes the result of all rows.
func (h *Hosts) build() {
	services := make(map[string]compute.ServiceRow, len(h.services))
	for _, row := range h.services {
		services[row.Host] = row
	}
	metadata := map[string][]map[string]string{}
	for _, a := range h.aggregates {
		for _, host := range a.Hosts {
			metadata[host] = append(metadata[host], a.Metadata)
		}
	}
	order := slices.SortedFunc(maps.Keys(h.nodes), func(a, b compute.ID) int {
		return cmp.Compare(h.nodes[a].Number, h.nodes[b].Number)
	})
	h.hosts, h.reports = make([]selection.Host, len(order)), make([]compute.ServiceRow, len(order))
	h.nodeAt, h.hostAt = make(map[compute.ID]int, len(order)), make(map[string][]int, len(order))
	for i, id := range order {
		n := h.nodes[id]
		h.nodeAt[id], h.hostAt[n.Host] = i, append(h.hostAt[n.Host], i)
		h.reports[i] = services[n.Host]
		h.hosts[i] = selection.Host{
			Name: n.Host, Node: n.Name, Provider: placement.UUID(n.ID), Enabled: !h.reports[i].Disabled, Failed: n.Failed,
			Metadata: metadata[n.Host],
		}
	}
}

// reread reads rows with some ids, or all of them, into a map.
func reread[T compute.Row](
	r compute.Reader, into *map[compute.ID]T, all bool, ids map[compute.ID]bool, id func(T) compute.ID,
) error {
	var where []compute.Match
	if !all {
		where = []compute.Match{compute.Where(compute.ByID, slices.Collect(maps.Keys(ids))...)}
	}
	rows, err := compute.Rows[T](r, where...)
	if err != nil {
		return err
	}
	if all {
		*into = make(map[compute.ID]T, len(rows))
	}
	for id := range ids {
		delete(*into, id)
	}
	for _, row := range rows {
		(*into)[id(row)] = row
	}
	return nil
}
