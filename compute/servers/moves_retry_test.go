package servers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
)

// A live migration goes on to the next host when its destination refuses the server before anything
// has moved, as often as migrate_max_retries says: while its ports are bound there, or when it is
// built. A host that was requested is the only one. Nothing of the server stays on hosts that have
// refused it.
func TestLiveMigrationGoesOn(t *testing.T) {
	hosts := []string{"cn1", "cn2", "cn3", "cn4"}
	for name, tc := range map[string]struct {
		retries   int
		refusals  int
		requested bool
		tried     int // destinations
		why       string
	}{
		"NextHost":  {retries: -1, refusals: 1, tried: 2},
		"LastHost":  {retries: -1, refusals: 2, tried: 3},
		"AllRefuse": {retries: -1, refusals: 3, tried: 3, why: "No valid host was found. There are not enough hosts"},
		"Enough":    {retries: 1, refusals: 1, tried: 2},
		"TooFew": {
			retries: 1, refusals: 2, tried: 2, why: "Exceeded maximum number of retries. Exceeded max scheduling retries 2",
		},
		"None": {
			retries: 0, refusals: 1, tried: 1, why: "Exceeded maximum number of retries. Exceeded max scheduling retries 1",
		},
		"Requested": {retries: -1, refusals: 1, requested: true, tried: 1, why: "it lacks a feature"},
	} {
		for _, at := range []string{"build", "bind"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, hosts...)
				m := &moves{fixture: w, vm: w.boot("vm", w.port(1000), w.port(2000))}
				w.work(w.cloudService, nil)
				m.source = must(w.Server(ctx, m.vm)).Host
				s := w.serve(w.store, func(s *compute.Settings) { s.LiveRetries = tc.retries })
				tried := map[string]bool{}
				refuses := func(host string) bool {
					tried[host] = true
					return len(tried) <= tc.refusals
				}
				if handler := w.paths.network.handler; at == "bind" {
					w.paths.network.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/bindings") &&
							refuses(w.lastMigration().Dest) {
							rw.Header().Set("Content-Type", "application/json")
							rw.WriteHeader(http.StatusBadRequest)
							_, _ = rw.Write([]byte(
								`{"NeutronError": {"type": "InvalidInput", "message": "it lacks a feature", "detail": ""}}`))
							return
						}
						handler.ServeHTTP(rw, r)
					})
				}
				to := servers.LiveMigration{}
				if tc.requested {
					to.Host = map[bool]string{true: "cn2", false: "cn1"}[m.source == "cn1"]
				}
				w.must(s.LiveMigrateServer(ctx, root, m.vm, to))
				w.work(s, func(host string, want fleet.Wanted) *fleet.Result {
					if at == "bind" || host == m.source || want.Deleted || !refuses(host) {
						return nil
					}
					return &fleet.Result{Error: "it lacks a feature"}
				})
				w.afterwards("a live migration")
				status := "completed"
				if tc.why != "" {
					status = "error"
				}
				m.is("a live migration", compute.Active, tc.why == "", status, 3000)
				if len(tried) != tc.tried || tried[m.source] {
					t.Errorf("the destinations %v were tried, want %d", tried, tc.tried)
				}
				refusals, why := 0, ""
				last := must(w.Actions(ctx, m.vm))[0]
				for _, e := range computetest.Read[compute.EventRow](t, w.store, compute.Where(compute.ByAction, last.ID)) {
					if e.FinishedAt.IsZero() {
						t.Errorf("event %s has no end", e.Event)
					}
					if e.Event == "compute_pre_live_migration" && e.Result == compute.EventFailed {
						refusals++
					}
					if e.Result == compute.EventFailed {
						why += e.Details + "\n"
					}
				}
				if want := min(tc.refusals, tc.tried); refusals != want || !strings.Contains(why, tc.why) {
					t.Errorf("the action has %d refusals, and says %q; want %d and %q", refusals, why, want, tc.why)
				}
				if name == "AllRefuse" {
					for host := range tried {
						if line := "host " + host + ": it has refused the server: "; !strings.Contains(w.why(m.vm), line) {
							t.Errorf("the action says %q, want %q", w.why(m.vm), line)
						}
					}
				}
			})
		}
	}
}

// A live migration that goes on to the next host can be aborted until the source has stopped the
// server, also while it is undone at the host that has refused it.
func TestAbortBetweenDestinations(t *testing.T) {
	for rounds, over := 0, false; !over; rounds++ {
		w := newFixture(t, 10000, "cn1", "cn2", "cn3")
		m := &moves{fixture: w, vm: w.boot("vm", w.port(1000), w.port(2000))}
		w.work(w.cloudService, nil)
		m.source = must(w.Server(ctx, m.vm)).Host
		first, prepared := "", false
		refuses := func(host string, want fleet.Wanted) *fleet.Result {
			if host == m.source || want.Deleted || first != "" && host != first {
				prepared = prepared || host != m.source && host != first
				return nil
			}
			first = host
			return &fleet.Result{Error: "it lacks a feature"}
		}
		w.must(w.LiveMigrateServer(ctx, root, m.vm, servers.LiveMigration{}))
		for range rounds / 2 {
			must(w.Recover(ctx))
			w.hostsWork(w.cloudService, refuses)
		}
		if rounds%2 == 1 {
			must(w.Recover(ctx))
		}
		if over = prepared; over {
			break
		}
		w.must(w.AbortLiveMigration(ctx, root, m.vm, w.lastMigration().Number, true))
		w.work(w.cloudService, refuses)
		m.is(fmt.Sprintf("an abortion after %d rounds", rounds), compute.Active, false, "cancelled", 3000)
	}
}
