package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// readNamed reads a row of a catalog, classes and traits alike: id, name and the time of its last
// change.
func readNamed(r *sqlconn.Row) placement.Named {
	return placement.Named{ID: int32(r.Int(0)), Name: r.Text(1), Modified: r.Time(2)}
}

func readProviderTrait(r *sqlconn.Row) placement.ProviderTraitRow {
	return placement.ProviderTraitRow{Provider: r.Int(0), Trait: placement.TraitID(r.Int(1))}
}

func (r *reader) Traits() ([]placement.Named, error) {
	return sqlconn.List(r.Tx, readNamed, `
SELECT
    id,
    name,
    COALESCE(updated_at, created_at)
FROM traits
ORDER BY id`)
}

func (r *reader) ProviderTraits(provider int64) ([]placement.TraitID, error) {
	return sqlconn.List(r.Tx, func(one *sqlconn.Row) placement.TraitID { return placement.TraitID(one.Int(0)) }, `
SELECT trait_id
FROM resource_provider_traits
WHERE resource_provider_id = ?
ORDER BY trait_id`, provider)
}

func (r *reader) TraitInUse(id placement.TraitID) (bool, error) {
	return r.Exists(`
SELECT 1
FROM resource_provider_traits
WHERE trait_id = ?
LIMIT 1`, id)
}

func (r *reader) TraitSpellings(names ...string) ([]string, error) {
	return sqlconn.ListIn(r.Tx, func(one *sqlconn.Row) string { return one.Text(0) }, `
SELECT name
FROM traits
WHERE name IN (`, names, `)`)
}

// AddProviderTraits leaves links that are there alone. It returns ErrNoRow when
// a trait does not exist: it was deleted after its name was resolved.
func (w *writer) AddProviderTraits(provider int64, traits ...placement.TraitID) error {
	known := make(map[placement.TraitID]bool) // and whether it is linked
	err := sqlconn.InList(traits, func(marks string, args []any) error {
		return w.Each(func(one *sqlconn.Row) { known[placement.TraitID(one.Int(0))] = one.Int(1) != 0 }, `
SELECT
    t.id,
    COALESCE(l.trait_id, 0)
FROM traits t
LEFT JOIN resource_provider_traits l ON l.trait_id = t.id AND l.resource_provider_id = ?
WHERE t.id IN (`+marks+`)`, append([]any{provider}, args...)...)
	})
	if err != nil {
		return err
	}
	var missing []int64
	for _, id := range traits {
		linked, found := known[id]
		if !found {
			return placement.ErrNoRow
		}
		if !linked {
			known[id] = true
			missing = append(missing, int64(id))
		}
	}
	return w.link(`resource_provider_traits (created_at, resource_provider_id, trait_id)`, provider, missing)
}

func (w *writer) RemoveProviderTraits(provider int64, traits ...placement.TraitID) error {
	_, err := sqlconn.ExecIn(w.Tx, `
DELETE FROM resource_provider_traits
WHERE resource_provider_id = ?
AND trait_id IN (`, traits, `)`, provider)
	return err
}

func (w *writer) InsertTrait(name string) (placement.TraitID, error) {
	id, clash, err := w.Insert(`
INSERT INTO traits (created_at, name)
VALUES (?, ?)`, w.Written(), name)
	if clash {
		return 0, placement.ErrNameTaken
	}
	return placement.TraitID(id), err
}

func (w *writer) DeleteTrait(id placement.TraitID) error {
	return w.change(`DELETE FROM traits WHERE id = ?`, id)
}
