package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// onNodes returns two services, each on a node of its own of one cluster: no
// lock of one is known to the other. The store is the first one's.
func onNodes(t *testing.T) (*sqlstore.Store, [2]*service.Service) {
	t.Helper()
	needServers(t)
	cluster := dbtest.Galera(t)
	db := cluster.CreateDatabase(t)
	var services [2]*service.Service
	var stores [2]*sqlstore.Store
	for i := range services {
		stores[i] = open(t, sqlstore.Options{Server: server(t, db.URL(cluster.Addresses()[i]))})
		services[i] = serve(t, stores[i])
	}
	return stores[0], services
}

// atOnce runs one thing on each service; they may be refused.
func atOnce(t *testing.T, services [2]*service.Service, things ...func(*service.Service) error) {
	t.Helper()
	var both sync.WaitGroup
	for i, thing := range things {
		both.Go(func() {
			err := thing(services[i])
			if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.NotFound &&
				kind != fault.Invalid {
				t.Error(err)
			}
		})
	}
	both.Wait()
}

func TestNodesKeepTrees(t *testing.T) {
	const providers = 6
	ctx := context.Background()
	store, services := onNodes(t)
	for i := range providers {
		if _, err := services[0].CreateProvider(ctx, placement.NewProvider{
			UUID: id(i, "p"), Name: string(id(i, "p")),
		}); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	move := func(what, to int) func(*service.Service) error {
		c := placement.ProviderChange{Name: string(id(what, "p")), SetParent: true, Reparent: true}
		if to < providers {
			c.Parent = id(to, "p")
		}
		return func(s *service.Service) error {
			_, err := s.UpdateProvider(ctx, id(what, "p"), c)
			return err
		}
	}
	create := func(n, below int) func(*service.Service) error {
		uuid := placement.UUID(fmt.Sprintf("c%d", n))
		return func(s *service.Service) error {
			_, err := s.CreateProvider(ctx, placement.NewProvider{UUID: uuid, Name: string(uuid), Parent: id(below, "p")})
			return err
		}
	}
	for n := range 120 {
		second := move(random.IntN(providers), random.IntN(providers+1))
		if n%3 == 0 {
			second = create(n, random.IntN(providers))
		}
		atOnce(t, services, move(random.IntN(providers), random.IntN(providers+1)), second)
		orphans(t, store, "providers whose root is not that of their parent", `
SELECT COUNT(*)
FROM resource_providers p
LEFT JOIN resource_providers q ON q.id = p.parent_provider_id
WHERE p.root_provider_id <> COALESCE(q.root_provider_id, p.id)`)
		if t.Failed() {
			return
		}
	}
}

func TestNodesLeaveNoLinksOfProvidersThatAreGone(t *testing.T) {
	ctx := context.Background()
	store, services := onNodes(t)
	for n := range 20 {
		host(t)(services[0], n)
		atOnce(t, services,
			func(s *service.Service) error {
				_, err := s.SetAggregates(ctx, id(n, "h"), nil, []placement.UUID{"agg"})
				return err
			},
			func(s *service.Service) error { return s.DeleteProvider(ctx, id(n, "h")) })
	}
	orphans(t, store, "aggregate links of providers that are gone", `
SELECT COUNT(*)
FROM resource_provider_aggregates l
LEFT JOIN resource_providers p ON p.id = l.resource_provider_id
WHERE p.id IS NULL`)
}

// TestRefusalsRestOnWhatIsCommitted has one claim take what is left and the next one be
// refused for it, while another node frees as much: the second claim fits before and after.
func TestRefusalsRestOnWhatIsCommitted(t *testing.T) {
	needServers(t)
	ctx := context.Background()
	cluster := dbtest.Galera(t)
	db := cluster.CreateDatabase(t)
	real := open(t, sqlstore.Options{Server: server(t, db.URL(cluster.Addresses()[0]))})
	store := &watchedStore{real, func() {}}
	one := serve(t, store)
	two := serve(t, open(t, sqlstore.Options{Server: server(t, db.URL(cluster.Addresses()[1]))}))
	host(t)(one, 1)
	if err := claimVCPU(two, "early", "h1", 6); err != nil {
		t.Fatal(err)
	}
	states(t, one)
	entered, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = real.Update(ctx, now, func(placement.Writer) error { close(entered); <-release; return nil })
	})
	<-entered
	var first, second error
	all.Go(func() { first = claimVCPU(one, "first", "h1", 1) })
	for real.Waiting() < 1 {
		runtime.Gosched()
	}
	all.Go(func() { second = claimVCPU(one, "second", "h1", 2) })
	for real.Waiting() < 2 {
		runtime.Gosched()
	}
	var once sync.Once
	store.within = func() {
		once.Do(func() {
			if err := two.DeleteAllocations(ctx, "early"); err != nil {
				t.Error(err)
			}
		})
	}
	close(release)
	all.Wait()
	if first != nil || second != nil {
		t.Errorf("the claims got %v and %v, want both to be accepted: there was always room for the second", first, second)
	}
	if got := states(t, one)["h1"].Used[0]; got != 3 {
		t.Errorf("%d are used, want 3", got)
	}
}

