package sqlstore

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/placement"
)

// providerTraitColumns are what readProviderTrait reads.
const providerTraitColumns = `
SELECT
    l.resource_provider_id,
    l.trait_id
FROM resource_provider_traits l`

// The orders of the parts of a picture.
const (
	providerOrder = `
ORDER BY p.id`
	providerTraitOrder = `
ORDER BY l.resource_provider_id, l.trait_id`
	aggregateOrder = `
ORDER BY l.resource_provider_id, l.aggregate_id`
)

func (r *reader) Picture(roots []int64) (placement.Picture, error) {
	pic := placement.Picture{FoldCase: r.ses.d.foldCase, FoldLike: r.ses.d.foldLike}
	var err error
	if roots == nil && r.progress != nil {
		if err := r.countRows(); err != nil {
			return pic, err
		}
		defer func() { r.heard = nil }()
	}
	if pic.Providers, err = part(r, readProvider, roots, providerColumns, "", providerOrder); err != nil {
		return pic, err
	}
	if pic.Inventories, err = part(r, readInventory, roots, inventoryColumns, "i", inventoryOrder); err != nil {
		return pic, err
	}
	if pic.Traits, err = part(r, readProviderTrait, roots, providerTraitColumns, "l", providerTraitOrder); err != nil {
		return pic, err
	}
	if pic.Aggregates, err = part(r, readAggregate, roots, aggregateColumns, "l", aggregateOrder); err != nil {
		return pic, err
	}
	if len(roots) > chunk {
		sortPicture(&pic)
	}
	return pic, nil
}

// countRows makes the reader tell how far it is with the tables of a picture.
func (r *reader) countRows() error {
	total, err := first(r, integer, `
SELECT
    (SELECT COUNT(*) FROM resource_providers)
    + (SELECT COUNT(*) FROM inventories)
    + (SELECT COUNT(*) FROM resource_provider_traits)
    + (SELECT COUNT(*) FROM resource_provider_aggregates)`)
	if err != nil {
		return err
	}
	read := int64(0)
	r.heard = func(rows int) {
		read += int64(rows)
		r.progress(read, total)
	}
	return nil
}

// part reads one kind of row, of all providers or of those under the roots.
// Alias names the table to join the providers to, none when they are the rows.
func part[T any](r *reader, read func(*row) T, roots []int64, head, alias, order string) ([]T, error) {
	if roots == nil {
		return list(r, read, head+order)
	}
	if alias != "" {
		head += `
JOIN resource_providers p ON p.id = ` + alias + `.resource_provider_id`
	}
	return listIn(r, read, head+`
WHERE p.root_provider_id IN (`, roots, `)`+order)
}

// sortPicture puts a picture that was read in chunks into one order.
func sortPicture(pic *placement.Picture) {
	slices.SortFunc(pic.Providers, func(a, b placement.ProviderRow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(pic.Inventories, func(a, b placement.InventoryRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Class, b.Class))
	})
	slices.SortFunc(pic.Traits, func(a, b placement.ProviderTraitRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Trait, b.Trait))
	})
	slices.SortFunc(pic.Aggregates, func(a, b placement.AggregateRow) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
}
