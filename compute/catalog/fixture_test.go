package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A cloud is a catalog on an empty database, with a clock of its own.
type cloud struct {
	*testing.T
	*catalog.Service
	store compute.Store
	now   time.Time
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	s := compute.DefaultSettings()
	for _, set := range settings {
		set(&s)
	}
	return newCloudWith(t, s, nil)
}

// newCloudWith is newCloud with a placement service.
func newCloudWith(t *testing.T, s compute.Settings, p catalog.Placement) *cloud {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := &cloud{T: t, store: storetest.Rerun(store), now: computetest.Now}
	rules := compute.Rules{Settings: s, Now: func() time.Time { return c.now }, Log: logtest.Logger()}
	c.Service = catalog.New(compute.NewDatabase(c.store, rules), p)
	return c
}

// hosts adds hosts of some names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for i, name := range names {
		service, node := computetest.Host(name, int64(i+1))
		c.add(service, node)
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

var (
	admin = compute.Viewer{Admin: true}
	blue  = compute.Viewer{Project: computetest.Project}
)
