package sqlstore

import (
	"cmp"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// usageJoins leads from the allocations to the project, and to the user where
// one is requested, of their consumers.
const (
	usageJoins = `
FROM allocations a
JOIN consumers c ON c.uuid = a.consumer_id
JOIN projects p ON p.id = c.project_id
LEFT JOIN consumer_types t ON t.id = c.consumer_type_id`
	usageUserJoin = `
JOIN users u ON u.id = c.user_id`
	usageWhere = `
WHERE p.external_id = ?`
	usageUserWhere = `
AND u.external_id = ?`
)

// ProjectUsage sorts here, since the databases do not agree on the place of NULL. A type that is
// NULL reads as the empty text, which the wire package shows as unknown (microversion 1.38).
func (r *reader) ProjectUsage(project, user string) (placement.ProjectUsage, error) {
	from, args := usageJoins+usageWhere, []any{project}
	if user != "" {
		from, args = usageJoins+usageUserJoin+usageWhere+usageUserWhere, []any{project, user}
	}
	rows, err := sqlconn.List(r.Tx, readUsage, `
SELECT
    a.resource_class_id,
    t.name,
    SUM(a.used)`+from+`
GROUP BY a.resource_class_id, t.name`, args...)
	if err != nil {
		return placement.ProjectUsage{}, err
	}
	slices.SortFunc(rows, func(a, b placement.UsageRow) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Type, b.Type))
	})
	usage := placement.ProjectUsage{Rows: rows, Consumers: map[string]int64{}}
	err = r.Each(func(one *sqlconn.Row) { usage.Consumers[one.Text(0)] = one.Int(1) }, `
SELECT
    t.name,
    COUNT(DISTINCT a.consumer_id)`+from+`
GROUP BY t.name`, args...)
	return usage, err
}

func readUsage(r *sqlconn.Row) placement.UsageRow {
	return placement.UsageRow{
		Class: placement.ClassID(r.Int(0)),
		Type:  r.Text(1),
		Used:  r.Int(2),
	}
}
