package placementapi_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/bench/worlds"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// ported returns a service on a store with bandwidth hosts.
func ported(t testing.TB, hosts int) *placement.Service {
	t.Helper()
	file := t.TempDir() + "/placement.db"
	if err := worlds.Bandwidth(hosts, 1).Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	service, err := placement.NewService(t.Context(), store, placement.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func TestPrepare(t *testing.T) {
	service := ported(t, 3)
	api := placementapi.API{Placement: service}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want int // trees with a text
	}{
		{"cancelled", cancelled, 0},
		{"all", context.Background(), 3},
	} {
		api.Prepare(c.ctx)
		w, err := service.World(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for tree := range w.Trees() {
			if tree.Memo() != nil {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d trees have texts, want %d", c.name, got, c.want)
		}
	}
}

// BenchmarkPrepare makes the texts of 1,000 bandwidth hosts.
func BenchmarkPrepare(b *testing.B) {
	service := ported(b, 1000)
	api := placementapi.API{Placement: service}
	b.ReportAllocs()
	for b.Loop() {
		w, err := service.World(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for tree := range w.Trees() {
			tree.SetMemo(placementapi.NoText)
		}
		api.Prepare(b.Context())
	}
}
