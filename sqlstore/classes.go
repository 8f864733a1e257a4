package sqlstore

import "github.com/berthcloud/berth/placement"

func (r *reader) Classes() ([]placement.Named, error) {
	return list(r.tx, readNamed, `
SELECT
    id,
    name,
    COALESCE(updated_at, created_at)
FROM resource_classes
ORDER BY id`)
}

func (w *writer) InsertClass(id placement.ClassID, name string) error {
	_, clash, err := w.insert(`
INSERT INTO resource_classes (created_at, id, name)
VALUES (?, ?, ?)`, w.stamp, id, name)
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

func (w *writer) HoldClasses(ids ...placement.ClassID) error {
	return inList(ids, func(marks string, args []any) error {
		there, err := list(w.tx, integer, `
SELECT id
FROM resource_classes
WHERE id IN (`+marks+`)`+w.ses.d.shareRow, args...)
		if err == nil && len(there) < distinct(args) {
			err = placement.ErrNoRow
		}
		return err
	})
}

func (w *writer) classNamed(name string) (bool, error) {
	return w.exists(`
SELECT 1
FROM resource_classes
WHERE name = ?`, name)
}

func (w *writer) RenameClass(id placement.ClassID, name string) error {
	taken, err := w.exists(`
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
WHERE id = ?`, name, w.stamp, id)
}

func (w *writer) DeleteClass(id placement.ClassID) error {
	return w.change(`DELETE FROM resource_classes WHERE id = ?`, id)
}
