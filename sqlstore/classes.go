package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

func (r *reader) Classes() ([]placement.Named, error) {
	return sqlconn.List(r.Tx, readNamed, `
SELECT
    id,
    name,
    COALESCE(updated_at, created_at)
FROM resource_classes
ORDER BY id`)
}

// InsertClass finds out which unique value was taken, as the databases do not say it alike: the
// name, or the id, which another service chose at the same time.
func (w *writer) InsertClass(id placement.ClassID, name string) error {
	_, clash, err := w.Insert(`
INSERT INTO resource_classes (created_at, id, name)
VALUES (?, ?, ?)`, w.Written(), id, name)
	if err != nil || !clash {
		return err
	}
	taken, err := w.classNamed(name)
	if err == nil && taken {
		return placement.ErrNameTaken
	}
	if err == nil {
		err = placement.ErrStale
	}
	return err
}

// InsertCatalogs sends all rows of a table at once. One that another service has inserted meanwhile
// is an error, after which the engine runs the Update again.
func (w *writer) InsertCatalogs(classes []placement.Named, traits []string) error {
	if len(classes) > 0 {
		args := make([]any, 0, 3*len(classes))
		for _, c := range classes {
			args = append(args, w.Written(), c.ID, c.Name)
		}
		if _, err := w.Exec(`
INSERT INTO resource_classes (created_at, id, name)
VALUES `+sqlconn.Tuples(len(classes), 3), args...); err != nil {
			return err
		}
	}
	if len(traits) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(traits))
	for _, name := range traits {
		args = append(args, w.Written(), name)
	}
	_, err := w.Exec(`
INSERT INTO traits (created_at, name)
VALUES `+sqlconn.Tuples(len(traits), 2), args...)
	return err
}

// LockClasses takes shared locks, so that transactions which write inventory of the same class do
// not wait for each other. SQLite has one writer and needs none.
func (w *writer) LockClasses(ids ...placement.ClassID) error {
	return sqlconn.InList(ids, func(marks string, args []any) error {
		existing, err := sqlconn.List(w.Tx, sqlconn.Integer, `
SELECT id
FROM resource_classes
WHERE id IN (`+marks+`)`+w.Dialect().ShareRow, args...)
		if err == nil && len(existing) < sqlconn.Distinct(args) {
			err = placement.ErrNoRow
		}
		return err
	})
}

func (w *writer) classNamed(name string) (bool, error) {
	return w.Exists(`
SELECT 1
FROM resource_classes
WHERE name = ?`, name)
}

// RenameClass requests the name first: an UPDATE that meets a unique value would end the
// transaction on PostgreSQL.
func (w *writer) RenameClass(id placement.ClassID, name string) error {
	taken, err := w.Exists(`
SELECT 1
FROM resource_classes
WHERE name = ? AND id <> ?`, name, id)
	if err != nil {
		return err
	}
	if taken {
		return placement.ErrNameTaken
	}
	return w.change(`
UPDATE resource_classes
SET name = ?, updated_at = ?
WHERE id = ?`, name, w.Written(), id)
}

func (w *writer) DeleteClass(id placement.ClassID) error {
	return w.change(`DELETE FROM resource_classes WHERE id = ?`, id)
}