// TestNodesGetStatementsOneByOne looks at what claims, and a change of each other
// kind, send: never two statements at once to a node, which may lose the first and
// keep the second when another node wins. A server of its own gets several.
func TestNodesGetStatementsOneByOne(t *testing.T) {
	needServers(t)
	for _, k := range []sqltest.Kind{kinds[0], kinds[2]} {
		t.Run(k.Name, func(t *testing.T) {
			ctx := context.Background()
			where := server(t, k.URL(t))
			count := newCounter(t, where.Hosts[0])
			where.Hosts = []string{count.listener.Addr().String()}
			s := serve(t, open(t, sqlstore.Options{Server: where}))
			host(t)(s, 1)
			host(t)(s, 2)
			var errs [6]error
			errs[0] = claimVCPU(s, "vm", "h1", 1)
			errs[1] = claimVCPU(s, "vm", "h2", 1)
			errs[2] = s.DeleteAllocations(ctx, "vm")
			_, errs[3] = s.SetAggregates(ctx, "h1", nil, []placement.UUID{"rack"})
			_, errs[4] = s.UpdateProvider(ctx, "h2", placement.ProviderChange{Name: "h2", SetParent: true, Parent: "h1"})
			errs[5] = s.DeleteProvider(ctx, "h2")
			if err := errors.Join(errs[:]...); err != nil {
				t.Fatal(err)
			}
			node := k.Name == "Galera"
			if n := count.several.Load(); node && n > 0 || !node && n == 0 {
				t.Errorf("%d of %d requests have several statements", n, count.requests.Load())
			}
		})
	}
}

// TestNodesLoseNoClaim claims the same hosts through two nodes at once, each of
// which takes back transactions for the other's sake: what was acknowledged is
// there, whole, and nothing else. It seldom meets a node that takes a transaction
// back between two statements of a request, which nothing here can bring about:
// TestNodesGetStatementsOneByOne sees to it that there are no such requests.
func TestNodesLoseNoClaim(t *testing.T) {
	const hosts, clients, each = 4, 12, 30
	ctx := context.Background()
	_, services := onNodes(t)
	for n := range hosts {
		host(t)(services[0], n)
		if _, err := services[0].UpdateInventory(ctx, id(n, "h"), placement.InventoryOf{
			Class: "VCPU", Inventory: placement.Inventory{Total: 1000, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1},
		}, placement.InventoryRule{}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	acknowledged := make(map[placement.UUID]placement.UUID)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := range each {
				vm, on := id(client*1000+n, "vm"), id((client+n)%hosts, "h")
				err := claimVCPU(services[client%2], vm, on, 1)
				if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && kind != fault.Unavailable {
					t.Error(err)
				}
				if err == nil && n%3 == 0 { // it goes again, through the other node
					if err := services[1-client%2].DeleteAllocations(ctx, vm); err != nil {
						t.Error(err)
					}
					continue
				}
				if err == nil {
					mu.Lock()
					acknowledged[vm] = on
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	used := make(map[placement.UUID]int64)
	for vm, on := range acknowledged {
		used[on]++
		h, err := services[0].AllocationsOf(ctx, vm)
		if err != nil || len(h.Allocations) != 1 || h.Allocations[0].ProviderUUID != on {
			t.Errorf("%s holds %v (%v), want what the client has on %s", vm, h.Allocations, err, on)
		}
	}
	for n, s := range services {
		for uuid, st := range states(t, s) {
			if st.Used[0] != used[uuid] {
				t.Errorf("node %d: %d units are used on %s, want %d", n, st.Used[0], uuid, used[uuid])
			}
		}
	}
	if len(acknowledged) < clients*each/2 {
		t.Errorf("only %d of %d claims were accepted: the test says little", len(acknowledged), clients*each)
	}
}
