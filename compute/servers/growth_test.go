package servers_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A grownCloud is a fixture whose cloud has many servers on other hosts, with operations under way:
// of half of them a worker has the lease, the other half wait for their hosts.
type grownCloud struct {
	*fixture
	*cloudService
	reads *storetest.Counted
	group compute.ID
}

func newGrownCloud(t *testing.T, servers, operations int) *grownCloud {
	t.Helper()
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	g := &grownCloud{reads: storetest.Count(store)}
	g.fixture = newFixtureIn(t, g.reads, 100_000, "cn1", "cn2")
	g.cloudService = g.serve(g.reads, func(s *compute.Settings) {
		for _, resource := range []string{compute.Instances, compute.Cores, compute.RAM, compute.ServerGroupMembers} {
			s.Quotas[resource] = 1 << 40
		}
		s.UniqueNames = compute.UniqueEverywhere
	})
	for _, host := range []string{"cn1", "cn2"} {
		g.nics(host, "100000")
	}
	group := must(g.CreateGroup(ctx, compute.GroupRow{
		Project: computetest.Project, User: computetest.User, Name: "apart", Policy: "anti-affinity", MaxPerHost: 100,
	}))
	g.group = group.ID
	zone := must(g.CreateAggregate(ctx, "near", "near"))
	for _, host := range []string{"cn1", "cn2"} {
		must(g.AddHost(ctx, zone.Number, host))
	}
	g.add(manyServers(g.clock(), servers, operations)...)
	return g
}

// manyServers are the rows of servers with large user_data on hosts that are up and in an
// availability zone, of which so many have operations under way: a worker has the lease of every
// second one, the others wait for their hosts.
func manyServers(now time.Time, servers, operations int) (all []any) {
	const perHost = 50
	zone := compute.AggregateRow{
		ID: computetest.ID("far"), Number: 1000, Name: "far", Metadata: map[string]string{compute.ZoneKey: "far"},
	}
	if servers > 0 {
		all = append(all, &zone)
	}
	for i := range servers {
		host := fmt.Sprint("far", i/perHost)
		row := computetest.Server(fmt.Sprint("other", i), host)
		row.UserData, row.Flavor = strings.Repeat("x", 4096), computetest.Flavor("m1", 1, 128, 1).Keep()
		if i%perHost == 0 {
			service, node := computetest.Host(host, int64(1000+i))
			service.ReportedAt = now
			all = append(all, service, node, &compute.MemberRow{Aggregate: zone.ID, Host: host})
		}
		if all = append(all, row); i >= operations {
			continue
		}
		row.Task = compute.Rebooting
		op := &compute.OperationRow{
			ID: computetest.ID(fmt.Sprint("op", i)), Server: row.ID, Kind: "power", Step: "host", CreatedAt: now,
			Body: fmt.Appendf(nil, `{"verb": "reboot", "image": {"id": %q}}`, strings.Repeat("x", 2048)),
		}
		if i%2 == 0 {
			op.Worker, op.Lease = "another", now.Add(time.Hour)
		} else {
			op.Awaits = computetest.ID(fmt.Sprint("event", i))
			all = append(all, &compute.HostedRow{
				Server: row.ID, Host: host, DesiredState: compute.DesiredRunning, Event: op.Awaits,
			})
		}
		all = append(all, op)
	}
	return all
}

// boot boots a server of the group with ports and returns what was read for it.
func (g *grownCloud) boot(ports ...compute.ID) storetest.Reads {
	g.Helper()
	g.reads.Take()
	spec := servers.ServerSpec{
		Name: fmt.Sprint("vm ", ports), Flavor: "m1", Zone: "near", Image: cirros, PortsMayRequest: true,
		Hints: fmt.Appendf(nil, `{"group": %q}`, g.group),
	}
	for _, p := range ports {
		spec.Networks = append(spec.Networks, compute.NetworkSpec{Port: p})
	}
	vm := must(g.CreateServers(ctx, ann, spec))[0].ID
	for range 5 {
		g.must(g.Work(ctx))
		for _, host := range []string{"cn1", "cn2"} {
			for _, listed := range must(g.Wanted(ctx, host)) {
				if listed.Event != "" {
					g.must(g.Done(ctx, host, []fleet.Result{{Server: listed.ID, Event: listed.Event, Generation: listed.Generation}}))
				}
			}
		}
	}
	reads := g.reads.Take()
	if state := g.state(vm); state != compute.Active {
		g.Fatalf("the server is %s: %s", state, g.why(vm))
	}
	return reads
}

