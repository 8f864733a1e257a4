package servers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
)

// What servers used is theirs of the period, also after they are deleted.
func TestUsages(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	begin := w.now.Truncate(time.Second) // as rows have it
	w.later(begin.Sub(w.now))
	expect := func(what string, f catalog.UsageFilter, want ...string) {
		t.Helper()
		if f.Limit == 0 {
			f.Limit = 10
		}
		all, err := w.Usages(ctx, f)
		w.must(err)
		var got []string
		for _, u := range all {
			got = append(got, fmt.Sprintf("%s %s %s used %v up %v", u.Name, u.Flavor.Name, u.State, u.Used, u.Uptime))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	all := func() catalog.UsageFilter {
		return catalog.UsageFilter{Start: begin.Add(-time.Hour), End: w.Now(), Limit: 10}
	}

	vm := w.boot("one")
	expect("a server that was never launched", all())
	w.work(w.cloudService, nil)
	w.later(90 * time.Minute)
	expect("a server that runs", all(), "one m1 active used 1h30m0s up 1h30m0s")
	expect("a part of its time", catalog.UsageFilter{Start: begin.Add(time.Hour), End: begin.Add(80 * time.Minute)},
		"one m1 active used 20m0s up 1h30m0s")
	expect("before its time", catalog.UsageFilter{Start: begin.Add(-time.Hour), End: begin})
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	w.later(time.Hour)
	const deleted = "one m1 terminated used 1h30m0s up 1h30m0s"
	expect("a deleted server", all(), deleted)
	expect("after its time", catalog.UsageFilter{Start: begin.Add(90 * time.Minute), End: w.Now()})
	w.report()
	w.boot("two")
	w.work(w.cloudService, nil)
	w.later(time.Minute)
	both, err := w.Usages(ctx, catalog.UsageFilter{Start: begin, End: w.Now(), Limit: 10})
	w.must(err)
	if len(both) != 2 || both[0].ID >= both[1].ID {
		t.Fatalf("both are %+v", both)
	}
	page := all()
	page.Limit, page.Marker = 1, both[0].ID
	if rest, err := w.Usages(ctx, page); err != nil || len(rest) != 1 || rest[0].ID != both[1].ID {
		t.Errorf("the second page is %+v, %v", rest, err)
	}
	page.Marker = computetest.ID("none")
	_, err = w.Usages(ctx, page)
	w.refusedWith(err, fault.Invalid, "MarkerNotFound")
	other := all()
	other.Project = "other"
	expect("another project", other)

	w.work(w.cloudService, nil)
	failed := w.boot("never", w.port(1<<40))
	w.work(w.cloudService, nil)
	w.must(w.DeleteServer(ctx, ann, failed))
	w.work(w.cloudService, nil)
	if n := len(must(w.Usages(ctx, all()))); n != 2 {
		t.Errorf("with one that was never launched there are %d", n)
	}
}
