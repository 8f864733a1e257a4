package sqlstore

import "github.com/berthcloud/berth/placement"

func readNamed(r *row) placement.Named {
	return placement.Named{ID: int32(r.int(0)), Name: r.text(1), Modified: r.time(2)}
}

func readProviderTrait(r *row) placement.ProviderTraitRow {
	return placement.ProviderTraitRow{Provider: r.int(0), Trait: placement.TraitID(r.int(1))}
}

func (r *reader) Traits() ([]placement.Named, error) {
	return list(r.tx, readNamed, `
SELECT
    id,
    name,
    COALESCE(updated_at, created_at)
FROM traits
ORDER BY id`)
}

func (r *reader) ProviderTraits(provider int64) ([]placement.TraitID, error) {
	return list(r.tx, func(one *row) placement.TraitID { return placement.TraitID(one.int(0)) }, `
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
	known := make(map[placement.TraitID]bool) // and whether it is linked
	err := inList(traits, func(marks string, args []any) error {
		return w.each(func(one *row) { known[placement.TraitID(one.int(0))] = one.int(1) != 0 }, `
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
		linked, there := known[id]
		if !there {
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
	_, err := execIn(w.tx, `
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