// TestBootsDoNotGrow compares what a boot reads in a cloud with 10,000 servers and 1,000 operations
// with what it reads in an empty one: calls, rows and bytes. The boots are with an availability
// zone, a hostname that must be unique, a server group, quotas, a guaranteed port, and a PCI
// device.
func TestBootsDoNotGrow(t *testing.T) {
	racetest.Skip(t)
	for _, vnic := range []string{"normal", "direct"} {
		var reads [2]storetest.Reads
		for i, n := range []int{0, 1000} {
			g := newGrownCloud(t, 10*n, n)
			g.boot(g.port(0)) // reads the hosts, which are cached then
			reads[i] = g.boot(g.port(1000, vnic))
		}
		few, many := reads[0], reads[1]
		t.Logf("%s: %+v in an empty cloud, %+v in a full one", vnic, few, many)
		if 2*many.Calls > 3*few.Calls || 2*many.Rows > 3*few.Rows || 2*many.Bytes > 3*few.Bytes {
			t.Errorf("a boot with a %s port reads %+v in a full cloud, and %+v in an empty one", vnic, many, few)
		}
	}
}

// TestOldMigrationsAreNotRead compares what is read to confirm resizes and to delete a host in a
// cloud where many servers have moved to and from it with what is read in one where none has.
func TestOldMigrationsAreNotRead(t *testing.T) {
	var confirms, deletes [2]storetest.Reads
	for i, n := range []int{0, 300} {
		g := newGrownCloud(t, 0, 0)
		g.cloudService = g.serve(g.reads, func(s *compute.Settings) { s.ConfirmWindow = time.Hour })
		vm := computetest.Server("vm", "cn1")
		g.add(vm)
		for k := range n {
			m := &compute.MigrationRow{
				ID: computetest.ID(fmt.Sprint("move", k)), Number: int64(k), Server: vm.ID,
				Type: []string{"resize", "evacuation"}[k%2], Source: "cn2", Dest: "cn1",
				Status: []string{"confirmed", "completed", "reverted", "error"}[k%4], CreatedAt: g.clock(), UpdatedAt: g.clock(),
			}
			g.add(m)
		}
		g.later(24 * time.Hour) // hosts are down
		g.reads.Take()
		g.must(g.ConfirmOld(ctx))
		confirms[i] = g.reads.Take()
		for _, h := range must(g.Services(ctx)) {
			if h.Host == "cn2" {
				g.reads.Take()
				g.must(g.DeleteService(ctx, h.ID))
				deletes[i] = g.reads.Take()
			}
		}
	}
	for what, reads := range map[string][2]storetest.Reads{
		"the confirmation of resizes": confirms, "the deletion of a host": deletes,
	} {
		if reads[0] != reads[1] || reads[0].Calls == 0 {
			t.Errorf("%s reads %+v where many servers have moved, and %+v where none has", what, reads[1], reads[0])
		}
	}
}

// TestPagesReadTheirServers compares what the first page of a list reads with what it shows:
// user_data of no other server is read.
func TestPagesReadTheirServers(t *testing.T) {
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	computetest.Add(t, store, manyServers(computetest.Now, 1000, 0)...)
	reads := storetest.Count(store)
	s := newService(databaseAt(reads), computetest.Options{})
	page := must(s.Servers(ctx, servers.ServerFilter{Project: computetest.Project, Name: regexp.MustCompile("^other")},
		servers.Page{Limit: 10}))
	if len(page) != 10 || len(page[9].UserData) != 4096 || len(page[9].Flavor) == 0 {
		t.Errorf("the page has %d servers, want 10 with user_data", len(page))
	}
	if got := reads.Take(); got.Bytes > 1000*512 {
		t.Errorf("a page of 10 servers reads %+v, of servers with 4 KB of user_data each", got)
	}
}

