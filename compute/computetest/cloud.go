package computetest

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A Cloud is an empty database in memory for the tests of a part of the compute service, with a
// clock of its own, which the test may set between calls.
type Cloud struct {
	DB    *compute.Database
	Store compute.Store // runs functions of transactions twice now and then, as databases do
	Clock time.Time

	t *testing.T
}

// NewCloud returns a Cloud at the time Now, with the default settings after some changes. It is
// closed when the test ends.
func NewCloud(t *testing.T, settings ...func(*compute.Settings)) *Cloud {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := compute.DefaultSettings()
	for _, set := range settings {
		set(&s)
	}
	c := &Cloud{Store: storetest.Rerun(store), Clock: Now, t: t}
	c.DB = compute.NewDatabase(c.Store, compute.Rules{
		Settings: s, Now: func() time.Time { return c.Clock }, Log: logtest.Logger(),
	})
	return c
}

// Add inserts rows.
func (c *Cloud) Add(rows ...any) {
	c.t.Helper()
	Add(c.t, c.Store, rows...)
}

// Refused checks that the error of a call is a fault of a code with a text.
func (c *Cloud) Refused(call string, err error, kind fault.Kind, code fault.Code, text string) {
	c.t.Helper()
	f, ok := fault.Find(err)
	if !ok {
		c.t.Errorf("%s = %v, want %s", call, err, code)
		return
	}
	if gotKind, got := f.Fault(); gotKind != kind || got != code || f.Error() != text {
		c.t.Errorf("%s = %v %s %q, want %v %s %q", call, gotKind, got, f.Error(), kind, code, text)
	}
}
