package sqlstore

import "github.com/berthcloud/berth/placement"

const aggregateColumns = `
SELECT
    l.resource_provider_id,
    l.aggregate_id,
    g.uuid
FROM resource_provider_aggregates l
JOIN placement_aggregates g ON g.id = l.aggregate_id`

func readAggregate(r *row) placement.AggregateRow {
	return placement.AggregateRow{
		Provider: r.int(0),
		ID:       placement.AggregateID(r.int(1)),
		UUID:     r.uuid(2),
	}
}

func (r *reader) ProviderAggregates(provider int64) ([]placement.AggregateRow, error) {
	return list(r, readAggregate, aggregateColumns+`
WHERE l.resource_provider_id = ?
ORDER BY l.aggregate_id`, provider)
}

// AddProviderAggregates leaves links that are there alone.
func (w *writer) AddProviderAggregates(provider int64, aggregates ...placement.UUID) error {
	if err := w.ensureAggregates(aggregates); err != nil {
		return err
	}
	_, err := execIn(w, `
INSERT INTO resource_provider_aggregates (created_at, resource_provider_id, aggregate_id)
SELECT ?, p.id, g.id
FROM resource_providers p
CROSS JOIN placement_aggregates g
WHERE p.id = ?
AND NOT EXISTS (
    SELECT 1
    FROM resource_provider_aggregates x
    WHERE x.resource_provider_id = p.id AND x.aggregate_id = g.id
)
AND g.uuid IN (`, aggregates, `)`, w.stamp, provider)
	return err
}

// ensureAggregates makes those that do not exist, in the order in which they
// are named.
func (w *writer) ensureAggregates(aggregates []placement.UUID) error {
	known := make(map[placement.UUID]bool)
	have, err := listIn(&w.reader, func(one *row) placement.UUID { return one.uuid(0) }, `
SELECT uuid
FROM placement_aggregates
WHERE uuid IN (`, aggregates, `)`)
	if err != nil {
		return err
	}
	for _, uuid := range have {
		known[uuid] = true
	}
	for _, uuid := range aggregates {
		if known[uuid] {
			continue
		}
		known[uuid] = true
		// A clash is another program's doing, and as good.
		if _, _, err := w.insert(`
INSERT INTO placement_aggregates (created_at, uuid)
VALUES (?, ?)`, w.stamp, uuid); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) RemoveProviderAggregates(provider int64, aggregates ...placement.AggregateID) error {
	_, err := execIn(w, `
DELETE FROM resource_provider_aggregates
WHERE resource_provider_id = ?
AND aggregate_id IN (`, aggregates, `)`, provider)
	return err
}
