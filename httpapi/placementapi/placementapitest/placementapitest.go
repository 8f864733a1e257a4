// Package placementapitest serves the placement API for tests, with the routes, the
// policy and the error codes of the program. It believes callers, and is not for tests
// of settings.
package placementapitest

import (
	"context"
	"net/http"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// New returns the API on a new store in memory, which ends with the test, with what
// the options change.
func New(t testing.TB, set service.Settings, options ...func(*httpapi.Config)) http.Handler {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return On(t, store, set, options...)
}

// On returns the API on a store.
func On(t testing.TB, store placement.Store, set service.Settings, options ...func(*httpapi.Config)) http.Handler {
	t.Helper()
	s, err := service.New(context.Background(), store, set)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(policy.Options{
		Defaults: placementapi.PolicyDefaults(), EnforceScope: true, EnforceNewDefaults: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &placementapi.API{Placement: s, Policy: rules, Now: set.Now}
	c := httpapi.Config{
		Service: "placement", History: microversion.Placement, Routes: api.Routes(), Authenticate: httpapi.NoAuth,
		CodeSince: 23, UndefinedCode: placement.CodeUndefined, MaxBody: 1 << 20,
	}
	for _, option := range options {
		option(&c)
	}
	return httpapi.New(c)
}