// TestPagesReadTheirMigrations compares what the first page of a list of migrations reads with what
// it shows: nothing of what other servers had before, and no more hosts and flavors than its own. A
// status selects rows in the database.
func TestPagesReadTheirMigrations(t *testing.T) {
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var rows []any
	for i := range 1000 {
		name := fmt.Sprint("server", i)
		if i < 100 {
			service, node := computetest.Host(fmt.Sprint("host", i), int64(i))
			rows = append(rows, service, node)
		}
		rows = append(rows, computetest.Server(name, ""), &compute.MigrationRow{
			ID: computetest.ID("move " + name), Number: int64(i), Server: computetest.ID(name), Type: "resize", Source: "cn",
			Dest: fmt.Sprint("host", i%100), Status: []string{"confirmed", "error"}[i%2],
			Former: fmt.Appendf(nil, `{"x": %q}`, strings.Repeat("x", 4096)), CreatedAt: computetest.Now,
			UpdatedAt: computetest.Now.Add(time.Duration(i) * time.Second),
		})
	}
	computetest.Add(t, store, rows...)
	reads := storetest.Count(store)
	s := newService(databaseAt(reads), computetest.Options{})
	first := must(s.Migrations(ctx, servers.MigrationFilter{}, servers.Page{Limit: 10}))
	got := reads.Take()
	if len(first) != 10 || first[0].Number != 999 || got.Rows > 1000+10 || got.Bytes > 1000*512 {
		t.Errorf("a page of 10 migrations has %d and reads %+v, of 1000 with 4 KB each", len(first), got)
	}
	second := must(s.Migrations(ctx, servers.MigrationFilter{
		Status: "error", Before: computetest.Now.Add(990 * time.Second),
	}, servers.Page{Marker: first[0].ID, Limit: 2}))
	if got := reads.Take(); len(second) != 2 || second[0].Number != 989 || second[1].Number != 987 || got.Rows > 500+2 {
		t.Errorf("the next page is %+v and reads %+v", second, got)
	}
	if _, err := s.Migrations(ctx, servers.MigrationFilter{Status: "confirmed"},
		servers.Page{Marker: first[0].ID, Limit: 2}); err == nil {
		t.Error("a marker that does not match the filter is accepted")
	}
}

// TestUsageReadsFlavorsOnly compares what the usage of projects and the list of hypervisors read
// with the size of the servers.
func TestUsageReadsFlavorsOnly(t *testing.T) {
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	computetest.Add(t, store, manyServers(computetest.Now, 100, 0)...)
	reads := storetest.Count(store)
	s := catalog.New(databaseAt(reads), nil)
	used := must(s.Usages(ctx, catalog.UsageFilter{
		Start: computetest.Now.Add(-time.Hour), End: computetest.Now.Add(time.Hour), Limit: 1000,
	}))
	if got := reads.Take(); len(used) != 100 || used[0].Flavor.VCPUs != 1 || used[0].Name == "" || got.Bytes > 100*1024 {
		t.Errorf("the usage of %d servers reads %+v, of servers with 4 KB of user_data each: %+v", len(used), got, used[0])
	}
	hypervisors := must(fleet.New(databaseAt(reads), nil, nil).Hypervisors(ctx))
	if got := reads.Take(); len(hypervisors) != 2 || hypervisors[0].Used.VCPUs != 50 ||
		len(hypervisors[0].Servers) != 50 || got.Bytes > 100*1024 {
		t.Errorf("the list of %d hypervisors reads %+v, of servers with 4 KB of user_data each: %+v", len(hypervisors), got,
			hypervisors[0].Used)
	}
}

// A brief context is canceled when it was looked at so many times after the servers were read.
type brief struct {
	context.Context
	looks atomic.Int64
}

