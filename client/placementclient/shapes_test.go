package placementclient_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

var shapedHosts = flag.Int("shaped-hosts", 16, "hosts of TestShapesUnderLoad, with 20 servers each")

// TestShapesUnderLoad has hosts report NUMA nodes and stop to, while servers are placed on them and
// deleted, on a SQLite file and on MariaDB. The first starts of a host are killed after a random
// request each. At no moment a host promises more than it has, or gives more than it promises, and
// no server loses anything. The log has the time of the starts, and the longest that placing a
// server or deleting it took meanwhile.
func TestShapesUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it loads a store for a while")
	}
	t.Run("SQLite", func(t *testing.T) {
		shapesUnderLoad(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "placement.db")})
	})
	t.Run("MariaDB", func(t *testing.T) {
		sqltest.Need(t)
		shapesUnderLoad(t, sqlstore.Options{Server: sqltest.Server(t, dbtest.MariaDB(t).NewDatabase(t))})
	})
}

// The resources of a host, in all shapes.
const (
	shapedCPUs     = 64
	shapedMemoryMB = 65536
	shapedServers  = 20
)

// A shapedCloud is the hosts and the servers of the test.
type shapedCloud struct {
	t     *testing.T
	store *sqlstore.Store
	c     *placementclient.Compute
	hosts []inventory.Host
	// consumers are those that have to keep what they have.
	consumers map[string]allocations.Consumer
}

func shapesUnderLoad(t *testing.T, o sqlstore.Options) {
	t.Helper()
	c := &shapedCloud{t: t, store: sqltest.Open(t, o), consumers: map[string]allocations.Consumer{}}
	p := clienttest.NewProxy(t, placementapitest.On(t, c.store, service.DefaultSettings()))
	c.c = placementclient.NewCompute(clienttest.Options(t, p.URL))
	defer c.c.Close()
	c.fill()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	var placed, checked, slowest atomic.Int64
	for n := range 4 {
		load.Go(func() { c.serve(ctx, uint64(n), &placed, &slowest) })
	}
	load.Go(func() { c.watch(ctx, &checked) })
	for _, nodes := range []int{2, 0, 4, 0} {
		began := time.Now()
		c.reshape(nodes)
		t.Logf("%d hosts to %d nodes: %s", len(c.hosts), nodes, time.Since(began).Round(time.Millisecond))
		c.check(nodes)
	}
	cancel()
	load.Wait()
	t.Logf("%d servers placed, the slowest request %s; %d states checked", placed.Load(),
		time.Duration(slowest.Load()).Round(time.Millisecond), checked.Load())
	if placed.Load() == 0 || checked.Load() == 0 {
		t.Error("nothing happened meanwhile: the test has no use")
	}
}

// each calls a function for each host, 16 at a time.
func (c *shapedCloud) each(do func(i int) error) {
	c.t.Helper()
	var workers sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(c.hosts)); i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					c.t.Errorf("host %d: %v", i, err)
				}
			}
		})
	}
	workers.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// fill makes flat hosts with servers, half of them with two cells. A half of each host is free.
func (c *shapedCloud) fill() {
	c.t.Helper()
	base, err := guarantee.ParseUUID(nodeID)
	if err != nil {
		c.t.Fatal(err)
	}
	c.hosts = make([]inventory.Host, *shapedHosts)
	var mu sync.Mutex
	c.each(func(i int) error {
		h := inventory.Host{
			ID: base.Derive(fmt.Sprint("host ", i)), Name: fmt.Sprint("cn", i),
			VCPU:     inventory.Amount{Total: shapedCPUs, Initial: 1},
			MemoryMB: inventory.Amount{Total: shapedMemoryMB, Initial: 1},
		}
		c.hosts[i] = h
		if _, err := h.Sync(c.t.Context(), c.c, inventory.SyncOptions{Starting: true}); err != nil {
			return err
		}
		for k := range shapedServers {
			id := base.Derive(fmt.Sprint("server ", k, " of host ", i)).String()
			consumer := allocations.Consumer{
				Project: "p", User: "u", Type: allocations.Instance,
				Amounts: allocations.Amounts{h.ID.String(): {inventory.VCPU: int64(1 + k%2), inventory.MemoryMB: 1024}},
			}
			if err := c.c.SetAllocations(c.t.Context(), id, consumer); err != nil {
				return err
			}
			mu.Lock()
			c.consumers[id] = consumer
			mu.Unlock()
		}
		return nil
	})
}

