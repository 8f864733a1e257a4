package servers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/servers"
)

// pinnedTo are the CPUs of the host that an assignment has, sorted.
func pinnedTo(cells []hostlist.Cell) (cpus []int) {
	for _, c := range cells {
		cpus = slices.AppendSeq(cpus, maps.Values(c.CPUs))
	}
	slices.Sort(cpus)
	return cpus
}

// A server with dedicated CPUs that moves live has CPUs of the destination while it has those of
// the source, which both hosts' lists say and nobody else gets; its topology is that of the host
// that it is on. The destination's are given back when the migration fails or is aborted, and else
// the source's.
func TestLiveMigrationWithDedicatedCPUs(t *testing.T) {
	for _, end := range []string{"completed", "cancelled", "error"} {
		w := newFixture(t, 0)
		w.pinned()
		w.must(w.start("cn1", 0, 4))
		id, state := w.bootOf("pinned")
		if state != compute.Active {
			t.Fatalf("the server is %s: %s", state, w.why(id))
		}
		source := pinnedTo(w.givenAt("cn1", id).Cells)
		w.must(w.start("cn2", 1, 4)) // dedicated ones have other numbers there
		topology := func() []int { return pinnedTo(must(w.Cells(ctx, must(w.Server(ctx, id)).ServerRow))) }

		w.must(w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}))
		must(w.Recover(ctx)) // the destination gets its command
		dest := pinnedTo(w.givenAt("cn2", id).Cells)
		if len(source) != 2 || len(dest) != 2 || slices.Equal(source, dest) {
			t.Fatalf("the source has given the CPUs %v, and the destination %v", source, dest)
		}
		during := func(what string) {
			t.Helper()
			if a := pinnedTo(w.givenAt("cn1", id).Cells); !slices.Equal(a, source) {
				t.Errorf("%s, %s: the source's list has the CPUs %v, want %v", end, what, a, source)
			}
			if b := pinnedTo(w.givenAt("cn2", id).Cells); !slices.Equal(b, dest) {
				t.Errorf("%s, %s: the destination's list has the CPUs %v, want %v", end, what, b, dest)
			}
			want := map[string][]int{"cn1": source, "cn2": dest}[must(w.Server(ctx, id)).Host]
			if got := topology(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: the topology has the CPUs %v, want %v", end, what, got, want)
			}
		}
		during("before the destination has it")
		if end == "cancelled" {
			w.must(w.AbortLiveMigration(ctx, root, id, w.lastMigration().Number, true))
		}
		steps := 0
		w.work(w.cloudService, func(host string, want fleet.Wanted) *fleet.Result {
			switch {
			case want.Deleted:
				return nil
			case end == "error":
				return &fleet.Result{Error: "it cannot"}
			case end == "completed":
				steps++
				during(fmt.Sprintf("step %d, at %s", steps, host))
			}
			return nil
		})
		host, kept, other := "cn1", source, "cn2"
		if end == "completed" {
			host, kept, other = "cn2", dest, "cn1"
		}
		if status := w.lastMigration().Status; status != end || must(w.Server(ctx, id)).Host != host {
			t.Fatalf("the migration is %s, want %s; the server is on %s", status, end, must(w.Server(ctx, id)).Host)
		}
		if end == "completed" && steps < 3 {
			t.Errorf("the migration took %d steps of hosts", steps)
		}
		got, listed := topology(), pinnedTo(w.givenAt(host, id).Cells)
		if !slices.Equal(got, kept) || !slices.Equal(listed, kept) {
			t.Errorf("%s: the topology has the CPUs %v, and the list of %s %v, want %v", end, got, host, listed, kept)
		}
		if rows := computetest.Read[compute.HostedRow](w, w.store, compute.Where(compute.ByHost, other)); len(rows) > 0 {
			t.Errorf("%s: %s still has %+v", end, other, rows)
		}
		// What was given back serves others: three sets of two CPUs are free.
		for n := 1; n <= 4; n++ {
			want := compute.Active
			if n == 4 {
				want = compute.Error
			}
			if other, state := w.bootOf("pinned"); state != want {
				t.Errorf("%s: server %d is %s, want %s: %s", end, n, state, want, w.why(other))
			}
		}
		w.calm(end)
	}
}

// A host that starts without CPUs that a server has keeps its tree in placement and gets no
// servers, and says which server it is, until the CPUs are there again or the server is not.
func TestPinnedCPUsAreTakenAway(t *testing.T) {
	for _, end := range []string{"added", "deleted", "moved"} {
		w := newFixture(t, 0)
		w.pinned()
		w.must(w.start("cn1", 4, 4)) // dedicated: 4 and 6 of node 0, 5 and 7 of node 1
		id, state := w.bootOf("pinned")
		if state != compute.Active {
			t.Fatalf("the server is %s: %s", state, w.why(id))
		}
		before := w.tree(computetest.ID("cn1"))
		for _, starts := range []func() error{
			func() error { return w.start("cn1", 6, 2) },
			func() error { return w.start("cn1", 8, 0) },
			func() error { return w.startWithNodes("cn1", 3, 1) },
		} {
			err := starts()
			want := fmt.Sprintf("server %s (vm): 4", id)
			if err == nil || !strings.Contains(err.Error(), want) || must(w.Services(ctx))[0].StartError != err.Error() {
				t.Errorf("the start has the error %v, want %q; the service says %q", err, want,
					must(w.Services(ctx))[0].StartError)
			}
			if got := w.tree(computetest.ID("cn1")); !slices.Equal(got, before) {
				t.Errorf("the host has %q in placement, before %q", got, before)
			}
			if other, state := w.bootOf("pinned"); state != compute.Error {
				t.Errorf("a server on a host that does not serve is %s: %s", state, w.why(other))
			}
		}
		switch end {
		case "added":
			w.must(w.start("cn1", 4, 4))
		case "deleted":
			w.must(w.DeleteServer(ctx, ann, id))
			w.work(w.cloudService, nil)
			w.must(w.start("cn1", 6, 2))
		case "moved":
			w.must(w.start("cn2", 4, 4))
			w.must(w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}))
			w.work(w.cloudService, nil)
			if host := must(w.Server(ctx, id)).Host; host != "cn2" {
				t.Errorf("the server is on %s: %s", host, w.why(id))
			}
			w.must(w.start("cn1", 6, 2))
		}
		if why := must(w.Services(ctx))[0].StartError; why != "" {
			t.Errorf("%s: the host does not serve: %s", end, why)
		}
		w.calm(end)
	}
}
