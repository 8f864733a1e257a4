package sqlstore

import (
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// aggregateColumns are what readAggregate reads.
const aggregateColumns = `
SELECT
    l.resource_provider_id,
    l.aggregate_id,
    g.uuid
FROM resource_provider_aggregates l
JOIN placement_aggregates g ON g.id = l.aggregate_id`

func readAggregate(r *sqlconn.Row) placement.AggregateRow {
	return placement.AggregateRow{
		Provider: r.Int(0),
		ID:       placement.AggregateID(r.Int(1)),
		UUID:     uuid(r, 2),
	}
}

func (r *reader) ProviderAggregates(provider int64) ([]placement.AggregateRow, error) {
	return sqlconn.List(r.Tx, readAggregate, aggregateColumns+`
WHERE l.resource_provider_id = ?
ORDER BY l.aggregate_id`, provider)
}

// AddProviderAggregates leaves links that are there alone.
func (w *writer) AddProviderAggregates(provider int64, aggregates ...placement.UUID) error {
	if err := w.ensureAggregates(aggregates); err != nil {
		return err
	}
	var missing []int64
	err := sqlconn.InList(aggregates, func(marks string, args []any) error {
		ids, err := sqlconn.List(w.Tx, sqlconn.Integer, `
SELECT g.id
FROM placement_aggregates g
LEFT JOIN resource_provider_aggregates l ON l.aggregate_id = g.id AND l.resource_provider_id = ?
WHERE l.aggregate_id IS NULL
AND g.uuid IN (`+marks+`)
ORDER BY g.id`, append([]any{provider}, args...)...)
		missing = append(missing, ids...)
		return err
	})
	if err != nil {
		return err
	}
	return w.link(`resource_provider_aggregates (created_at, resource_provider_id, aggregate_id)`, provider, missing)
}

// link joins a provider to many things; into names the table and its columns. The caller knows that
// none of the links exists: a clash is an error that ends the transaction. The columns after
// created_at are the provider and the thing.
func (w *writer) link(into string, provider int64, ids []int64) error {
	for part := range slices.Chunk(ids, insertChunk) {
		args := make([]any, 0, 3*len(part))
		for _, id := range part {
			args = append(args, w.Written(), provider, id)
		}
		if _, err := w.Exec(`
INSERT INTO `+into+`
VALUES `+sqlconn.Tuples(len(part), 3), args...); err != nil {
			return err
		}
	}
	return nil
}

// ensureAggregates makes those that do not exist, in the order in which they
// are named. Rows of aggregates without members stay, as in upstream.
func (w *writer) ensureAggregates(aggregates []placement.UUID) error {
	known := make(map[placement.UUID]bool)
	have, err := sqlconn.ListIn(w.Tx, func(one *sqlconn.Row) placement.UUID { return uuid(one, 0) }, `
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
		if _, _, err := w.Insert(`
INSERT INTO placement_aggregates (created_at, uuid)
VALUES (?, ?)`, w.Written(), uuid); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) RemoveProviderAggregates(provider int64, aggregates ...placement.AggregateID) error {
	_, err := sqlconn.ExecIn(w.Tx, `
DELETE FROM resource_provider_aggregates
WHERE resource_provider_id = ?
AND aggregate_id IN (`, aggregates, `)`, provider)
	return err
}
