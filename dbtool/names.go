package dbtool

import (
	"context"
	"strings"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Named is something that a database has. Of a consumer, Name is its project.
type Named struct{ ID, Name string }

// mostNames bounds the consumers that Names lists.
const mostNames = 1000

// Names lists for shells that complete them the "host"s (providers that are the root of a tree),
// the resource "class"es, or the first 1,000 "consumer"s whose UUID begins with a text; nothing of
// another kind. It works at every revision that has them, and while services run.
func (t *Tables) Names(ctx context.Context, kind, begun string) (all []Named, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		all = nil
		add := func(row *sqlconn.Row) { all = append(all, Named{row.Text(0), row.Text(1)}) }
		switch kind {
		case "host":
			return r.Each(add, `SELECT uuid, name FROM resource_providers WHERE parent_provider_id IS NULL`)
		case "class":
			return r.Each(add, `SELECT name, name FROM resource_classes`)
		case "consumer":
		default:
			return nil
		}
		return r.Each(func(row *sqlconn.Row) {
			if strings.HasPrefix(row.Text(0), begun) {
				add(row)
			}
		}, `
SELECT
    c.uuid,
    p.external_id
FROM consumers c
LEFT JOIN projects p ON p.id = c.project_id
WHERE c.uuid >= ?
ORDER BY c.uuid
LIMIT ?`, begun, mostNames)
	})
	return all, err
}
