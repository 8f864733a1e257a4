package clouds

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// epoch is the creation time of the first row of every cloud.
var epoch = time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC)

// span is the time in which the others were.
const span = 90 * 24 * time.Hour

// A maker builds a cloud row by row.
type maker struct {
	*Cloud
	random  *rand.Rand
	traitID map[string]placement.TraitID
	classID map[string]placement.ClassID
}

// newMaker returns a maker of a cloud that has the standard names and the zones. The kind
// distinguishes two clouds of one seed.
func newMaker(kind, seed uint64, query func(n, more int) string) *maker {
	m := &maker{
		Cloud:   &Cloud{query: query},
		random:  rand.New(rand.NewPCG(seed, kind)),
		traitID: make(map[string]placement.TraitID),
		classID: make(map[string]placement.ClassID),
	}
	for i, name := range placement.StandardClasses {
		m.classes = append(m.classes, placement.Named{ID: int32(i), Name: name, Modified: epoch})
		m.classID[name] = placement.ClassID(i)
	}
	for _, name := range placement.StandardTraits {
		m.trait(name)
	}
	for range zones {
		m.aggregates = append(m.aggregates, m.uuid())
	}
	return m
}

func (m *maker) uuid() placement.UUID { return uuid(m.random) }

// uuid makes a random UUID of version 4.
func uuid(random *rand.Rand) placement.UUID {
	a, b := random.Uint64(), random.Uint64()
	return placement.UUID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffff_ffff_ffff))
}

// moment is when a row was written.
func (m *maker) moment() time.Time {
	return epoch.Add(time.Duration(m.random.Int64N(int64(span))).Truncate(time.Second))
}

// trait returns the id of a trait, which it makes when it is new.
func (m *maker) trait(name string) placement.TraitID {
	id, ok := m.traitID[name]
	if !ok {
		id = placement.TraitID(len(m.traits) + 1)
		m.traitID[name] = id
		m.traits = append(m.traits, placement.Named{ID: int32(id), Name: name, Modified: epoch})
	}
	return id
}

// provider adds a provider below another, 0 for a root, and returns its id.
func (m *maker) provider(parent int64, name string) int64 {
	id := int64(len(m.picture.Providers) + 1)
	p := placement.ProviderRow{
		ID: id, UUID: m.uuid(), Name: name, Parent: parent, Root: id, Modified: m.moment(), Updated: true,
	}
	if parent > 0 {
		p.Root = m.picture.Providers[parent-1].Root
	}
	m.picture.Providers = append(m.picture.Providers, p)
	return id
}

// changed counts a write to a provider, as its generation does.
func (m *maker) changed(id int64) { m.picture.Providers[id-1].Generation++ }

// A stock is inventory of a class.
type stock struct {
	class           string
	total, reserved int64
	ratio           float64
}

// stocks adds all inventories of a provider.
func (m *maker) stocks(id int64, all ...stock) {
	for _, s := range all {
		m.picture.Inventories = append(m.picture.Inventories, placement.InventoryRow{
			Provider: id,
			Class:    m.classID[s.class],
			Inventory: placement.Inventory{
				Total: s.total, Reserved: s.reserved, MinUnit: 1, MaxUnit: s.total, StepSize: 1, AllocationRatio: s.ratio,
			},
			Modified: m.moment(),
		})
	}
	m.changed(id)
}

// has adds all traits of a provider.
func (m *maker) has(id int64, names ...string) {
	first := len(m.picture.Traits)
	for _, name := range names {
		m.picture.Traits = append(m.picture.Traits, placement.ProviderTraitRow{Provider: id, Trait: m.trait(name)})
	}
	slices.SortFunc(m.picture.Traits[first:], func(a, b placement.ProviderTraitRow) int {
		return cmp.Compare(a.Trait, b.Trait)
	})
	m.changed(id)
}

// rackSize is how many hosts share an aggregate besides their zone's, as those of
// a routed network's segment do.
const rackSize = 48

// place adds the nth host to a zone and a rack.
func (m *maker) place(n int, id int64) {
	rack := zones + n/rackSize
	if rack == len(m.aggregates) {
		m.aggregates = append(m.aggregates, m.uuid())
	}
	for _, i := range []int{m.random.IntN(zones), rack} {
		m.picture.Aggregates = append(m.picture.Aggregates, placement.AggregateRow{
			Provider: id, ID: placement.AggregateID(i + 1), UUID: m.aggregates[i],
		})
	}
	m.changed(id)
}

// consume adds a consumer with allocations. The rows of their inventories are among the last that
// were added.
func (m *maker) consume(holdings ...holding) {
	m.consumers = append(m.consumers, consumer{m.uuid(), holdings})
	touched := make(map[int64]bool)
	for _, h := range holdings {
		m.stock(h).Used += h.amount
		if !touched[h.provider] {
			touched[h.provider] = true
			m.changed(h.provider)
		}
	}
}

// stock finds the inventory of a holding.
func (m *maker) stock(h holding) *placement.InventoryRow {
	for i := len(m.picture.Inventories) - 1; i >= 0; i-- {
		if r := &m.picture.Inventories[i]; r.Provider == h.provider && r.Class == h.class {
			return r
		}
	}
	panic(fmt.Sprintf("clouds: provider %d has no inventory of class %d", h.provider, h.class))
}

// host names the nth host as a deployment would.
func host(n int) string { return fmt.Sprintf("compute-%06d.example.org", n) }

// A flavor is a server's resources on its host.
type flavor struct{ cpus, memory, disk int64 }

var flavors = []flavor{{1, 2048, 20}, {2, 4096, 40}, {4, 8192, 40}, {4, 16384, 80}, {8, 16384, 160}}

// flavor picks one.
func (m *maker) flavor() flavor { return flavors[m.random.IntN(len(flavors))] }

// of is a holding by the name of its class.
func (m *maker) of(provider int64, class string, amount int64) holding {
	return holding{provider, m.classID[class], amount}
}

// amounts are the nth variant's amounts in a query: numbers of the same length for all variants.
func amounts(n int) (cpus, memory, disk int) { return 1 + n%4, 1024 + 256*(n/4), 10 + n }
