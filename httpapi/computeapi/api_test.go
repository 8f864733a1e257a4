package computeapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// newStore returns an empty database, which ends with the test.
func newStore(t testing.TB) compute.Store {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// services are the parts of a compute service on one database.
type services struct {
	*servers.Service
	lifecycle *lifecycle.Service
	catalog   *catalog.Service
	fleet     *fleet.Service
}

func newServices(
	store compute.Store, rules compute.Rules, o computetest.Options, trees providertree.Placement,
) services {
	db := compute.NewDatabase(store, rules)
	o.Trees = trees
	s := computetest.NewService(db, o)
	return services{s.Servers, s.Lifecycle, catalog.New(db, o.Placement), s.Fleet}
}

// handler serves a compute service as the program does.
func handler(t testing.TB, s services, who httpapi.Authenticator) http.Handler {
	t.Helper()
	return handlerWith(t, s, who, policy.Options{})
}

// handlerWith is handler with another policy. Tokens act for all hosts.
func handlerWith(t testing.TB, s services, who httpapi.Authenticator, o policy.Options) http.Handler {
	t.Helper()
	return handlerOf(t, s, httpapi.Agents{TokensForAll: true, Others: who}.Authenticate, o)
}

// handlerOf is handlerWith with the rules about hosts of an authenticator.
func handlerOf(t testing.TB, s services, who httpapi.Authenticator, o policy.Options) http.Handler {
	t.Helper()
	o.Defaults = computeapi.PolicyDefaults()
	rules, err := policy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	api := &computeapi.API{Servers: s.Service, Catalog: s.catalog, Fleet: s.fleet, Policy: rules}
	return computeapi.Handler(httpapi.New(httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps, Routes: api.Routes(),
		Authenticate: who,
		Public:       computeapi.Public, Problem: computeapi.Problem,
	}))
}
