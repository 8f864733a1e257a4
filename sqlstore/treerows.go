package sqlstore

import (
	"cmp"
	"slices"
	"sync"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// providerTraitColumns are what readProviderTrait reads.
const providerTraitColumns = `
SELECT
    l.resource_provider_id,
    l.trait_id
FROM resource_provider_traits l`

// The orders of the parts of a snapshot.
const (
	providerTraitOrder = `
ORDER BY l.resource_provider_id, l.trait_id`
	aggregateOrder = `
ORDER BY l.resource_provider_id, l.aggregate_id`
)

// TreeRows reads each kind of row in a statement of its own, for a part of the roots at a time. In
// a View they are of one state; a writer may rely on what belongs to providers that it has locked.
func (r *reader) TreeRows(roots []int64) (placement.TreeRows, error) {
	all := placement.TreeRows{FoldCase: r.Dialect().FoldCase, FoldLike: r.Dialect().FoldLike}
	if roots == nil {
		return all, r.everything(&all)
	}
	var err error
	if all.Providers, err = readPart(r, readProvider, roots, providerColumns, "", providerOrder); err != nil {
		return all, err
	}
	if all.Inventories, err = readPart(r, readInventory, roots, inventoryColumns, "i", inventoryOrder); err != nil {
		return all, err
	}
	if all.Traits, err = readPart(r, readProviderTrait, roots, providerTraitColumns, "l", providerTraitOrder); err != nil {
		return all, err
	}
	if all.Aggregates, err = readPart(r, readAggregate, roots, aggregateColumns, "l", aggregateOrder); err != nil {
		return all, err
	}
	if len(roots) > sqlconn.Chunk {
		sortTreeRows(&all)
	}
	return all, nil
}

// everything reads the snapshot of all trees. A small one is read on one connection, so that
// writers do not wait.
func (r *reader) everything(all *placement.TreeRows) error {
	counts, err := r.countRows()
	if err != nil {
		return err
	}
	run := r.Sequentially
	if counts.total() >= manyRows {
		run = r.Concurrently
	}
	return r.halves(all, counts, run)
}

// halves reads the inventories, which are half of the work, and the rest.
func (r *reader) halves(
	all *placement.TreeRows, counts rowCounts, run func(one, other func(*sqlconn.Tx) error) error,
) error {
	heard := r.progressOf(counts)
	return run(
		func(t *sqlconn.Tx) error { return (&reader{Tx: t}).allProviders(all, counts, heard) },
		func(t *sqlconn.Tx) error { return (&reader{Tx: t}).allInventories(all, counts, heard) })
}

// manyRows are so many that it is worth keeping others from writing meanwhile.
const manyRows = 100_000

// allProviders reads all providers with their traits and aggregates.
func (r *reader) allProviders(all *placement.TreeRows, counts rowCounts, heard func(rows int)) (err error) {
	r.CountRows(heard)
	defer func() { r.CountRows(nil) }()
	if all.Providers, err = whole(r, readProvider, counts.providers, providerColumns+providerOrder); err != nil {
		return err
	}
	if all.Traits, err = whole(r, readProviderTrait, counts.traits, providerTraitColumns+providerTraitOrder); err != nil {
		return err
	}
	all.Aggregates, err = whole(r, readAggregate, counts.aggregates, aggregateColumns+aggregateOrder)
	return err
}

// allInventories reads all inventories with what is allocated of them.
func (r *reader) allInventories(all *placement.TreeRows, counts rowCounts, heard func(rows int)) (err error) {
	r.CountRows(heard)
	all.Inventories, err = whole(r, readInventory, counts.inventories, unusedColumns+inventoryOrder)
	r.CountRows(nil) // what follows was not counted
	if err != nil {
		return err
	}
	return r.addUsage(all.Inventories)
}

// rowCounts are how many rows there are of each kind.
type rowCounts struct{ providers, inventories, traits, aggregates int64 }

func (c rowCounts) total() int64 { return c.providers + c.inventories + c.traits + c.aggregates }

// countRows counts the rows of all trees.
func (r *reader) countRows() (rowCounts, error) {
	return first(r, func(one *sqlconn.Row) rowCounts {
		return rowCounts{one.Int(0), one.Int(1), one.Int(2), one.Int(3)}
	}, `
SELECT
    (SELECT COUNT(*) FROM resource_providers),
    (SELECT COUNT(*) FROM inventories),
    (SELECT COUNT(*) FROM resource_provider_traits),
    (SELECT COUNT(*) FROM resource_provider_aggregates)`)
}

// progressOf returns what reports how many of the rows have been read, nil when
// there is no progress function. It may be called from several goroutines.
func (r *reader) progressOf(counts rowCounts) func(rows int) {
	if r.progress == nil {
		return nil
	}
	var mu sync.Mutex
	read, total := int64(0), counts.total()
	return func(rows int) {
		mu.Lock()
		defer mu.Unlock()
		read += int64(rows)
		r.progress(read, total)
	}
}

// whole reads all rows of a kind, of which there should be so many. The count only sizes the list:
// rows that were added since are read as well.
func whole[T any](r *reader, read func(*sqlconn.Row) T, count int64, query string) ([]T, error) {
	all := make([]T, 0, count)
	err := r.Each(func(one *sqlconn.Row) { all = append(all, read(one)) }, query)
	return all, err
}

// addUsage adds what is allocated to inventories, which are all there are in the
// order of a snapshot. Adding up what there is takes less time than looking for it
// once for each inventory. Allocations without inventory are passed over.
func (r *reader) addUsage(rows []placement.InventoryRow) error {
	remaining := rows
	return r.Each(func(one *sqlconn.Row) {
		key := placement.InventoryRow{Provider: one.Int(0), Class: placement.ClassID(one.Int(1))}
		for len(remaining) > 0 && compareInventories(&remaining[0], &key) < 0 {
			remaining = remaining[1:]
		}
		if len(remaining) > 0 && compareInventories(&remaining[0], &key) == 0 {
			remaining[0].Used = one.Int(2)
		}
	}, `
SELECT
    resource_provider_id,
    resource_class_id,
    SUM(used)
FROM allocations
GROUP BY resource_provider_id, resource_class_id
ORDER BY resource_provider_id, resource_class_id`)
}

// compareInventories is the order of inventories in a snapshot, by provider and class.
func compareInventories(a, b *placement.InventoryRow) int {
	return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Class, b.Class))
}

// readPart reads one kind of row, of the providers under the roots. Alias names the
// table to join the providers to, none when they are the rows. A provider whose root is NULL is in
// no tree here; everything reads it as its own root.
func readPart[T any](r *reader, read func(*sqlconn.Row) T, roots []int64, head, alias, order string) ([]T, error) {
	if alias != "" {
		head += `
JOIN resource_providers p ON p.id = ` + alias + `.resource_provider_id`
	}
	return sqlconn.ListIn(r.Tx, read, head+`
WHERE p.root_provider_id IN (`, roots, `)`+order)
}

// sortTreeRows puts a snapshot that was read in chunks into one order.
func sortTreeRows(all *placement.TreeRows) {
	slices.SortFunc(all.Providers, func(a, b placement.ProviderRow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(all.Inventories, func(a, b placement.InventoryRow) int { return compareInventories(&a, &b) })
	slices.SortFunc(all.Traits, func(a, b placement.ProviderTraitRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Trait, b.Trait))
	})
	slices.SortFunc(all.Aggregates, func(a, b placement.AggregateRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
}
