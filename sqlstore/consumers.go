package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

func readConsumer(r *sqlconn.Row) placement.ConsumerRow {
	return placement.ConsumerRow{
		ID:         r.Int(0),
		UUID:       uuid(r, 1),
		Generation: generation(r, 2),
		Project:    r.Text(3),
		User:       r.Text(4),
		Type:       r.Text(5),
	}
}

// consumerColumns are what readConsumer reads.
const consumerColumns = `
SELECT
    c.id,
    c.uuid,
    c.generation,
    p.external_id,
    u.external_id,
    t.name
FROM consumers c
LEFT JOIN projects p ON p.id = c.project_id
LEFT JOIN users u ON u.id = c.user_id
LEFT JOIN consumer_types t ON t.id = c.consumer_type_id`

func (r *reader) Consumer(uuid placement.UUID) (placement.ConsumerRow, error) {
	return first(r, readConsumer, consumerColumns+`
WHERE c.uuid = ?`, uuid)
}

func (r *reader) Consumers(uuids ...placement.UUID) (list []placement.ConsumerRow, err error) {
	err = sqlconn.InList(uuids, func(marks string, args []any) error {
		part, err := sqlconn.List(r.Tx, readConsumer, consumerColumns+`
WHERE c.uuid IN (`+marks+`)`, args...)
		list = append(list, part...)
		return err
	})
	return list, err
}

// An Owner is a row that a consumer points at by the name it has outside.
type Owner struct{ Table, Column string }

var (
	// Projects and Users are exported for tools that fill in consumers which have none.
	Projects      = Owner{"projects", "external_id"}
	Users         = Owner{"users", "external_id"}
	consumerTypes = Owner{"consumer_types", "name"}
)

// Ensure makes the row of that name and returns its id, or that of the row that
// another program made in between.
func (o Owner) Ensure(t *sqlconn.Tx, name string) (int64, error) {
	id, clash, err := t.Insert(`INSERT INTO `+o.Table+` (created_at, `+o.Column+`) VALUES (?, ?)`, t.Written(), name)
	if err != nil || !clash {
		return id, err
	}
	id, err = sqlconn.First(t, sqlconn.Integer,
		`SELECT id FROM `+o.Table+` WHERE `+o.Column+` = ?`, name)
	return id, noRow(err)
}
