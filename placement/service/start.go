package service

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// New reads the whole store and returns a service on it. The standard
// resource classes and traits that the store lacks are added first. It fails when the store cannot
// be read; the store stays the caller's to close.
func New(ctx context.Context, store placement.Store, settings Settings) (*Service, error) {
	s := &Service{
		store: store, settings: settings, refreshing: make(chan struct{}, 1), newer: make(map[*snapshot.Tree]*snapshot.Tree),
	}
	s.claims = store.Group(s.writeClaims)
	if err := placement.EnsureStandard(ctx, store, settings.Now()); err != nil {
		return nil, fmt.Errorf("adding standard names: %w", err)
	}
	if err := s.load(ctx); err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	return s, nil
}

// load reads everything in the store.
func (s *Service) load(ctx context.Context) error {
	// Where the log is, and who wrote, comes first: what is written meanwhile is
	// read twice.
	s.follower = s.store.Follow()
	if _, err := s.follower.Next(ctx); err != nil {
		return err
	}
	now, err := s.mark(ctx)
	if err != nil {
		return err
	}
	if err := s.reload(ctx); err != nil {
		return err
	}
	s.reconciled = now
	return nil
}
