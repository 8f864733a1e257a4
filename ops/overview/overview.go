// Package overview has the table of a cloud's hosts: what each tree of placement's providers has of
// each resource class and how much of that is used, with the zone, the aggregates and the state of
// its host. Two tables can be compared, so that a page with one needs the changed rows only. It
// reads no cloud.
package overview

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A State is what the compute service says of a host.
type State string

// The states. One that is not known is "": no compute service was read, or it has no such host.
const (
	Up       State = "up"
	Down     State = "down"
	Disabled State = "disabled" // whether or not it is up
	// Sharing is the state of a tree that shares what it has with others, such as a storage pool.
	Sharing State = "sharing"
)

// A Row is a host: a tree of providers. Amounts are sums over the tree, in units of the class.
type Row struct {
	ID   string `json:"id"` // the UUID of the root
	Name string `json:"name"`
	Zone string `json:"zone,omitempty"`
	// State is one of the states, "" when it is not known.
	State     State `json:"state,omitempty"`
	Providers int   `json:"providers"`
	// Aggregates are the UUIDs of those that a provider of the tree is in, sorted.
	Aggregates []string `json:"aggregates,omitempty"`
	// Capacity is what can be allocated in all, by class, and Used what is allocated, without the
	// classes of which nothing is.
	Capacity map[string]int64 `json:"capacity"`
	Used     map[string]int64 `json:"used"`
}

func (r *Row) equal(other *Row) bool {
	return r.Name == other.Name && r.Zone == other.Zone && r.State == other.State && r.Providers == other.Providers &&
		slices.Equal(r.Aggregates, other.Aggregates) && maps.Equal(r.Capacity, other.Capacity) &&
		maps.Equal(r.Used, other.Used)
}

// A Table is the hosts of a cloud at a moment. It does not change.
type Table struct {
	rows  map[string]*Row // by id
	trees map[string]*snapshot.Tree
	hosts map[string]host
}

// A host is what the compute service says of the host of a provider.
type host struct {
	zone  string
	state State
}

// New returns the table of a snapshot. Compute is nil where no compute service was read. Before is
// an earlier table of the same cloud, from which rows of trees that are the same are taken, or nil.
func New(s *snapshot.Snapshot, compute *cloud.Compute, before *Table) *Table {
	t := &Table{
		rows:  make(map[string]*Row, s.TreeCount()),
		trees: make(map[string]*snapshot.Tree, s.TreeCount()),
		hosts: hosts(compute),
	}
	for tree := range s.Trees() {
		id := string(tree.Root().UUID)
		t.trees[id] = tree
		if before != nil && before.trees[id] == tree && before.hosts[id] == t.hosts[id] {
			t.rows[id] = before.rows[id]
			continue
		}
		t.rows[id] = newRow(s, tree, t.hosts[id])
	}
	return t
}

// hosts returns what is known of hosts, by the UUID of their compute node, which is the root.
func hosts(c *cloud.Compute) map[string]host {
	known := map[string]host{}
	if c == nil {
		return known
	}
	services := map[string]host{}
	for i := range c.Services {
		service := &c.Services[i]
		if service.Binary != "nova-compute" {
			continue
		}
		h := host{zone: service.Zone, state: State(service.State)}
		if service.Status == "disabled" {
			h.state = Disabled
		}
		services[service.Host] = h
	}
	for i := range c.Hypervisors {
		if h, ok := services[c.Hypervisors[i].Host]; ok {
			known[c.Hypervisors[i].UUID] = h
		}
	}
	return known
}

func newRow(s *snapshot.Snapshot, tree *snapshot.Tree, h host) *Row {
	root := tree.Root()
	r := &Row{
		ID: string(root.UUID), Name: root.Name, Zone: h.zone, State: h.state, Providers: len(tree.Providers),
		Capacity: map[string]int64{}, Used: map[string]int64{},
	}
	if root.Shares && r.State == "" {
		r.State = Sharing
	}
	aggregates := map[placement.AggregateID]bool{}
	for _, p := range tree.Providers {
		for i := range p.Inventories {
			inventory := &p.Inventories[i]
			class := s.ClassName(inventory.Class)
			r.Capacity[class] += inventory.Capacity()
			if inventory.Used > 0 {
				r.Used[class] += inventory.Used
			}
		}
		for _, id := range p.Aggregates {
			aggregates[id] = true
		}
	}
	for id := range aggregates {
		r.Aggregates = append(r.Aggregates, string(s.AggregateUUID(id)))
	}
	slices.Sort(r.Aggregates)
	return r
}

