package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
	"github.com/berthcloud/berth/sqlstore"
)

// A faultyStore fails Views while a test says so.
type faultyStore struct {
	placement.Store
	broken atomic.Bool
}

var errBroken = errors.New("the disk is gone")

func (s *faultyStore) View(ctx context.Context, fn func(placement.Reader) error) error {
	if s.broken.Load() {
		return errBroken
	}
	return s.Store.View(ctx, fn)
}

func TestSnapshotIsUnavailableUntilItIsFresh(t *testing.T) {
	ctx := context.Background()
	store := &faultyStore{Store: openStore(t)}
	set := service.DefaultSettings()
	var failures []error
	set.RefreshFailed = func(err error) { failures = append(failures, err) }
	c := cloudOn(t, store, set)
	c.provider("a", "")
	store.broken.Store(true)
	// The write is durable, so it is acknowledged; what cannot be answered
	// truthfully is not answered.
	if _, err := c.CreateProvider(ctx, placement.NewProvider{UUID: "b", Name: "b"}); err != nil {
		t.Errorf("CreateProvider: %v, want it acknowledged", err)
	}
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), errBroken.Error()) {
		t.Errorf("the failed refresh was reported as %v, want once, with its cause", failures)
	}
	_, err := c.Snapshot(ctx)
	if f, ok := fault.Find(err); !ok || f.Error() != "The database cannot be read at the moment. Please try again." {
		t.Errorf("Snapshot: %v, want it unavailable", err)
	}
	if kind, _ := fault.Of(err); kind != fault.Unavailable {
		t.Errorf("Snapshot: %v, want it unavailable", err)
	}
	if snap, err := c.Ready(); err == nil || snap == nil {
		t.Errorf("Ready() = %v, %v, want the last snapshot and an error", snap, err)
	}
	store.broken.Store(false)
	if p, _ := c.snapshot().Provider("b"); p == nil {
		t.Error("the write that was committed is not in the snapshot")
	}
	if _, err := c.Ready(); err != nil {
		t.Errorf("Ready() = %v after the store came back", err)
	}
}

// Later writes must bring in what a failed refresh left out.
func TestLaterWriteBringsInWhatAFailedRefreshMissed(t *testing.T) {
	ctx := context.Background()
	store := &faultyStore{Store: openStore(t)}
	c := cloudOn(t, store, service.DefaultSettings())
	store.broken.Store(true)
	if _, err := c.EnsureTrait(ctx, "CUSTOM_A"); err != nil {
		t.Errorf("EnsureTrait: %v", err)
	}
	if err := c.CreateClass(ctx, "CUSTOM_B"); err != nil {
		t.Errorf("CreateClass: %v", err)
	}
	if _, err := c.CreateProvider(ctx, placement.NewProvider{UUID: "a", Name: "a"}); err != nil {
		t.Errorf("CreateProvider: %v", err)
	}
	store.broken.Store(false)
	c.provider("b", "")
	snap := c.snapshot()
	a, _ := snap.Provider("a")
	_, trait := snap.Trait("CUSTOM_A")
	_, class := snap.Class("CUSTOM_B")
	if a == nil || !trait || !class {
		t.Errorf("the snapshot has a: %v, CUSTOM_A: %t, CUSTOM_B: %t", a, trait, class)
	}
}

func TestServiceNeedsAStoreThatCanBeRead(t *testing.T) {
	store := &faultyStore{Store: openStore(t)}
	store.broken.Store(true)
	if s, err := service.New(context.Background(), store,
		service.DefaultSettings()); !errors.Is(err, errBroken) || s != nil {
		t.Errorf("NewService() = %v, %v, want %v", s, err, errBroken)
	}
}

// A staleStore makes the next n bumps of providers collide, alone or together.
type staleStore struct {
	placement.Store
	fails atomic.Int64
}

type staleWriter struct {
	placement.Writer
	store *staleStore
}

