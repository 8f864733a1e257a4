package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// deadlocks returns how many a server has found so far. PostgreSQL is notified when a
// connection ends: no other client may be connected to the database.
func deadlocks(t *testing.T, url string) (n int64) {
	t.Helper()
	where := server(t, url)
	query, others := `
SELECT CAST(VARIABLE_VALUE AS INTEGER)
FROM information_schema.GLOBAL_STATUS
WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'`, "SELECT 0"
	if where.Dialect == sqlstore.PostgreSQL {
		query, others = `
SELECT deadlocks
FROM pg_stat_database
WHERE datname = CURRENT_DATABASE()`, `
SELECT COUNT(*)
FROM pg_stat_activity
WHERE datname = CURRENT_DATABASE() AND pid <> pg_backend_pid()`
	}
	s := open(t, sqlstore.Options{Server: where})
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.OnWriter(func(c *sql.Conn) error {
		for remaining := 1; remaining > 0; {
			if err := c.QueryRowContext(ctx, others).Scan(&remaining); err != nil {
				return err
			}
		}
		return c.QueryRowContext(ctx, query).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A crowd are clients of one service who work with the same few hosts and
// consumers as those of another.
type crowd struct {
	*testing.T
	*service.Service
	random *rand.Rand
}

const crowdHosts, crowdVMs = 6, 16

func (c crowd) vm() placement.UUID   { return id(c.random.IntN(crowdVMs), "vm") }
func (c crowd) host() placement.UUID { return id(c.random.IntN(crowdHosts), "h") }

// claim is one on some hosts in any order.
func (c crowd) claim(hosts int) placement.Claim {
	claim := placement.Claim{Consumer: c.vm(), Project: "p", User: "u"}
	for _, n := range c.random.Perm(crowdHosts)[:hosts] {
		claim.Allocations = append(claim.Allocations, placement.ProviderAllocation{
			Provider: id(n, "h"), Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}},
		})
	}
	return claim
}

func roomy(total int) []placement.InventoryOf {
	return []placement.InventoryOf{{Class: "VCPU", Inventory: placement.Inventory{
		Total: int64(total), MinUnit: 1, MaxUnit: 100, StepSize: 1, AllocationRatio: 1,
	}}}
}

// inventories says what hosts are to offer, for the generations they have.
func (c crowd) inventories(hosts int) (all []placement.ProviderInventories) {
	w, err := c.Snapshot(context.Background())
	if err != nil {
		c.Error(err)
		return nil
	}
	for _, n := range c.random.Perm(crowdHosts)[:hosts] {
		if p, t := w.Provider(id(n, "h")); p != nil {
			all = append(all, placement.ProviderInventories{
				Provider: p.UUID, Generation: t.Info(p).Generation, Inventories: roomy(90 + c.random.IntN(10)),
			})
		}
	}
	return all
}

// act does one thing at random.
func (c crowd) act() (what string, err error) {
	ctx, on := context.Background(), c.host()
	switch c.random.IntN(10) {
	case 0:
		return "release", c.DeleteAllocations(ctx, c.vm())
	case 1:
		_, err = c.SetInventories(ctx, on, roomy(90+c.random.IntN(10)), placement.InventoryRule{})
		return "inventories", err
	case 2:
		_, err = c.SetAggregates(ctx, on, nil, []placement.UUID{"rack"})
		return "aggregates", err
	case 3:
		return "reshape", c.Reshape(ctx, placement.Reshape{
			Inventories: c.inventories(2), Claims: []placement.Claim{c.claim(2)},
		})
	case 4:
		change := placement.ProviderChange{Name: string(on), SetParent: true, Reparent: true}
		if to := c.host(); to != on {
			change.Parent = to
		}
		_, err = c.UpdateProvider(ctx, on, change)
		return "move of a provider", err
	case 5:
		below := id(c.random.IntN(3), "c")
		if _, err = c.CreateProvider(ctx, placement.NewProvider{UUID: below, Name: string(below), Parent: on}); err != nil {
			err = c.DeleteProvider(ctx, below)
		}
		return "deletion", err
	default:
		return "claim", c.SetAllocations(ctx, c.claim(1+c.random.IntN(3)))
	}
}

// TestStoresDoNotDeadlock has two stores do everything at once to the same few
// hosts and consumers: they wait for each other, but never in a circle. There are
// other rows as well, since a server looks at all of a table that has few.
func TestStoresDoNotDeadlock(t *testing.T) {
	needServers(t)
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) { countDeadlocks(t, k.URL(t)) })
	}
}

func countDeadlocks(t *testing.T, url string) {
	t.Helper()
	before := deadlocks(t, url)
	a, b := two(t, url)
	fill(t, a, 100, 10)
	services := []*service.Service{serve(t, a), serve(t, b)}
	for n := range crowdHosts {
		host(t)(services[0], n)
		_, err := services[0].SetInventories(context.Background(), id(n, "h"), roomy(100), placement.InventoryRule{})
		if err != nil {
			t.Fatal(err)
		}
	}
	analyze := "ANALYZE TABLE "
	if server(t, url).Dialect == sqlstore.PostgreSQL {
		analyze = "ANALYZE "
	}
	for _, table := range []string{"allocations", "consumers", "inventories", "resource_providers"} {
		do(t, a, analyze+table)
	}
	throng(t, services)
	_, _ = a.Close(), b.Close()
	if n := deadlocks(t, url) - before; n > 0 {
		t.Errorf("the server found %d deadlocks, want none", n)
	}
}

// throng lets six clients of each service act.
func throng(t *testing.T, services []*service.Service) {
	t.Helper()
	var mu sync.Mutex
	outcomes := make(map[string]int)
	var all sync.WaitGroup
	for n, s := range services {
		for k := range 6 {
			c := crowd{t, s, rand.New(rand.NewPCG(uint64(n), uint64(k)))}
			all.Go(func() {
				for range 60 {
					what, err := c.act()
					kind, _ := fault.Of(err)
					if err != nil && kind != fault.Conflict && kind != fault.NotFound && kind != fault.Invalid {
						t.Errorf("%s: %v", what, err)
					}
					mu.Lock()
					outcomes[fmt.Sprintf("%s: %t", what, err == nil)]++
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	t.Log(outcomes)
}