func (b *brief) Err() error {
	if b.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestListsEndWithTheirRequest has clients that disconnect while the servers of their list are
// filtered: by the rows, by the zones of their hosts, and by their addresses.
func TestListsEndWithTheirRequest(t *testing.T) {
	store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	computetest.Add(t, store, manyServers(computetest.Now, 100, 0)...)
	s := newService(databaseAt(store), computetest.Options{})
	none := regexp.MustCompile("none")
	for what, tc := range map[string]struct {
		filter servers.ServerFilter
		looks  int64
	}{
		"a name":     {servers.ServerFilter{Name: none}, 50},
		"a zone":     {servers.ServerFilter{Zone: none}, 150},
		"an address": {servers.ServerFilter{IPv4: none}, 150},
	} {
		b := &brief{Context: ctx}
		b.looks.Store(tc.looks)
		if all, err := s.Servers(b, tc.filter, servers.Page{}); !errors.Is(err, context.Canceled) {
			t.Errorf("the list by %s of a client that has disconnected is %v, %v, and the context was not looked at %d times",
				what, all, err, b.looks.Load())
		}
	}
}

// TestWaitingRequestsReadNothing counts what is read while requests wait: for the deletion of a
// server without a host, and for the choice of a host for a live migration. Changes of other
// servers do not wake them, and what they wait for does.
func TestWaitingRequestsReadNothing(t *testing.T) {
	migrate := func(s *cloudService, id compute.ID) error {
		return s.LiveMigrateServer(ctx, ann, id, servers.LiveMigration{Wait: true})
	}
	for what, tc := range map[string]struct {
		host    string
		request func(*cloudService, compute.ID) error
		end     func(compute.Writer, compute.ID) error
	}{
		"Deletion": {
			"", func(s *cloudService, id compute.ID) error { return s.DeleteServer(ctx, ann, id) },
			func(w compute.Writer, id compute.ID) error {
				_, err := w.Remove(&compute.OperationRow{}, compute.Where(compute.ByServer, id))
				_, err2 := w.Remove(&compute.ServerRow{}, compute.Where(compute.ByID, id))
				return errors.Join(err, err2)
			},
		},
		"Choice": {"cn1", migrate, func(w compute.Writer, id compute.ID) error {
			m, err := compute.One[compute.MigrationRow](w, compute.Where(compute.ByServer, id))
			m.Status = "preparing"
			return errors.Join(err, w.Replace(&m))
		}},
	} {
		for name, chosen := range map[string]bool{"Ends": true, "TimeIsUp": false} {
			t.Run(what+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
					if err != nil {
						t.Fatal(err)
					}
					defer store.Close()
					vm, other := computetest.Server("vm", tc.host), computetest.Server("other", "")
					computetest.Add(t, store, vm, other)
					reads := storetest.Count(store)
					s := newService(compute.NewDatabase(reads, compute.Rules{Settings: compute.DefaultSettings()}),
						computetest.Options{
							Placement: placementclient.NewCompute(options(t, unusedURL)), Network: neutronclient.New(options(t, unusedURL)),
							Images: allImages,
						})
					s.ActAsWorker()
					change := func() error {
						return errors.Join(s.Lock(ctx, ann, other.ID, ""), s.Unlock(ctx, ann, other.ID))
					}
					reads.Take()
					err = change()
					own := reads.Take()
					ended := make(chan error, 1)
					go func() { ended <- tc.request(s, vm.ID) }()
					synctest.Wait()
					if got := reads.Take(); err != nil || got.Calls == 0 || len(ended) > 0 {
						t.Fatalf("the request does not wait, after %+v: %v", got, err)
					}
					time.Sleep(4 * time.Second)
					synctest.Wait()
					if got := reads.Take(); got.Calls > 0 {
						t.Errorf("%+v is read in four seconds", got)
					}
					err = change()
					synctest.Wait()
					if got := reads.Take(); err != nil || got.Calls != own.Calls { // the rows include one action more
						t.Errorf("%+v is read when another server changes, and %+v while no request waits: %v", got, own, err)
					}
					if len(ended) > 0 {
						t.Fatal("the request does not wait")
					}
					began := time.Now()
					if chosen {
						err = s.Change(ctx, func(w compute.Writer) error { return tc.end(w, vm.ID) })
					}
					if err = errors.Join(err, <-ended); err != nil || chosen != (time.Since(began) == 0) {
						t.Errorf("the request ended after %v more: %v", time.Since(began), err)
					}
				})
			})
		}
	}
}

// BenchmarkGrowth has what every boot does in the database, in an empty cloud and in one with
// 10,000 servers and 1,000 operations: the quotients of the times should be near 1.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{0, 1000} {
		store, err := rowtable.OpenCompute(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = store.Close() })
		computetest.Add(b, store, manyServers(computetest.Now, 10*n, n)...)
		places, nets := placementclient.NewCompute(options(b, unusedURL)), neutronclient.New(options(b, unusedURL))
		db := databaseAt(store)
		quotas := catalog.New(db, nil)
		s := newService(db, computetest.Options{
			Placement: places, Network: nets, Images: allImages,
		})
		for name, do := range map[string]func() error{
			"work":   func() error { return s.Work(ctx) },
			"quotas": func() error { _, err := quotas.Usage(ctx, computetest.Project, ""); return err },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, 10*n), func(b *testing.B) {
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// databaseAt returns a database at the time of the rows of computetest.
func databaseAt(store compute.Store) *compute.Database {
	return compute.NewDatabase(store, compute.Rules{
		Settings: compute.DefaultSettings(), Now: func() time.Time { return computetest.Now },
	})
}