// Row returns the row of a root provider, nil when there is none. It must not be changed.
func (t *Table) Row(id string) *Row { return t.rows[id] }

// Rows returns all rows, by name and then by id. They must not be changed.
func (t *Table) Rows() []*Row {
	return slices.SortedFunc(maps.Values(t.rows), func(a, b *Row) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// Changes are the differences of two tables.
type Changes struct {
	// Changed are the rows that are new or not as before, by id, and Removed the ids of those that
	// there are no more, sorted.
	Changed []Row    `json:"changed"`
	Removed []string `json:"removed"`
}

// Empty reports whether the tables are the same.
func (c Changes) Empty() bool { return len(c.Changed) == 0 && len(c.Removed) == 0 }

// Since returns what is different from an earlier table.
func (t *Table) Since(before *Table) Changes {
	c := Changes{Changed: []Row{}, Removed: []string{}}
	for id, row := range t.rows {
		if old := before.rows[id]; old != row && (old == nil || !row.equal(old)) {
			c.Changed = append(c.Changed, *row)
		}
	}
	slices.SortFunc(c.Changed, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	for id := range before.rows {
		if t.rows[id] == nil {
			c.Removed = append(c.Removed, id)
		}
	}
	slices.Sort(c.Removed)
	return c
}

// Columns are the rows of a table in columns, which are smaller and read faster: element i of each
// is that of row i.
type Columns struct {
	ID        []string `json:"id"`
	Name      []string `json:"name"`
	Zone      []string `json:"zone"`
	State     []State  `json:"state"`
	Providers []int    `json:"providers"`
	// Aggregates are indexes into AggregateIDs.
	Aggregates   [][]int  `json:"aggregates"`
	AggregateIDs []string `json:"aggregate_ids"`
	// Classes are those of which any host has something, sorted; Capacity and Used have a column for
	// each.
	Classes  []string  `json:"classes"`
	Capacity [][]int64 `json:"capacity"`
	Used     [][]int64 `json:"used"`
}

// Columns returns the rows in columns, in the order of [Table.Rows].
func (t *Table) Columns() *Columns {
	rows := t.Rows()
	c := &Columns{
		ID: make([]string, len(rows)), Name: make([]string, len(rows)), Zone: make([]string, len(rows)),
		State: make([]State, len(rows)), Providers: make([]int, len(rows)), Aggregates: make([][]int, len(rows)),
		AggregateIDs: []string{}, Classes: []string{}, Capacity: [][]int64{}, Used: [][]int64{},
	}
	classes, aggregates := map[string]bool{}, map[string]int{}
	for _, row := range rows {
		for class := range row.Capacity {
			classes[class] = true
		}
		for _, id := range row.Aggregates {
			aggregates[id] = 0
		}
	}
	c.Classes = slices.AppendSeq(c.Classes, maps.Keys(classes))
	slices.Sort(c.Classes)
	c.AggregateIDs = slices.AppendSeq(c.AggregateIDs, maps.Keys(aggregates))
	slices.Sort(c.AggregateIDs)
	for i, id := range c.AggregateIDs {
		aggregates[id] = i
	}
	for range c.Classes {
		c.Capacity = append(c.Capacity, make([]int64, len(rows)))
		c.Used = append(c.Used, make([]int64, len(rows)))
	}
	for i, row := range rows {
		c.ID[i], c.Name[i], c.Zone[i], c.State[i], c.Providers[i] = row.ID, row.Name, row.Zone, row.State, row.Providers
		c.Aggregates[i] = []int{}
		for _, id := range row.Aggregates {
			c.Aggregates[i] = append(c.Aggregates[i], aggregates[id])
		}
		for k, class := range c.Classes {
			c.Capacity[k][i], c.Used[k][i] = row.Capacity[class], row.Used[class]
		}
	}
	return c
}
