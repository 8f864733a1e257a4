package servers_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// unusedURL is an address at which no service listens.
const unusedURL = "http://127.0.0.1:1"

// A cloud is a compute service on an empty database, with a clock of its own, whose
// peer services are unavailable.
type cloud struct {
	*testing.T
	*cloudService
	*catalogService
	db    *compute.Database
	store compute.Store
	now   time.Time
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := &cloud{T: t, store: storetest.Rerun(store), now: computetest.Now}
	s := compute.DefaultSettings()
	for _, set := range settings {
		set(&s)
	}
	places, nets := placementclient.NewCompute(options(t, unusedURL)), neutronclient.New(options(t, unusedURL))
	c.db = compute.NewDatabase(c.store, compute.Rules{
		Settings: s, Now: func() time.Time { return c.now }, Log: logtest.Logger(),
	})
	c.cloudService = newService(c.db, computetest.Options{Placement: places, Network: nets, Images: allImages})
	c.catalogService = catalog.New(c.db, nil)
	return c
}

// add inserts rows.
func (c *cloud) add(rows ...any) {
	c.Helper()
	computetest.Add(c, c.store, rows...)
}

func ptr[T any](v T) *T { return &v }

// must stops the test when something failed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// refused checks that an error is a fault of a code with a text.
func (c *cloud) refused(what string, err error, kind fault.Kind, code fault.Code, text string) {
	c.Helper()
	f, ok := fault.Find(err)
	if !ok {
		c.Errorf("%s = %v, want %s", what, err, code)
		return
	}
	if k, got := f.Fault(); k != kind || got != code || f.Error() != text {
		c.Errorf("%s = %v %s %q, want %v %s %q", what, k, got, f.Error(), kind, code, text)
	}
}

var ctx = context.Background()

// hosts reports hosts of so many names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for _, n := range names {
		_, node := computetest.Host(n, 0)
		if err := c.Report(ctx, compute.Report{Host: n, Version: 66, Node: *node}); err != nil {
			c.Fatal(err)
		}
	}
}