func (s *staleStore) Update(ctx context.Context, now time.Time, fn func(placement.Writer) error) error {
	return s.Store.Update(ctx, now, func(writer placement.Writer) error { return fn(&staleWriter{writer, s}) })
}

func (s *staleStore) Group(write func(placement.Writer) []error) func(context.Context, time.Time, func()) error {
	return s.Store.Group(func(writer placement.Writer) []error {
		return write(&staleWriter{writer, s})
	})
}

func (w *staleWriter) BumpProvider(provider int64, from placement.Generation) error {
	if w.store.fails.Add(-1) >= 0 {
		return placement.ErrStale
	}
	return w.Writer.BumpProvider(provider, from)
}

func (w *staleWriter) WriteClaims(c placement.ClaimRows) error {
	if w.store.fails.Add(-1) >= 0 {
		return placement.ErrStale
	}
	return w.Writer.WriteClaims(c)
}

func TestClaimsAreTriedAgain(t *testing.T) {
	store := &staleStore{Store: openStore(t)}
	set := service.DefaultSettings()
	set.ConflictRetries = 3
	events := make(map[service.ClaimEvent]int)
	set.Observe = func(e service.ClaimEvent) { events[e]++ }
	c := cloudOn(t, store, set)
	c.provider("a", "")
	c.offers("a", offer("VCPU", 2))
	store.fails.Store(2)
	c.claims(claim("s", on("a", "VCPU", 1)))
	store.fails.Store(3)
	err := c.SetAllocations(context.Background(), claim("s", on("a", "VCPU", 2)))
	c.refuses("a claim that always collides", err, fault.Conflict, placement.CodeConcurrentUpdate,
		"Inventory and/or allocations changed while attempting to allocate: "+
			"Another thread concurrently updated the resource provider data. Please retry your update")
	_ = c.SetAllocations(context.Background(), claim("s", on("a", "VCPU", 3))) // refused, which is counted
	want := map[service.ClaimEvent]int{
		service.ClaimAccepted: 1, service.ClaimRetried: 4, service.ClaimConflict: 1, service.ClaimRefused: 1,
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("observed events (-want +got):\n%s", diff)
	}
}

// A crowd writes to one service from several goroutines, each of which has
// providers of its own and fights for those that all share.
type crowd struct{ *cloud }

func (c *crowd) write(id int, rng *rand.Rand) {
	ctx := context.Background()
	own := placement.UUID(fmt.Sprintf("own%d", id))
	if _, err := c.CreateProvider(ctx, placement.NewProvider{UUID: own, Name: string(own)}); err != nil {
		c.Error(err)
	}
	c.sees(own, func(p *snapshot.Provider) bool { return p != nil })
	for step := range 12 {
		c.edit(ctx, rng, id, step, own)
	}
}

func (c *crowd) edit(ctx context.Context, rng *rand.Rand, id, step int, own placement.UUID) {
	switch rng.IntN(5) {
	case 0:
		total := int64(1 + step)
		if _, err := c.SetInventories(ctx, own, []placement.InventoryOf{offer("VCPU", total)}, anyGeneration); err != nil {
			c.Error(err)
		}
		c.sees(own, func(p *snapshot.Provider) bool { return p.Inventory(0).Total == total })
	case 1:
		name := fmt.Sprintf("own%d-%d", id, step)
		if _, err := c.UpdateProvider(ctx, own, placement.ProviderChange{Name: name}); err != nil {
			c.Error(err)
		}
		c.sees(own, func(p *snapshot.Provider) bool { return p.Name == name })
	case 2:
		c.move(ctx, rng, own)
	case 3:
		if _, err := c.SetAggregates(ctx, own, nil,
			[]placement.UUID{placement.UUID(fmt.Sprint("rack", rng.IntN(3)))}); err != nil {
			c.Error(err)
		}
	default:
		c.fight(ctx, placement.UUID(fmt.Sprint("server", rng.IntN(8))))
	}
}

