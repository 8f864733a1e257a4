package servers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
	"github.com/berthcloud/berth/watch"
)

// instances are two compute services on one database of a server, with a poll of each host on both.
type instances struct {
	*fixture
	services [2]*cloudService
	due      [2]chan time.Time // of their looks for each other's changes
	commits  atomic.Int64
	polls    map[string]*[2]*watch.Poll // by host
	lists    map[string][]fleet.Wanted  // as they were read last
}

func newInstances(t *testing.T, hosts ...string) *instances {
	t.Helper()
	sqltest.Need(t)
	x := &instances{polls: map[string]*[2]*watch.Poll{}, lists: map[string][]fleet.Wanted{}}
	url := dbtest.MariaDB(t).NewDatabase(t)
	for i := range x.services {
		store, err := rowtable.OpenCompute(t.Context(), sqlstore.Options{
			Server: sqltest.Server(t, url), Metrics: sqlstore.Metrics{Committed: func(int, time.Duration) { x.commits.Add(1) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		if i == 0 {
			x.fixture = newFixtureIn(t, store, 100_000, hosts...)
		}
		x.services[i], x.due[i] = x.serve(store), make(chan time.Time)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			x.services[i].RunWatches(ctx, x.due[i])
		}()
		t.Cleanup(func() {
			stop()
			<-ended
		})
	}
	for _, h := range hosts {
		x.polls[h] = &[2]*watch.Poll{x.services[0].BeginPoll(), x.services[1].BeginPoll()}
	}
	x.follow()
	x.woken() // by all that was before
	return x
}

// follow has both instances look for each other's changes: a look has ended when the next one
// begins.
func (x *instances) follow() {
	for range 2 {
		for _, due := range x.due {
			due <- time.Time{}
		}
	}
}

// woken returns the hosts whose polls are woken, with the number of the instance, and has them read
// again.
func (x *instances) woken() (all []string) {
	x.Helper()
	for host, polls := range x.polls {
		for i, p := range polls {
			if len(p.Changed) > 0 {
				all = append(all, fmt.Sprint(host, i))
			}
			list, err := x.services[i].ReadWanted(ctx, p, host)
			x.must(err)
			x.lists[host] = list
		}
	}
	slices.Sort(all)
	return all
}

// TestIdleInstancesAreSilent: two idle instances commit nothing and wake no poll, and reports of
// hosts wake none.
func TestIdleInstancesAreSilent(t *testing.T) {
	x := newInstances(t, "a", "b")
	x.boot("vm")
	x.work(x.services[0], nil)
	x.follow()
	x.woken()
	before := x.commits.Load()
	for range 50 {
		for _, s := range x.services {
			_, err := s.Recover(ctx)
			x.must(err)
			_, err = x.catalogOf(s).Mirror(ctx)
			x.must(err)
		}
		x.follow()
	}
	if n := x.commits.Load() - before; n != 0 {
		t.Errorf("%d transactions were committed, want none", n)
	}
	x.report()
	x.follow()
	if woken := x.woken(); len(woken) > 0 {
		t.Errorf("%v were woken by nothing", woken)
	}
}

// TestChangesWakeTheirHost: a change wakes the polls of the host that it concerns on both
// instances, and no other.
func TestChangesWakeTheirHost(t *testing.T) {
	x := newInstances(t, "a", "b")
	s := x.services[0]
	port := x.port(0)
	vm := x.boot("vm", port)
	_, err := s.Recover(ctx)
	x.must(err)
	x.follow()
	woken := x.woken()
	host := "a"
	if len(x.lists[host]) == 0 {
		host = "b"
	}
	both := []string{host + "0", host + "1"}
	if !reflect.DeepEqual(woken, both) {
		t.Errorf("when a server is to be built, woken are %v, want %v", woken, both)
	}
	x.work(s, nil)
	x.follow()
	x.woken()
	for _, step := range []struct {
		what string
		do   func() error
		want []string
	}{
		{"a server is made", func() error { x.boot("other"); return nil }, nil},
		{"a port is shown otherwise", func() error {
			_, err := x.network.UpdatePort(ctx, network.ID(port), func(spec *ports.Spec) error {
				spec.Profile, spec.Rebind = []byte(`{"pci_slot": "0000:01:00.1"}`), true
				return nil
			})
			x.must(err)
			_, err = s.Receive(ctx, []servers.ExternalEvent{{Name: "network-changed", Server: vm, Tag: string(port)}})
			return err
		}, both},
		{"it is seen again", func() error {
			_, err = s.Receive(ctx, []servers.ExternalEvent{{Name: "network-changed", Server: vm, Tag: string(port)}})
			return err
		}, nil},
		{"its metadata is set", func() error {
			_, err := s.SetMetadata(ctx, ann, vm, "update metadata", func(map[string]string) (map[string]string, error) {
				return map[string]string{"a": "b"}, nil
			})
			return err
		}, both},
	} {
		x.must(step.do())
		x.follow()
		if diff := cmp.Diff(step.want, x.woken()); diff != "" {
			t.Errorf("%s: woken are (-want +got):\n%s", step.what, diff)
		}
	}
}

// TestWhatDiffersWakes drives random changes through both instances: whenever the list of a host
// differs, its polls are woken.
func TestWhatDiffersWakes(t *testing.T) {
	hosts := []string{"a", "b", "c"}
	x := newInstances(t, hosts...)
	seed := time.Now().UnixNano()
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	one := func() compute.ID {
		all := computetest.Read[compute.ServerRow](x, x.store)
		if len(all) == 0 {
			return ""
		}
		return all[random.IntN(len(all))].ID
	}
	ported := func() (server, port compute.ID) {
		all := computetest.Read[compute.PortRow](x, x.store)
		if len(all) == 0 {
			return "", ""
		}
		p := all[random.IntN(len(all))]
		return p.Server, p.Port
	}
	acts := []func(s *cloudService) error{
		func(*cloudService) error { x.boot("vm", x.port(0)); return nil },
		func(s *cloudService) error { _, err := s.Recover(ctx); return err },
		func(s *cloudService) error { _, err := s.Recover(ctx); return err },
		func(s *cloudService) error {
			x.hostsWork(s, func(string, fleet.Wanted) *fleet.Result {
				if random.IntN(6) == 0 {
					return &fleet.Result{Error: "it failed"}
				}
				return nil
			})
			return nil
		},
		func(s *cloudService) error { return s.DeleteServer(ctx, ann, one()) },
		func(s *cloudService) error { return s.StopServer(ctx, ann, one()) },
		func(s *cloudService) error { return s.StartServer(ctx, ann, one()) },
		func(s *cloudService) error { return s.RebootServer(ctx, ann, one(), random.IntN(2) == 0) },
		func(s *cloudService) error {
			return s.ResetState(ctx, ann, one(), []string{compute.Active, compute.Error}[random.IntN(2)])
		},
		func(s *cloudService) error {
			_, err := s.SetMetadata(ctx, ann, one(), "update metadata", func(map[string]string) (map[string]string, error) {
				return map[string]string{"n": fmt.Sprint(random.IntN(100))}, nil
			})
			return err
		},
		func(s *cloudService) error {
			server, port := ported()
			return s.Detach(ctx, ann, server, port)
		},
		func(s *cloudService) error {
			before := x.cloudService
			x.cloudService = s // which the hosts query as well: a third one on its store would not wake its polls
			defer func() { x.cloudService = before }()
			_, err := x.attach(s, one(), compute.NetworkSpec{Port: x.port(0)}, nil)
			return err
		},
		func(s *cloudService) error {
			server, port := ported()
			if err := x.network.DeletePort(ctx, network.ID(port)); err != nil {
				return err
			}
			_, err := s.Receive(ctx, []servers.ExternalEvent{{Name: "network-vif-deleted", Server: server, Tag: string(port)}})
			return err
		},
		func(s *cloudService) error {
			server, port := ported()
			_, err := x.network.UpdatePort(ctx, network.ID(port), func(spec *ports.Spec) error {
				spec.Profile, spec.Rebind = fmt.Appendf(nil, `{"pci_slot": "0000:01:00.%d"}`, random.IntN(8)), true
				return nil
			})
			if err != nil {
				return err
			}
			_, err = s.Receive(ctx, []servers.ExternalEvent{{Name: "network-changed", Server: server, Tag: string(port)}})
			return err
		},
		func(s *cloudService) error { x.report(); return nil },
	}
	differed, did := 0, map[int]int{}
	for n := 0; n < 600 || n < 3000 && len(did) < len(acts)-1; n++ { // by chance, some may not succeed for long
		before := map[string][]fleet.Wanted{}
		for _, h := range hosts {
			before[h] = x.lists[h]
		}
		act := random.IntN(len(acts))
		if acts[act](x.services[n%2]) == nil {
			did[act]++
		}
		x.follow()
		woken := x.woken()
		for _, h := range hosts {
			if reflect.DeepEqual(before[h], x.lists[h]) {
				continue
			}
			differed++
			for i := range x.services {
				if !slices.Contains(woken, fmt.Sprint(h, i)) {
					t.Fatalf("seed %d: act %d changes the list of %s, and its poll on instance %d is not woken", seed, act, h, i)
				}
			}
		}
		if n%20 == 19 {
			x.later(10 * time.Second) // operations that failed are tried again
			x.report()
		}
	}
	if differed < 40 || len(did) < len(acts)-1 {
		t.Errorf("seed %d: %d lists differed, and %d of %d acts succeeded: too few to say anything", seed, differed,
			len(did), len(acts))
	}
}

// TestOthersHostsAreReadAgain: an instance that has chosen hosts knows which of them another
// instance disables.
func TestOthersHostsAreReadAgain(t *testing.T) {
	x := newInstances(t, "a", "b")
	disable := func(host string, disabled bool) {
		t.Helper()
		x.disable(host, disabled) // on the first instance's store
		x.follow()
	}
	for _, disabled := range []string{"a", "b", "a"} {
		for _, host := range []string{"a", "b"} {
			disable(host, host == disabled)
		}
		x.must(x.bootOn(x.services[1], 1))
		x.work(x.services[1], nil)
		if got := computetest.Read[compute.ServerRow](x, x.store); len(got) != 1 || got[0].Host == disabled ||
			got[0].Host == "" {
			t.Errorf("while %s is disabled, servers are %+v", disabled, got)
		}
		x.must(x.services[1].DeleteServer(ctx, ann, x.only()))
		x.work(x.services[1], nil)
	}
}

// TestChosenServersWakeNoHost: a server that a host was chosen for wakes the host's poll only with
// the command to build it.
func TestChosenServersWakeNoHost(t *testing.T) {
	x := newFixture(t, 100_000, "a")
	vm := x.boot("vm")
	poll := x.BeginPoll()
	defer poll.End()
	for _, step := range []struct {
		what  string
		do    func(*compute.Tx) error
		wakes bool
	}{
		{"nothing has changed", func(*compute.Tx) error { return nil }, false},
		{"the host is chosen", func(tx *compute.Tx) error {
			row, err := compute.One[compute.ServerRow](tx, compute.Where(compute.ByID, vm))
			if err != nil {
				return err
			}
			row.Host = "a"
			return tx.Replace(&row)
		}, false},
		{"it gets the command", func(tx *compute.Tx) error {
			return tx.Insert(&compute.HostedRow{
				Server: vm, Host: "a", DesiredState: compute.DesiredRunning, CreatedAt: tx.At,
			})
		}, true},
	} {
		_, err := x.ReadWanted(ctx, poll, "a")
		x.must(err)
		x.must(x.db.Update(ctx, step.do))
		if woken := len(poll.Changed) > 0; woken != step.wakes {
			t.Errorf("%s: woken is %t, want %t", step.what, woken, step.wakes)
		}
	}
}
