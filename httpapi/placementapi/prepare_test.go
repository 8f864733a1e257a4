package placementapi_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/placement/service"

	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/sqlstore"
)

// storeOf returns a store with a snapshot in it.
func storeOf(t testing.TB, snapshot *clouds.Cloud) *sqlstore.Store {
	t.Helper()
	file := t.TempDir() + "/placement.db"
	if err := snapshot.Save(t.Context(), file); err != nil {
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
	return store
}

// serving returns a service on a store.
func serving(t testing.TB, store *sqlstore.Store) *service.Service {
	t.Helper()
	service, err := service.New(t.Context(), store, service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func TestPrepare(t *testing.T) {
	service := serving(t, storeOf(t, clouds.Bandwidth(3, 1)))
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
		if got := api.Kept(); got != c.want {
			t.Errorf("%s: %d trees have texts, want %d", c.name, got, c.want)
		}
	}
}

// BenchmarkPrepare makes the texts of 1,000 bandwidth hosts.
func BenchmarkPrepare(b *testing.B) {
	service := serving(b, storeOf(b, clouds.Bandwidth(1000, 1)))
	b.ReportAllocs()
	for b.Loop() {
		api := placementapi.API{Placement: service}
		api.Prepare(b.Context())
	}
}
