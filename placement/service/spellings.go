package service

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// What the collations of MariaDB and MySQL take for the same name differs from one to the next:
// case, accents, spaces at the end. Names that a snapshot does not have are therefore looked up in
// the store, so that a look-up finds what it finds with upstream's service.

// ProviderSpelling returns the name of the provider that the store takes for one of that name; the
// name itself when there is none.
func (s *Service) ProviderSpelling(ctx context.Context, snap *snapshot.Snapshot, name string) (string, error) {
	if name == "" || !snap.FoldsNames() {
		return name, nil
	}
	if p, _ := snap.ProviderNamed(name); p != nil {
		return p.Name, nil
	}
	spelled := name
	err := s.store.View(ctx, func(r placement.Reader) (err error) {
		spelled, err = r.ProviderSpelling(name)
		return err
	})
	if errors.Is(err, placement.ErrNoRow) {
		return name, nil
	}
	return spelled, err
}

// TraitSpellings returns names with those of the traits that the store takes for one of them.
func (s *Service) TraitSpellings(ctx context.Context, snap *snapshot.Snapshot, names []string) ([]string, error) {
	if !snap.FoldsNames() {
		return names, nil
	}
	var others []string
	for _, name := range names {
		if _, ok := snap.Trait(name); !ok {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return names, nil
	}
	spelled := names
	err := s.store.View(ctx, func(r placement.Reader) error {
		found, err := r.TraitSpellings(others...)
		spelled = append(names[:len(names):len(names)], found...)
		return err
	})
	return spelled, err
}
