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

// An Owner is a row that a consumer points at by the name it has outside.
type Owner struct{ Table, Column string }

var (
	Projects      = Owner{"projects", "external_id"}
	Users         = Owner{"users", "external_id"}
	consumerTypes = Owner{"consumer_types", "name"}
)

// Ensure makes the row of that name and returns its id, or that of the row that
// another program made in between.
func (o Owner) Ensure(t *sqlconn.Tx, name string) (int64, error) {
	id, clash, err := t.Insert(`INSERT INTO `+o.Table+` (created_at, `+o.Column+`) VALUES (?, ?)`, t.Written, name)
	if err != nil || !clash {
		return id, err
	}
	id, err = sqlconn.First(t, sqlconn.Integer,
		`SELECT id FROM `+o.Table+` WHERE `+o.Column+` = ?`, name)
	return id, noRow(err)
}

// owners are the ids of what a consumer points at; kind is 0 without a type.
type owners struct{ project, user, kind int64 }

// owners finds them in one question and makes those that are not there.
func (w *writer) owners(c placement.ConsumerRow) (owners, error) {
	o, err := first(&w.reader, func(one *sqlconn.Row) owners { return owners{one.Int(0), one.Int(1), one.Int(2)} }, `
SELECT
    (SELECT id FROM projects WHERE external_id = ?),
    (SELECT id FROM users WHERE external_id = ?),
    (SELECT id FROM consumer_types WHERE name = ?)`, c.Project, c.User, c.Type)
	if err == nil && o.project == 0 {
		o.project, err = Projects.Ensure(w.Tx, c.Project)
	}
	if err == nil && o.user == 0 {
		o.user, err = Users.Ensure(w.Tx, c.User)
	}
	if err == nil && o.kind == 0 && c.Type != "" {
		o.kind, err = consumerTypes.Ensure(w.Tx, c.Type)
	}
	if c.Type == "" {
		o.kind = 0
	}
	return o, err
}

func (w *writer) InsertConsumer(c placement.ConsumerRow) (int64, error) {
	o, err := w.owners(c)
	if err != nil {
		return 0, err
	}
	id, clash, err := w.Insert(`
INSERT INTO consumers (created_at, uuid, project_id, user_id, generation, consumer_type_id)
VALUES (?, ?, ?, ?, 0, ?)`, w.Written, c.UUID, o.project, o.user, orNull(o.kind))
	if clash {
		return 0, placement.ErrUUIDTaken
	}
	return id, err
}

func (w *writer) UpdateConsumer(c placement.ConsumerRow) error {
	o, err := w.owners(c)
	if err != nil {
		return err
	}
	return w.change(`
UPDATE consumers
SET project_id = ?, user_id = ?, consumer_type_id = ?, updated_at = ?
WHERE id = ?`, o.project, o.user, orNull(o.kind), w.Written, c.ID)
}

func (w *writer) BumpConsumer(consumer int64, from placement.Generation) error {
	return stale(w.change(`
UPDATE consumers
SET generation = ?, updated_at = ?
WHERE id = ? AND generation = ?`, from+1, w.Written, consumer, from))
}

func (w *writer) DeleteConsumer(consumer int64, from placement.Generation) error {
	return stale(w.change(`
DELETE FROM consumers
WHERE id = ? AND generation = ?`, consumer, from))
}
