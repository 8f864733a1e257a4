package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// allocationFields are what readAllocation reads. The tables are p, resource_providers; a,
// allocations; and c, consumers, which may have no row.
const allocationFields = `
SELECT
    p.id,
    p.uuid,
    p.generation,
    a.consumer_id,
    c.generation,
    a.resource_class_id,
    a.used,
    COALESCE(a.updated_at, a.created_at)`

func readAllocation(r *sqlconn.Row) placement.AllocationRow {
	return placement.AllocationRow{
		Provider:           r.Int(0),
		ProviderUUID:       uuid(r, 1),
		ProviderGeneration: generation(r, 2),
		Consumer:           uuid(r, 3),
		ConsumerGeneration: generation(r, 4),
		Class:              placement.ClassID(r.Int(5)),
		Used:               r.Int(6),
		Modified:           r.Time(7),
	}
}

// AllocationsOf returns what a consumer has allocated, and the consumer's row, which may be
// missing: the first releases of upstream's service did not keep consumers.
func (r *reader) AllocationsOf(consumer placement.UUID) (placement.ConsumerAllocations, error) {
	list, err := r.consumersWhere(`
WHERE a.consumer_id = ?`, consumer)
	var h placement.ConsumerAllocations
	for _, part := range list { // one, unless the database takes several spellings of a UUID for the same
		h.Consumer, h.Allocations = part.Consumer, append(h.Allocations, part.Allocations...)
	}
	return h, err
}

// AllocationsIn is one statement, whatever the size of the tree.
func (r *reader) AllocationsIn(root int64) ([]placement.ConsumerAllocations, error) {
	return r.consumersWhere(`
WHERE a.consumer_id IN (
    SELECT i.consumer_id
    FROM resource_providers r
    JOIN allocations i ON i.resource_provider_id = r.id
    WHERE r.root_provider_id = ?)`, root)
}

// consumersWhere lists consumers with their allocations, those that a condition selects.
func (r *reader) consumersWhere(where string, args ...any) (list []placement.ConsumerAllocations, err error) {
	err = r.Each(func(one *sqlconn.Row) {
		allocation := readAllocation(one)
		if n := len(list); n == 0 || list[n-1].Consumer.UUID != allocation.Consumer {
			list = append(list, placement.ConsumerAllocations{Consumer: placement.ConsumerRow{
				ID:         one.Int(8),
				UUID:       allocation.Consumer,
				Generation: allocation.ConsumerGeneration,
				Project:    one.Text(9),
				User:       one.Text(10),
				Type:       one.Text(11),
			}})
		}
		last := &list[len(list)-1]
		last.Allocations = append(last.Allocations, allocation)
	}, allocationFields+`,
    c.id,
    o.external_id,
    u.external_id,
    t.name
FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id
LEFT JOIN consumers c ON c.uuid = a.consumer_id
LEFT JOIN projects o ON o.id = c.project_id
LEFT JOIN users u ON u.id = c.user_id
LEFT JOIN consumer_types t ON t.id = c.consumer_type_id`+where+`
ORDER BY a.consumer_id, a.id`, args...)
	return list, err
}

// AllocationsOn reads the provider and its allocations in one statement, so that the generation is
// that of the same state also where a statement sees what others commit meanwhile.
func (r *reader) AllocationsOn(provider placement.UUID) ([]placement.AllocationRow, placement.Generation, error) {
	all, err := sqlconn.List(r.Tx, readAllocation, allocationFields+`
FROM resource_providers p
LEFT JOIN allocations a ON a.resource_provider_id = p.id
LEFT JOIN consumers c ON c.uuid = a.consumer_id
WHERE p.uuid = ?
ORDER BY a.id`, provider)
	switch {
	case err != nil:
		return nil, 0, err
	case len(all) == 0:
		return nil, 0, placement.ErrNoRow
	case all[0].Consumer == "": // the provider alone
		return nil, all[0].ProviderGeneration, nil
	}
	return all, all[0].ProviderGeneration, nil
}

func (r *reader) AllocatedClasses(provider int64) ([]placement.ClassID, error) {
	return sqlconn.List(r.Tx, func(one *sqlconn.Row) placement.ClassID { return placement.ClassID(one.Int(0)) }, `
SELECT DISTINCT resource_class_id
FROM allocations
WHERE resource_provider_id = ?
ORDER BY resource_class_id`, provider)
}
