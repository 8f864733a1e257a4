package service

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/placement"
)

// New reads the whole store and returns a service on it. The standard
// resource classes and traits that the store lacks are added first. It fails when the store cannot
// be read; the store stays the caller's to close.
func New(ctx context.Context, store placement.Store, settings Settings) (*Service, error) {
	s := &Service{store: store, settings: settings, publisher: newPublisher(store, settings)}
	s.claims = placement.Together(store, s.writeClaims)
	if err := placement.EnsureStandard(ctx, store, settings.Now()); err != nil {
		return nil, fmt.Errorf("adding standard names: %w", err)
	}
	if err := s.publisher.load(ctx); err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	return s, nil
}
