package clouds

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/berthcloud/berth/placement"
)

// The owner of all consumers.
const (
	project      = "4c1c0d5e8f5f4d2c9f0f3c2b1a0d9e8f"
	user         = "9d2f7a6b5c4e4f3d8e2a1b0c7f6e5d4c"
	consumerType = "INSTANCE"
)

// rows yields the rows of one of upstream's tables, each with all columns in their order: nil,
// int64, float64, string or time.Time. They are in the order of their keys, and a row is valid
// until the next.
func (w *Cloud) rows(table string) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		t := &tableRows{yield: yield}
		switch table {
		case "resource_classes":
			t.names(w.classes)
		case "traits":
			t.names(w.traits)
		case "consumer_types":
			t.row(epoch, false, int64(1), consumerType)
		case "projects":
			t.row(epoch, false, int64(1), project)
		case "users":
			t.row(epoch, false, int64(1), user)
		case "placement_aggregates":
			t.aggregates(w.aggregates)
		case "resource_providers":
			t.providers(w.picture.Providers)
		case "resource_provider_traits":
			t.traits(w.picture.Traits)
		case "resource_provider_aggregates":
			t.links(w.picture.Aggregates)
		case "inventories":
			t.inventories(w.picture.Inventories)
		case "consumers":
			t.consumers(w.consumers)
		case "allocations":
			t.allocations(w.consumers)
		}
	}
}

// tableRows yields rows until the consumer stops.
type tableRows struct {
	yield func([]any) bool
	over  bool
	buf   []any
}

// row yields the values followed by the times of creation and change.
func (t *tableRows) row(created time.Time, changed bool, values ...any) {
	if t.over {
		return
	}
	t.buf = append(t.buf[:0], created, nil)
	if changed {
		t.buf[1] = created
	}
	t.buf = append(t.buf, values...)
	t.over = !t.yield(t.buf)
}

func (t *tableRows) names(all []placement.Named) {
	for _, n := range all {
		t.row(n.Modified, false, int64(n.ID), n.Name)
	}
}

func (t *tableRows) aggregates(all []placement.UUID) {
	for i, uuid := range all {
		t.row(epoch, false, int64(i+1), string(uuid))
	}
}

func (t *tableRows) providers(all []placement.ProviderRow) {
	for _, p := range all {
		var parent any
		if p.Parent > 0 {
			parent = p.Parent
		}
		t.row(p.Modified, p.Updated, p.ID, string(p.UUID), p.Name, int64(p.Generation), p.Root, parent)
	}
}

// traits are in the order of their key, which begins with the trait.
func (t *tableRows) traits(all []placement.ProviderTraitRow) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b placement.ProviderTraitRow) int {
		return cmp.Or(cmp.Compare(a.Trait, b.Trait), cmp.Compare(a.Provider, b.Provider))
	})
	for _, l := range all {
		t.row(epoch, false, int64(l.Trait), l.Provider)
	}
}

func (t *tableRows) links(all []placement.AggregateRow) {
	for _, l := range all {
		t.row(epoch, false, l.Provider, int64(l.ID))
	}
}

func (t *tableRows) inventories(all []placement.InventoryRow) {
	for i, r := range all {
		t.row(r.Modified, false, int64(i+1), r.Provider, int64(r.Class),
			r.Total, r.Reserved, r.MinUnit, r.MaxUnit, r.StepSize, r.AllocationRatio)
	}
}

// consumers are as after their first claim.
func (t *tableRows) consumers(all []consumer) {
	for i, c := range all {
		t.row(epoch, true, int64(i+1), string(c.uuid), int64(1), int64(1), int64(1), int64(1))
	}
}

func (t *tableRows) allocations(all []consumer) {
	id := int64(0)
	for _, c := range all {
		for _, h := range c.allocated {
			id++
			t.row(epoch, false, id, h.provider, string(c.uuid), int64(h.class), h.amount)
		}
	}
}
