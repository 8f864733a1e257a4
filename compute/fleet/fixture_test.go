package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// catalogService is catalog.Service under a name that can be embedded with fleet.Service.
type catalogService = catalog.Service

// A cloud is the fleet and the catalog on an empty database, with a clock of its own.
type cloud struct {
	*testing.T
	*fleet.Service
	*catalogService
	store compute.Store
	now   time.Time
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	s := compute.DefaultSettings()
	for _, set := range settings {
		set(&s)
	}
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := &cloud{T: t, store: storetest.Rerun(store), now: computetest.Now}
	rules := compute.Rules{Settings: s, Now: func() time.Time { return c.now }, Log: logtest.Logger()}
	db := compute.NewDatabase(c.store, rules)
	c.Service, c.catalogService = fleet.New(db, nil, nil), catalog.New(db, nil)
	return c
}

// hosts reports hosts of some names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for _, n := range names {
		_, node := computetest.Host(n, 0)
		if err := c.Report(ctx, compute.Report{Host: n, Version: 66, Node: *node}); err != nil {
			c.Fatal(err)
		}
	}
}

// add inserts rows.
func (c *cloud) add(rows ...any) {
	c.Helper()
	computetest.Add(c, c.store, rows...)
}

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
	if k, cur := f.Fault(); k != kind || cur != code || f.Error() != text {
		c.Errorf("%s = %v %s %q, want %v %s %q", what, k, cur, f.Error(), kind, code, text)
	}
}

var ctx = context.Background()
