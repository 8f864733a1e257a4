package servers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// A login is a client.Access that requests a token for each request.
type login struct {
	endpoint string
	keystone *http.Client
	w        *fixture
}

// Access is client.Access's.
func (l login) Access(ctx context.Context) (endpoint, token string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.w.paths.keystone.url, http.NoBody)
	if err != nil {
		return "", "", err
	}
	res, err := l.keystone.Do(r)
	if err != nil {
		if l.w.paths.unanswered != nil {
			l.w.paths.unanswered()
		}
		return "", "", errors.Join(fault.New(fault.Unavailable, "", "The Keystone service is unavailable."), err)
	}
	return l.endpoint, client.NoAuth, res.Body.Close()
}

// Discard is client.Access's.
func (login) Discard(string) {}

// withKeystone has the compute service request tokens from now on.
func (w *fixture) withKeystone() {
	w.paths.keystone = newBreakable(w, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w.cloudService = w.serve(w.store)
}

// to is the path to a service.
func (p *paths) to(service string) *breakable {
	return map[string]*breakable{
		"placement": p.placement, "network": p.network, "Keystone": p.keystone, "network's placement": p.amounts,
	}[service]
}

// dependencies are the services that a compute service depends on, directly and not.
var dependencies = []string{"placement", "network", "Keystone", "network's placement"}

// outcome is what has become of the servers and their moves.
func (w *fixture) outcome() string {
	w.Helper()
	var all []string
	for _, row := range computetest.Read[compute.ServerRow](w, w.store) {
		one := must(w.Server(ctx, row.ID))
		all = append(all, fmt.Sprintf("%s %s power %d, %d ports, on a host: %v", row.Name, row.State, row.Power,
			len(one.Ports), row.Host != ""))
	}
	for _, m := range computetest.Read[compute.MigrationRow](w, w.store) {
		all = append(all, "migration "+m.Status)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// A service that refuses connections for a while changes nothing about what becomes of servers,
// whatever is done with them, and at whatever request it begins: only requests of users are refused
// meanwhile. An attachment, whose caller waits, goes on when the service is there again. A sample
// has a twelfth of the scenarios besides Boot.
func TestServersWaitForServices(t *testing.T) {
	names := append(sweep.Sample(t, slices.Sorted(maps.Keys(scenarios)), 12), "Boot")
	if racetest.Few() {
		names = []string{"Boot"}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for _, service := range dependencies {
			t.Run(name+"/"+service, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1", "cn2")
				w.withKeystone()
				s, done := scenarios[name], ""
				for at, met := -1, true; met && !t.Failed(); at++ {
					w.paths.unanswered = nil
					w.prepare(s)
					before := w.outcome()
					end := func() bool { return true }
					if at >= 0 {
						end = w.paths.to(service).refuses(at)
					}
					if end = sync.OnceValue(end); strings.HasPrefix(name, "Attach") {
						w.paths.unanswered = func() { end() }
					}
					want, err := done, s.do(w, w.cloudService)
					if kind, _ := fault.Of(err); kind == fault.Unavailable {
						want = before
					} else if err != nil {
						t.Fatalf("%v: %s; %s", err, before, w.why(w.only()))
					}
					fails := func(string, fleet.Wanted) *fleet.Result { return nil }
					if s.fails != nil {
						fails = s.fails(w)
					}
					for range 3 {
						_, err := w.Recover(ctx)
						w.must(err)
						w.hostsWork(w.cloudService, fails)
						w.later(10 * time.Second)
						w.report()
					}
					met = end()
					w.later(5 * time.Minute)
					w.report()
					w.work(w.cloudService, fails)
					after := fmt.Sprintf("connections to %s were refused after request %d", service, at)
					w.agrees(after)
					if got := w.outcome(); at < 0 {
						done = got
					} else if got != want {
						t.Errorf("%s: %s, want %s", after, got, want)
					}
				}
			})
		}
	}
}

// internals is what users must not read of other services.
var internals = regexp.MustCompile(`127\.0\.0\.1|http|dial|refused|EOF|/v2\.0|allocation`)

// A server fails when a service has been unavailable for the time that a build may take, whether it
// refuses connections or does not answer. Its fault names the service only; what was done for it is
// undone when the service is available again.
func TestBuildsGiveUpUnavailableServices(t *testing.T) {
	for _, service := range dependencies {
		for _, how := range []string{"refuses", "answers nothing"} {
			if racetest.Few() && service != "network" {
				continue
			}
			t.Run(service+"/"+how, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, 10000, "cn1")
				w.withKeystone()
				s := w.serve(w.store, func(s *compute.Settings) { s.BuildTime = 10 * time.Minute })
				built := 0
				for at, met := 0, true; met && !t.Failed(); at++ {
					w.prepare(scenario{})
					w.must(w.bootOn(w.cloudService, 1, w.port(1000)))
					vm, path, end := w.only(), w.paths.to(service), (func() bool)(nil)
					if how == "refuses" {
						end = path.refuses(at)
					} else {
						path.breaks(at+1, true, false)
						end = path.heals
					}
					for minute := range 15 {
						_, err := s.Recover(ctx)
						w.must(err)
						w.hostsWork(w.cloudService, nil)
						if got := w.state(vm); minute < 10 && got == compute.Error {
							t.Errorf("request %d: the server is in error after %d minutes: %s", at, minute, w.why(vm))
						}
						w.later(time.Minute)
						w.report()
					}
					met = end()
					switch got := w.state(vm); got {
					case compute.Active: // the last request was answered
						built++
					case compute.Error:
						f, _ := must(w.Server(ctx, vm)).Failure()
						if !strings.HasPrefix(f.Message, fmt.Sprintf("Build of instance %s aborted: The ", vm)) ||
							!strings.HasSuffix(f.Message, " service is unavailable.") || internals.MatchString(f.Message) {
							t.Errorf("request %d: the fault is %q", at, f.Message)
						}
						for _, e := range computetest.Read[compute.EventRow](w, w.store) {
							if internals.MatchString(e.Details) {
								t.Errorf("request %d: event %s has %q", at, e.Event, e.Details)
							}
						}
					default:
						t.Errorf("request %d: the server is %s", at, got)
					}
					w.afterwards(fmt.Sprintf("request %d", at))
				}
				if built > 2 {
					t.Errorf("%d servers were built without the service", built)
				}
			})
		}
	}
}