func (c *crowd) move(ctx context.Context, rng *rand.Rand, own placement.UUID) {
	to := placement.UUID(fmt.Sprint("shared", rng.IntN(2)))
	change := placement.ProviderChange{Name: string(own), SetParent: true, Parent: to, Reparent: true}
	if _, err := c.UpdateProvider(ctx, own, change); err != nil {
		c.Error(err)
	}
	snap, err := c.Snapshot(ctx)
	if err != nil {
		c.Error(err)
		return
	}
	if p, tree := snap.Provider(own); tree.Info(p).Root != to {
		c.Errorf("%s moved to %s and is seen under %s", own, to, tree.Info(p).Root)
	}
}

// fight claims from a provider that is too small for all; conflicts are fair.
func (c *crowd) fight(ctx context.Context, server placement.UUID) {
	err := c.SetAllocations(ctx, claim(server, on("shared0", "VCPU", 2)))
	if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict {
		c.Error(err)
	}
}

// sees checks that what was acknowledged is in the snapshot requested after it.
func (c *crowd) sees(uuid placement.UUID, cur func(*snapshot.Provider) bool) {
	snap, err := c.Snapshot(context.Background())
	if err != nil {
		c.Error(err)
		return
	}
	if p, _ := snap.Provider(uuid); !cur(p) {
		c.Errorf("an acknowledged write is not seen: %+v", p)
	}
}

func TestConcurrentWritersSeeTheirWrites(t *testing.T) {
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, sqlstore.Options{Path: filepath.Join(t.TempDir(), "placement.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &crowd{cloudOn(t, store, service.DefaultSettings())}
	for _, shared := range []placement.UUID{"shared0", "shared1"} {
		c.provider(shared, "")
		c.offers(shared, offer("VCPU", 7))
	}
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() { c.write(id, rand.New(rand.NewPCG(1, uint64(id)))) })
	}
	wg.Wait()
	if used := c.used("shared0", "VCPU"); used > 7 {
		t.Errorf("%d of 7 VCPUs are used", used)
	}
	fresh := cloudOn(t, store, service.DefaultSettings())
	if diff := cmp.Diff(placementtest.Observe(fresh.snapshot()), placementtest.Observe(c.snapshot()),
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the snapshot differs from what is in the store (-store +snapshot):\n%s", diff)
	}
}

// Whoever is refused must be able to see why: the refusal brings in the write it
// rests on when that is committed and not in the snapshot yet.
func TestRefusalBringsInWhatItRestsOn(t *testing.T) {
	ctx := context.Background()
	for name, refused := range map[string]func(*cloud) error{
		"Claim":    func(c *cloud) error { return c.SetAllocations(ctx, claim("late", on("a", "VCPU", 1))) },
		"Trait":    func(c *cloud) error { return c.DeleteTrait(ctx, "CUSTOM_NEVER") },
		"Class":    func(c *cloud) error { return c.CreateClass(ctx, "CUSTOM_NEW") },
		"Provider": func(c *cloud) error { return c.DeleteProvider(ctx, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			store := &faultyStore{Store: openStore(t)}
			c := cloudOn(t, store, service.DefaultSettings())
			c.provider("a", "")
			c.offers("a", offer("VCPU", 1))
			store.broken.Store(true)
			c.claims(claim("early", on("a", "VCPU", 1)))
			c.must(c.CreateClass(ctx, "CUSTOM_NEW"))
			store.broken.Store(false)
			if err := refused(c); err == nil {
				t.Fatal("it was not refused")
			}
			snap, err := c.Ready()
			p, _ := snap.Provider("a")
			if _, known := snap.Class("CUSTOM_NEW"); err != nil || !known || p.Inventories[0].Used != 1 {
				t.Errorf("after the refusal the snapshot is not fresh for %v, knows the class: %t, used: %d", err, known,
					p.Inventories[0].Used)
			}
		})
	}
}