// known is what the compute service knows of servers: those with two CPUs have two cells.
func (c *shapedCloud) known(_ context.Context, ids []string) (map[string]inventory.Consumer, error) {
	all := map[string]inventory.Consumer{}
	for _, id := range ids {
		known := inventory.Consumer{Label: "server " + id}
		for _, classes := range c.consumers[id].Amounts {
			if classes[inventory.VCPU] == 2 {
				cell := inventory.Cell{CPUs: inventory.CPUs{Total: 1}, MemoryMB: 512}
				known.Topologies = [][]inventory.Cell{{cell, cell}}
			}
		}
		all[id] = known
	}
	return all, nil
}

// errKilled is what a killed start has of each request.
var errKilled = errors.New("killed")

// A mortal placement service is one whose client is killed after so many changes.
type mortal struct {
	providertree.Placement
	left int
}

func (m *mortal) die() error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) Create(ctx context.Context, p providertree.Provider) (int64, error) {
	if err := m.die(); err != nil {
		return 0, err
	}
	return m.Placement.Create(ctx, p)
}

func (m *mortal) Remove(ctx context.Context, id placement.UUID) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Placement.Remove(ctx, id)
}

func (m *mortal) SetInventories(ctx context.Context, p providertree.Provider) (int64, error) {
	if err := m.die(); err != nil {
		return 0, err
	}
	return m.Placement.SetInventories(ctx, p)
}

func (m *mortal) SetTraits(ctx context.Context, p providertree.Provider) (int64, error) {
	if err := m.die(); err != nil {
		return 0, err
	}
	return m.Placement.SetTraits(ctx, p)
}

func (m *mortal) Reshape(
	ctx context.Context, providers []providertree.Provider, consumers map[string]allocations.Consumer,
) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Placement.Reshape(ctx, providers, consumers)
}

// reshape starts all hosts with so many nodes, after three starts that are killed.
func (c *shapedCloud) reshape(nodes int) {
	c.t.Helper()
	c.each(func(i int) error {
		h := c.hosts[i]
		for id := range nodes {
			h.Nodes = append(h.Nodes, inventory.Node{
				ID: id, VCPU: inventory.Amount{Total: int64(shapedCPUs / nodes), Initial: 1},
				Pages: []inventory.Pages{{
					SizeKB: 4, Small: true, Amount: inventory.Amount{Total: int64(shapedMemoryMB / nodes), Initial: 1},
				}},
			})
		}
		o := inventory.SyncOptions{Starting: true, Consumers: c.known}
		for range 3 {
			_, err := h.Sync(c.t.Context(), &mortal{c.c, rand.IntN(12)}, o)
			if err != nil && !errors.Is(err, errKilled) && !providertree.IsConflict(err) {
				return err
			}
		}
		var err error
		for range 50 { // reports, each of which is the last try of many
			if _, err = h.Sync(c.t.Context(), c.c, o); !providertree.IsConflict(err) {
				break
			}
		}
		return err
	})
}

