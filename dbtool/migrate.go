package dbtool

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Ready returns an error unless the database has upstream's tables at a known revision, which may
// be the oldest.
func (t *Tables) Ready(ctx context.Context) error {
	return t.Read(ctx, func(r *sqlconn.Tx) error {
		at, err := t.schema.Revision(r)
		if err == nil && at == "" {
			err = errNothing
		}
		return err
	})
}

// SetRoots sets the root of at most most providers without one, as upstream's migration
// set_root_provider_ids does, and returns their number. It works at every revision and while
// services run. Upstream makes such a provider its own root even when it has a parent; here it gets
// the root of its parent.
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

// kin are the ids of a provider, its parent and its root; 0 for none.
type kin struct{ id, parent, root int64 }

func readKin(one *sqlconn.Row) kin { return kin{one.Int(0), one.Int(1), one.Int(2)} }

// deepest bounds the steps from a provider to its root, since parents may form a loop.
const deepest = 1000

// setRoot follows the parents up to a provider without one, or one that has a root.
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
		root = k.id // a loop: Check reports it
	}
	return w.Exec(`
UPDATE resource_providers
SET root_provider_id = ?
WHERE id = ? AND root_provider_id IS NULL`, root, k.id)
}

// CreateConsumers creates at most most of the consumers that allocations refer to and that do not
// exist, as upstream's migration create_incomplete_consumers does, and returns their number. They
// belong to the given project and user. It works at every revision and while services run.
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

// incomplete creates consumers for UUIDs.
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
VALUES (?, ?, ?, ?, 0)`, w.Written(), uuid, p, u)
		if err != nil {
			return 0, err
		}
		if !clash { // a service was faster
			done++
		}
	}
	return done, nil
}

// findOwner returns the id of the project or user, which it creates when there is none.
func findOwner(w *sqlconn.Tx, o sqlstore.Owner, name string) (int64, error) {
	id, err := sqlconn.First(w, sqlconn.Integer, `SELECT id FROM `+o.Table+` WHERE `+o.Column+` = ?`, name)
	if errors.Is(err, sqlconn.ErrNoRow) {
		return o.Ensure(w, name)
	}
	return id, err
}
