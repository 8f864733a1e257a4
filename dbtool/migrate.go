package dbtool

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Ready refuses a database without upstream's tables at a revision that is known:
// there is nothing to migrate. The first revision is good enough.
func (t *Tables) Ready(ctx context.Context) error {
	return t.Read(ctx, func(r *sqlconn.Tx) error {
		at, err := t.schema.Revision(r)
		if err == nil && at == "" {
			err = errNothing
		}
		return err
	})
}

// SetRoots gives at most so many providers without a root the one they have, and
// returns how many those were. It works at every revision and while services
// run. Upstream makes such a provider its own root, also below a parent; here it
// gets the root of its parent then.
func (t *Tables) SetRoots(ctx context.Context, most int) (done int, err error) {
	err = t.Attempt(ctx, func(w *sqlconn.Tx) error {
		done = 0
		rootless, err := sqlconn.List(w, readKin, `
SELECT
    id,
    COALESCE(parent_provider_id, 0),
    0
FROM resource_providers
WHERE root_provider_id IS NULL
ORDER BY id
LIMIT ?`, most)
		if err != nil {
			return err
		}
		for _, k := range rootless {
			n, err := setRoot(w, k)
			if err != nil {
				return err
			}
			done += n
		}
		return nil
	})
	return done, err
}

// kin is how a provider is related.
type kin struct{ id, parent, root int64 }

func readKin(one *sqlconn.Row) kin { return kin{one.Int(0), one.Int(1), one.Int(2)} }

// deepest bounds the way from a provider to its root, which may go round in
// circles.
const deepest = 1000

// setRoot looks upwards until there is no parent, or one that has a root.
func setRoot(w *sqlconn.Tx, k kin) (int, error) {
	root, parent := k.id, k.parent
	for n := 0; parent != 0 && n < deepest; n++ {
		up, err := sqlconn.First(w, readKin, `
SELECT
    id,
    COALESCE(parent_provider_id, 0),
    COALESCE(root_provider_id, 0)
FROM resource_providers
WHERE id = ?`, parent)
		if errors.Is(err, sqlconn.ErrNoRow) {
			break
		}
		if err != nil {
			return 0, err
		}
		root, parent = up.id, up.parent
		if up.root != 0 {
			root, parent = up.root, 0
		}
	}
	if parent != 0 {
		root = k.id // a circle: Check tells of it
	}
	return w.Exec(`
UPDATE resource_providers
SET root_provider_id = ?
WHERE id = ? AND root_provider_id IS NULL`, root, k.id)
}

// CreateConsumers makes at most so many of the consumers that allocations name
// and that are not there, as the project's and user's with the given ids, and
// returns how many it made. It works at every revision and while services run.
func (t *Tables) CreateConsumers(ctx context.Context, most int, project, user string) (done int, err error) {
	err = t.Attempt(ctx, func(w *sqlconn.Tx) error {
		done = 0
		missing, err := sqlconn.List(w, func(one *sqlconn.Row) string { return one.Text(0) }, `
SELECT a.consumer_id
FROM allocations a
LEFT JOIN consumers c ON c.uuid = a.consumer_id
WHERE c.id IS NULL
GROUP BY a.consumer_id
ORDER BY a.consumer_id
LIMIT ?`, most)
		if err != nil || len(missing) == 0 {
			return err
		}
		done, err = incomplete(w, missing, project, user)
		return err
	})
	return done, err
}

// incomplete makes consumers of which nothing is known.
func incomplete(w *sqlconn.Tx, uuids []string, project, user string) (done int, err error) {
	p, err := findOwner(w, sqlstore.Projects, project)
	if err != nil {
		return 0, err
	}
	u, err := findOwner(w, sqlstore.Users, user)
	if err != nil {
		return 0, err
	}
	for _, uuid := range uuids {
		_, clash, err := w.Insert(`
INSERT INTO consumers (created_at, uuid, project_id, user_id, generation)
VALUES (?, ?, ?, ?, 0)`, w.Written, uuid, p, u)
		if err != nil {
			return 0, err
		}
		if !clash { // a service was faster
			done++
		}
	}
	return done, nil
}

// findOwner returns the id of the row of that name, which it makes when there is none.
func findOwner(w *sqlconn.Tx, o sqlstore.Owner, name string) (int64, error) {
	id, err := sqlconn.First(w, sqlconn.Integer, `SELECT id FROM `+o.Table+` WHERE `+o.Column+` = ?`, name)
	if errors.Is(err, sqlconn.ErrNoRow) {
		return o.Ensure(w, name)
	}
	return id, err
}
