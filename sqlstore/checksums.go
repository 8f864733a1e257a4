package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// bucket is the first id of the checksum that an id belongs to. The number is
// placement.ChecksumSize.
func bucket(id string) string { return id + ` - ` + id + ` % 128` }

// Checksums sums up in the database, a statement per table, so that only the sums
// are sent.
func (r *reader) Checksums() ([]placement.Checksum, error) {
	all := make(map[int64]*placement.Checksum)
	values := func(one *sqlconn.Row) *placement.Checksum {
		first := one.Int(0)
		if all[first] == nil {
			all[first] = &placement.Checksum{First: first}
		}
		return all[first]
	}
	for _, part := range []struct {
		query string
		add   func(*placement.Checksum, *sqlconn.Row)
	}{
		{providerChecksums, addProviders},
		{inventoryChecksums, addInventories},
		{usageChecksums, addClassUsage},
		{
			linkChecksums("resource_provider_traits", "trait_id"),
			func(d *placement.Checksum, one *sqlconn.Row) { d.Traits, d.TraitIDs = one.Int(1), one.Int(2) },
		},
		{
			linkChecksums("resource_provider_aggregates", "aggregate_id"),
			func(d *placement.Checksum, one *sqlconn.Row) { d.Aggregates, d.AggregateIDs = one.Int(1), one.Int(2) },
		},
	} {
		if err := r.Each(func(one *sqlconn.Row) { part.add(values(one), one) }, part.query); err != nil {
			return nil, err
		}
	}
	out := make([]placement.Checksum, 0, len(all))
	for _, d := range all {
		out = append(out, *d)
	}
	return out, nil
}

// providerChecksums sums up what addProviders reads. Lengths are in bytes on all three databases.
// NULL is what upstream's columns allow and its code does not write.
var providerChecksums = `
SELECT
    ` + bucket("id") + `,
    COUNT(*),
    SUM(COALESCE(generation, 0)),
    SUM(COALESCE(root_provider_id, id)),
    SUM(COALESCE(parent_provider_id, 0)),
    SUM(OCTET_LENGTH(COALESCE(name, ''))),
    MAX(COALESCE(updated_at, created_at))
FROM resource_providers
GROUP BY ` + bucket("id")

// addProviders takes in a row of providerChecksums: the only one of its bucket.
func addProviders(d *placement.Checksum, one *sqlconn.Row) {
	d.Providers, d.Generations = one.Int(1), one.Int(2)
	d.Roots, d.Parents, d.NameLengths = one.Int(3), one.Int(4), one.Int(5)
	if t := one.Time(6); !t.IsZero() {
		d.Modified = t.Unix()
	}
}

// inventoryChecksums sums up what addInventories reads. Ratios are rounded before they are summed,
// since MySQL keeps them with single precision.
var inventoryChecksums = `
SELECT
    ` + bucket("resource_provider_id") + `,
    COUNT(*),
    SUM(resource_class_id),
    SUM(total),
    SUM(reserved),
    SUM(min_unit),
    SUM(max_unit),
    SUM(step_size),
    SUM(ROUND(allocation_ratio * 1000))
FROM inventories
GROUP BY ` + bucket("resource_provider_id")

// addInventories takes in a row of inventoryChecksums: the only one of its bucket.
func addInventories(d *placement.Checksum, one *sqlconn.Row) {
	d.Inventories, d.Classes = one.Int(1), one.Int(2)
	d.Total, d.Reserved = one.Int(3), one.Int(4)
	d.MinUnit, d.MaxUnit, d.StepSize = one.Int(5), one.Int(6), one.Int(7)
	d.Ratios = one.Int(8)
}

// usageChecksums is answered from the index on provider, class and used.
var usageChecksums = `
SELECT
    ` + bucket("resource_provider_id") + `,
    resource_class_id,
    SUM(used)
FROM allocations
GROUP BY ` + bucket("resource_provider_id") + `, resource_class_id`

// addClassUsage takes in a row of usageChecksums, of which a bucket has one for each class.
func addClassUsage(d *placement.Checksum, one *sqlconn.Row) {
	d.Used += one.Int(2)
	d.UsedByClass += one.Int(2) * placement.ChecksumWeight(placement.ClassID(one.Int(1)))
}

// linkChecksums counts the rows of a table that links providers to something, and sums up its ids.
func linkChecksums(table, id string) string {
	return `
SELECT
    ` + bucket("resource_provider_id") + `,
    COUNT(*),
    SUM(` + id + `)
FROM ` + table + `
GROUP BY ` + bucket("resource_provider_id")
}

// RootsBetween takes a provider without a root, of a release before upstream kept it, for its own.
func (r *reader) RootsBetween(from, to int64) ([]int64, error) {
	return sqlconn.List(r.Tx, sqlconn.Integer, `
SELECT DISTINCT COALESCE(root_provider_id, id) AS root
FROM resource_providers
WHERE id >= ? AND id < ?
ORDER BY root`, from, to)
}
