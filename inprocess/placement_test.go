package inprocess_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/inprocess"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// newPlacement returns a Placement with a store in a file, and the service behind it.
func newPlacement(t *testing.T) (*inprocess.Placement, *sqlstore.Store) {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: filepath.Join(t.TempDir(), "placement.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := service.New(context.Background(), store, service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return inprocess.NewPlacement(s), store
}

// TestPlacement is the suite that package client's Placement passes too.
func TestPlacement(t *testing.T) {
	p, _ := newPlacement(t)
	networktest.TestPlacement(t, p)
	t.Run("Concurrency", func(t *testing.T) { networktest.TestPlacementConcurrency(t, p) })
}

// TestPlacementThatIsAway: internal errors of placement are reported as an unavailable service.
func TestPlacementThatIsAway(t *testing.T) {
	p, store := newPlacement(t)
	networktest.MakeTree(t, p)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, err := range map[string]error{
		"EnsureTrait":    p.EnsureTrait(ctx, "CUSTOM_A"),
		"EnsureProvider": p.EnsureProvider(ctx, network.Provider{UUID: networktest.OtherProvider, Name: "other"}),
		"RemoveProvider": p.RemoveProvider(ctx, networktest.DeviceProvider),
		"SetTraits":      p.SetTraits(ctx, networktest.DeviceProvider, []string{"CUSTOM_A"}),
		"SetInventories": p.SetInventories(ctx, networktest.DeviceProvider, networktest.Offering(7)),
		"SetAllocations": p.SetAllocations(ctx, networktest.Consumer, networktest.Allocation(1)),
		"Allocations":    func() error { _, err := p.Allocations(ctx, networktest.Consumer); return err }(),
	} {
		if kind, _ := fault.Of(err); err == nil || kind != fault.Unavailable {
			t.Errorf("%s = %v, of kind %v; want kind %v", what, err, kind, fault.Unavailable)
		}
	}
}
