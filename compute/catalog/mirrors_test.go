package catalog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
)

// An aggregateRecorder is a placement service that knows aggregates only.
type aggregateRecorder struct {
	in      map[[2]compute.ID]bool
	unknown map[compute.ID]bool // providers
	err     error
	during  func() // during a request
}

func (b *aggregateRecorder) Group(_ context.Context, provider, aggregate compute.ID, member bool) error {
	if b.during != nil {
		b.during()
	}
	switch {
	case b.err != nil:
		return b.err
	case b.unknown[provider]:
		return allocations.ErrNoProvider
	}
	b.in[[2]compute.ID{provider, aggregate}] = member
	return nil
}

// mirrored returns a cloud with placement.
func mirrored(t *testing.T) (*cloud, *aggregateRecorder) {
	t.Helper()
	b := &aggregateRecorder{in: map[[2]compute.ID]bool{}, unknown: map[compute.ID]bool{}}
	c := newCloudWith(t, b)
	c.hosts("cn1", "cn2")
	return c, b
}

// left mirrors and checks how much is left.
func (c *cloud) left(want int) {
	c.Helper()
	if n := must(c.Mirror(ctx)); n != want || len(computetest.Read[compute.MirrorRow](c, c.Store)) != want {
		c.Errorf("%d are left, want %d", n, want)
	}
}

func TestAggregatesAreMirrored(t *testing.T) {
	c, b := mirrored(t)
	a := must(c.CreateAggregate(ctx, "ssd", ""))
	must(c.AddHost(ctx, 1, "cn1"))
	must(c.AddHost(ctx, 1, "cn2"))
	must(c.RemoveHost(ctx, 1, "cn2"))
	c.left(0)
	want := map[[2]compute.ID]bool{{computetest.ID("cn1"), a.ID}: true, {computetest.ID("cn2"), a.ID}: false}
	if diff := cmp.Diff(want, b.in); diff != "" {
		t.Errorf("placement (-want +got):\n%s", diff)
	}
}

// What cannot be reported to placement now is reported later; nothing is forgotten.
func TestMirroringIsTriedAgain(t *testing.T) {
	c, b := mirrored(t)
	a := must(c.CreateAggregate(ctx, "ssd", ""))
	b.err = errors.New("placement is away")
	must(c.AddHost(ctx, 1, "cn1"))
	c.left(1)
	b.err = nil
	b.unknown[computetest.ID("cn1")] = true // the host has not reported to placement yet
	c.left(1)
	delete(b.unknown, computetest.ID("cn1"))
	c.left(0)
	if !b.in[[2]compute.ID{computetest.ID("cn1"), a.ID}] {
		t.Error("placement got no report")
	}
	b.unknown[computetest.ID("cn1")] = true // and is gone
	must(c.RemoveHost(ctx, 1, "cn1"))
	c.left(0)
}

// A host that leaves while its arrival is reported to placement is reported again.
func TestChangesDuringMirroringAreNotLost(t *testing.T) {
	c, b := mirrored(t)
	a := must(c.CreateAggregate(ctx, "ssd", ""))
	b.during = func() {
		b.during = nil
		must(c.RemoveHost(ctx, 1, "cn1"))
	}
	must(c.AddHost(ctx, 1, "cn1"))
	must(c.Mirror(ctx))
	c.left(0)
	if b.in[[2]compute.ID{computetest.ID("cn1"), a.ID}] {
		t.Error("placement has the host in an aggregate that it left")
	}
}