// serve places servers of one CPU without a topology where there is room, and deletes them, until
// ctx ends. Refusals are those of a host that changes its shape meanwhile.
func (c *shapedCloud) serve(ctx context.Context, seed uint64, placed, slowest *atomic.Int64) {
	r := rand.New(rand.NewPCG(seed, 32))
	base, err := guarantee.ParseUUID(nodeID)
	if err != nil {
		c.t.Error(err)
		return
	}
	var mine []string
	measured := func(do func() error) error {
		began := time.Now()
		err := do()
		for took := int64(time.Since(began)); ; {
			if cur := slowest.Load(); took <= cur || slowest.CompareAndSwap(cur, took) {
				return err
			}
		}
	}
	pause := time.NewTicker(2 * time.Second / time.Duration(len(c.hosts))) // two changes of a host in a second
	defer pause.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if len(mine) > 8 {
			id := mine[0]
			err := measured(func() error {
				return allocations.Retry(ctx, allocations.Pause, func() error {
					cur, err := c.c.Allocations(ctx, id)
					if err != nil {
						return err
					}
					cur.Amounts = nil
					return c.c.SetAllocations(ctx, id, cur)
				})
			})
			if err != nil && ctx.Err() == nil {
				c.t.Errorf("deleting a server: %v", err)
			}
			mine = mine[1:]
			continue
		}
		q := placement.Query{Groups: []placement.RequestGroup{{
			Resources: []placement.ClassAmount{{Class: inventory.MemoryMB, Amount: 256}, {Class: inventory.VCPU, Amount: 1}},
			InTree:    placement.UUID(c.hosts[r.IntN(len(c.hosts))].ID.String()),
		}}}
		answer, err := c.c.Candidates(ctx, q)
		if err != nil || len(answer.Candidates) == 0 {
			if err != nil && ctx.Err() == nil {
				c.t.Errorf("finding a host: %v", err)
			}
			continue
		}
		id := base.Derive(fmt.Sprint("server ", n, " of ", seed)).String()
		err = measured(func() error {
			return c.c.SetAllocations(ctx, id, allocations.Consumer{
				Amounts: answer.Candidates[r.IntN(len(answer.Candidates))].Amounts, Project: "q", User: "u",
				Type: allocations.Instance,
			})
		})
		switch {
		case err == nil:
			placed.Add(1)
			mine = append(mine, id)
		case errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration), ctx.Err() != nil:
		default:
			c.t.Errorf("placing a server: %v", err)
		}
	}
}

// watch checks states of placement until ctx ends.
func (c *shapedCloud) watch(ctx context.Context, checked *atomic.Int64) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		err := c.store.View(ctx, func(r placement.Reader) error {
			rows, err := r.TreeRows(nil)
			if err != nil {
				return err
			}
			return promises(rows)
		})
		if err != nil && ctx.Err() == nil {
			c.t.Error(err)
			return
		}
		checked.Add(1)
	}
}

// promises returns an error when a host promises more than it has, or gives more than it promises.
func promises(rows placement.TreeRows) error {
	type amount struct{ total, used int64 }
	root, hosts := map[int64]int64{}, map[int64]map[placement.ClassID]amount{}
	for _, p := range rows.Providers {
		root[p.ID] = p.Root
	}
	for _, i := range rows.Inventories {
		if i.Used > i.Total {
			return fmt.Errorf("provider %d gives %d of %d of class %d", i.Provider, i.Used, i.Total, i.Class)
		}
		host := root[i.Provider]
		if hosts[host] == nil {
			hosts[host] = map[placement.ClassID]amount{}
		}
		cur := hosts[host][i.Class]
		hosts[host][i.Class] = amount{cur.total + i.Total, cur.used + i.Used}
	}
	for host, classes := range hosts {
		for class, a := range classes {
			if a.total != shapedCPUs && a.total != shapedMemoryMB {
				return fmt.Errorf("host %d promises %d of class %d", host, a.total, class)
			}
		}
	}
	return nil
}

// check checks that the servers have what they had: of as many nodes as they have cells.
func (c *shapedCloud) check(nodes int) {
	c.t.Helper()
	for id, before := range c.consumers {
		cur, err := c.c.Allocations(c.t.Context(), id)
		if err != nil {
			c.t.Fatal(err)
		}
		had, has, cpus := totals(before), totals(cur), 0
		for _, classes := range cur.Amounts {
			if classes[inventory.VCPU] > 0 {
				cpus++
			}
		}
		if !maps.Equal(had, has) {
			c.t.Fatalf("server %s has %v, want %v", id, has, had)
		}
		if want := min(had[inventory.VCPU], 2); nodes > 0 && had[inventory.VCPU] == 2 && int64(cpus) != want {
			c.t.Fatalf("server %s has CPUs of %d nodes, want %d: %v", id, cpus, want, cur.Amounts)
		}
	}
}

func totals(c allocations.Consumer) map[string]int64 {
	all := map[string]int64{}
	for _, classes := range c.Amounts {
		for class, n := range classes {
			all[class] += n
		}
	}
	return all
}
