package sqlstore

import (
	"errors"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// providerColumns are what readProvider reads. The root is NULL only in
// databases from before upstream's check for it; the provider is its own then.
const providerColumns = `
SELECT
    p.id,
    p.uuid,
    p.name,
    p.generation,
    p.parent_provider_id,
    COALESCE(p.root_provider_id, p.id),
    COALESCE(p.updated_at, p.created_at),
    CASE WHEN p.updated_at IS NULL THEN 0 ELSE 1 END
FROM resource_providers p`

// providerOrder is the order of providers in a snapshot.
const providerOrder = `
ORDER BY p.id`

func readProvider(r *sqlconn.Row) placement.ProviderRow {
	return placement.ProviderRow{
		ID:         r.Int(0),
		UUID:       uuid(r, 1),
		Name:       r.Text(2),
		Generation: generation(r, 3),
		Parent:     r.Int(4),
		Root:       r.Int(5),
		Modified:   r.Time(6),
		Updated:    r.Int(7) == 1,
	}
}

func (r *reader) Provider(uuid placement.UUID) (placement.ProviderRow, error) {
	return first(r, readProvider, providerColumns+`
WHERE p.uuid = ?`, uuid)
}

func (r *reader) ProviderSpelling(name string) (string, error) {
	return first(r, func(one *sqlconn.Row) string { return one.Text(0) }, `
SELECT name
FROM resource_providers
WHERE name = ?`, name)
}

// Provider locks the row until the transaction ends: the caller is
// about to change it, or what belongs to it. It is locked by its id: MySQL locks
// indexes as well as rows, and one that is found by UUID is locked there first.
func (w *writer) Provider(uuid placement.UUID) (placement.ProviderRow, error) {
	p, err := placement.ProviderRow{}, placement.ErrNoRow
	lost := w.lock(func(one *sqlconn.Row) { p, err = readProvider(one), nil }, providerColumns+`
WHERE p.id = (SELECT id FROM resource_providers WHERE uuid = ?)`, uuid)
	if lost != nil {
		w.locks.UUIDs = append(w.locks.UUIDs, string(uuid))
		return p, lost
	}
	if err == nil {
		w.locks.IDs = append(w.locks.IDs, p.ID)
	}
	return p, err
}

// LockProviders locks several rows, in the order of their ids: two transactions that request
// the same ones in another order do not deadlock.
func (w *writer) LockProviders(uuids ...placement.UUID) ([]placement.ProviderRow, error) {
	ids, err := sqlconn.ListIn(w.Tx, sqlconn.Integer, `
SELECT id
FROM resource_providers
WHERE uuid IN (`, uuids, `)`)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	w.locks.IDs = append(w.locks.IDs, ids...)
	var all []placement.ProviderRow
	slices.Sort(ids)
	err = sqlconn.InList(ids, func(marks string, args []any) error {
		return w.lock(func(one *sqlconn.Row) { all = append(all, readProvider(one)) }, providerColumns+`
WHERE p.id IN (`+marks+`)`+providerOrder, args...)
	})
	return all, err
}

// LockProvider does nothing where there is one writer at a time. On MySQL it writes a row
// of Berth's own besides: nodes of a cluster know nothing of each other's locks,
// and refuse one of two transactions only when both wrote the same row.
func (w *writer) LockProvider(provider int64) error {
	if err := w.lockIDs(provider); err != nil || conflictRow[w.Dialect().Name] == "" {
		return err
	}
	_, err := w.Exec(conflictRow[w.Dialect().Name], provider%conflictRows)
	return err
}

// conflictRow writes a row of berth_holds for a provider, so that of two transactions on nodes of a
// cluster that lock the provider one is rolled back, by the dialect. Elsewhere locks suffice.
var conflictRow = map[string]string{
	sqlconn.MySQLDialect.Name: `
INSERT INTO berth_holds (slot, held)
VALUES (?, 1)
ON DUPLICATE KEY UPDATE held = held + 1`,
}

// conflictRows is how many rows stand for all providers. It must stay as it is while several
// versions run on one cluster: both sides have to write the same row. Providers that share a row by
// chance make transactions run again, nothing worse.
const conflictRows = 1024

func (r *reader) ProvidersIn(root int64) ([]placement.ProviderRow, error) {
	return sqlconn.List(r.Tx, readProvider, providerColumns+`
WHERE p.root_provider_id = ?
ORDER BY p.id`, root)
}

func (r *reader) HasChildren(provider int64) (bool, error) {
	return r.Exists(`
SELECT 1
FROM resource_providers
WHERE parent_provider_id = ?
LIMIT 1`, provider)
}

// InsertProvider writes a root in two statements, as its own id is known after the first only. So
// updated_at of a root is set from the start, as upstream's is.
func (w *writer) InsertProvider(p placement.ProviderRow) (int64, error) {
	id, clash, err := w.Insert(`
INSERT INTO resource_providers (created_at, uuid, name, generation, root_provider_id, parent_provider_id)
VALUES (?, ?, ?, 0, ?, ?)`, w.Written(), p.UUID, p.Name, orNull(p.Root), orNull(p.Parent))
	if err != nil {
		return 0, err
	}
	if clash {
		return 0, w.providerClash(p)
	}
	if p.Root == 0 {
		err = w.change(`
UPDATE resource_providers
SET root_provider_id = id, updated_at = ?
WHERE id = ?`, w.Written(), id)
	}
	return id, err
}

// providerClash finds out which unique value of a provider was taken. It may be called because
// Insert left the transaction usable.
func (w *writer) providerClash(p placement.ProviderRow) error {
	switch _, err := w.Provider(p.UUID); {
	case err == nil:
		return placement.ErrUUIDTaken
	case errors.Is(err, placement.ErrNoRow):
		return placement.ErrNameTaken
	default:
		return err
	}
}

// UpdateProvider requests the name first: an UPDATE that meets a unique value would end the
// transaction on PostgreSQL.
func (w *writer) UpdateProvider(p placement.ProviderRow) error {
	taken, err := w.Exists(`
SELECT 1
FROM resource_providers
WHERE name = ? AND id <> ?`, p.Name, p.ID)
	if err != nil {
		return err
	}
	if taken {
		return placement.ErrNameTaken
	}
	root := p.Root
	if root == 0 {
		root = p.ID
	}
	return w.change(`
UPDATE resource_providers
SET name = ?, root_provider_id = ?, parent_provider_id = ?, updated_at = ?
WHERE id = ?`, p.Name, root, orNull(p.Parent), w.Written(), p.ID)
}

// SetRoot leaves generations alone. The providers are locked in the order of their ids before.
func (w *writer) SetRoot(root int64, providers ...int64) error {
	if err := w.lockIDs(providers...); err != nil {
		return err
	}
	_, err := sqlconn.ExecIn(w.Tx, `
UPDATE resource_providers
SET root_provider_id = ?, updated_at = ?
WHERE id IN (`, providers, `)`, root, w.Written())
	return err
}

// DeleteProvider removes what belongs to the provider before its row. Upstream's tables have few
// foreign keys, and none that deletes rows by itself.
func (w *writer) DeleteProvider(provider int64) error {
	for _, statement := range []string{
		`DELETE FROM inventories WHERE resource_provider_id = ?`,
		`DELETE FROM resource_provider_traits WHERE resource_provider_id = ?`,
		`DELETE FROM resource_provider_aggregates WHERE resource_provider_id = ?`,
		// MySQL does not delete a row that refers to itself.
		`UPDATE resource_providers SET root_provider_id = NULL WHERE id = ?`,
	} {
		if _, err := w.Exec(statement, provider); err != nil {
			return err
		}
	}
	return w.change(`DELETE FROM resource_providers WHERE id = ?`, provider)
}

// BumpProvider compares and swaps in one statement, so that it is safe without a lock. NULL is
// generation 0, which upstream's column allows.
func (w *writer) BumpProvider(provider int64, from placement.Generation) error {
	return stale(w.change(`
UPDATE resource_providers
SET generation = ?, updated_at = ?
WHERE id = ? AND COALESCE(generation, 0) = ?`, from+1, w.Written(), provider, from))
}

// stale says of a compare-and-swap that found no row what that means.
func stale(err error) error {
	if errors.Is(err, placement.ErrNoRow) {
		return placement.ErrStale
	}
	return err
}

// orNull returns an id, or NULL for none.
func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}
