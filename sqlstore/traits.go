package sqlstore

import "github.com/berthcloud/berth/placement"

func readNamed(r *row) placement.Named {
	return placement.Named{ID: int32(r.int(0)), Name: r.text(1), Modified: r.time(2)}
}

func readProviderTrait(r *row) placement.ProviderTraitRow {
	return placement.ProviderTraitRow{Provider: r.int(0), Trait: placement.TraitID(r.int(1))}
}

func (r *reader) Traits() ([]placement.Named, error) {
	return list(r, readNamed, `
SELECT
    id,
    name,
    COALESCE(updated_at, created_at)
FROM traits
ORDER BY id`)
}

func (r *reader) ProviderTraits(provider int64) ([]placement.TraitID, error) {
	return list(r, func(one *row) placement.TraitID { return placement.TraitID(one.int(0)) }, `
SELECT trait_id
FROM resource_provider_traits
WHERE resource_provider_id = ?
ORDER BY trait_id`, provider)
}

func (r *reader) TraitInUse(id placement.TraitID) (bool, error) {
	return r.exists(`
SELECT 1
FROM resource_provider_traits
WHERE trait_id = ?
LIMIT 1`, id)
}

// AddProviderTraits leaves links that are there alone. It returns ErrNoRow when
// a trait does not exist: whoever resolved its name did so too long ago.
func (w *writer) AddProviderTraits(provider int64, traits ...placement.TraitID) error {
	err := inList(traits, func(marks string, args []any) error {
		known, err := first(&w.reader, func(one *row) int64 { return one.int(0) }, `
SELECT COUNT(*)
FROM traits
WHERE id IN (`+marks+`)`, args...)
		if err == nil && known < int64(distinct(args)) {
			err = placement.ErrNoRow
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = execIn(w, `
INSERT INTO resource_provider_traits (created_at, resource_provider_id, trait_id)
SELECT ?, p.id, t.id
FROM resource_providers p
CROSS JOIN traits t
WHERE p.id = ?
AND NOT EXISTS (
    SELECT 1
    FROM resource_provider_traits x
    WHERE x.resource_provider_id = p.id AND x.trait_id = t.id
)
AND t.id IN (`, traits, `)`, w.stamp, provider)
	return err
}

// distinct counts the values of a sorted list that is padded with its last one.
func distinct(args []any) int {
	n := len(args)
	for n > 1 && args[n-1] == args[n-2] {
		n--
	}
	return n
}

func (w *writer) RemoveProviderTraits(provider int64, traits ...placement.TraitID) error {
	_, err := execIn(w, `
DELETE FROM resource_provider_traits
WHERE resource_provider_id = ?
AND trait_id IN (`, traits, `)`, provider)
	return err
}

func (w *writer) InsertTrait(name string) (placement.TraitID, error) {
	id, clash, err := w.insert(`
INSERT INTO traits (created_at, name)
VALUES (?, ?)`, w.stamp, name)
	if clash {
		return 0, placement.ErrNameTaken
	}
	return placement.TraitID(id), err
}

func (w *writer) DeleteTrait(id placement.TraitID) error {
	return w.change(`DELETE FROM traits WHERE id = ?`, id)
}
