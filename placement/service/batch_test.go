package service_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// A gatedStore holds up the next Update, or the next transaction of a Group, until it is
// made to go on, and counts its calls.
type gatedStore struct {
	placement.Store
	gate           atomic.Pointer[gate] // within the transaction of a Group
	before         atomic.Pointer[gate] // before it is requested
	updates, views atomic.Int64
	swaps          atomic.Int64 // transactions of a Group that wrote
	rises          func(placement.ClaimRows) error
}

type gate struct{ entered, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

// hold waits at a gate, once.
func hold(at *atomic.Pointer[gate]) {
	if g := at.Swap(nil); g != nil {
		close(g.entered)
		<-g.open
	}
}

func (s *gatedStore) View(ctx context.Context, fn func(placement.Reader) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, fn)
}

func (s *gatedStore) Update(ctx context.Context, now time.Time, fn func(placement.Writer) error) error {
	s.updates.Add(1)
	return s.Store.Update(ctx, now, func(writer placement.Writer) error { return fn(&gatedWriter{writer, s}) })
}

func (s *gatedStore) Group(write func(placement.Writer) []error) func(context.Context, time.Time, func()) error {
	group := s.Store.Group(func(writer placement.Writer) []error {
		s.updates.Add(1)
		hold(&s.gate)
		return write(&gatedWriter{writer, s})
	})
	return func(ctx context.Context, now time.Time, join func()) error {
		hold(&s.before)
		return group(ctx, now, join)
	}
}

// waiting is how many Updates wait.
func (s *gatedStore) waiting() int { return s.Store.(interface{ Waiting() int }).Waiting() }

type gatedWriter struct {
	placement.Writer
	store *gatedStore
}

func (w *gatedWriter) WriteClaims(c placement.ClaimRows) error {
	w.store.swaps.Add(1)
	if w.store.rises != nil {
		if err := w.store.rises(c); err != nil {
			return err
		}
	}
	return w.Writer.WriteClaims(c)
}

// batchCloud is a cloud whose claims can be made to share a batch. Its clock
// ticks.
type batchCloud struct {
	*cloud
	gated *gatedStore
}

func newBatchCloud(t *testing.T, store placement.Store) *batchCloud {
	t.Helper()
	gated := &gatedStore{Store: store}
	set := service.DefaultSettings()
	var ticks atomic.Int64
	set.Now = func() time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ticks.Add(1)) * 1234567 * time.Nanosecond)
	}
	s, err := service.New(context.Background(), gated, set)
	if err != nil {
		t.Fatal(err)
	}
	return &batchCloud{&cloud{t, s, gated}, gated}
}

// together runs requests so that they wait for the first one's transaction, and
// returns what each got.
func (c *batchCloud) together(requests ...func() error) []error {
	got := make([]error, len(requests))
	g := newGate()
	c.gated.gate.Store(g)
	var all sync.WaitGroup
	var alone atomic.Int64 // those that did not wait
	for i, request := range requests {
		all.Go(func() { got[i] = request(); alone.Add(1) })
		if i == 0 {
			<-g.entered
			continue
		}
		for end := time.Now().Add(30 * time.Second); c.gated.waiting()+int(alone.Load()) < i; runtime.Gosched() {
			if time.Now().After(end) {
				c.Fatal("a claim neither waits nor ends")
			}
		}
	}
	close(g.open)
	all.Wait()
	return got
}

// awaitWaiting waits until so many claims wait for a batch.
func (c *batchCloud) awaitWaiting(n int) {
	c.Helper()
	for end := time.Now().Add(30 * time.Second); c.gated.waiting() < n; runtime.Gosched() {
		if time.Now().After(end) {
			c.Fatalf("no %d claims wait", n)
		}
	}
}

func (c *batchCloud) claiming(cl placement.Claim) func() error {
	return func() error { return c.SetAllocations(context.Background(), cl) }
}

func (c *batchCloud) releasing(consumer placement.UUID) func() error {
	return func() error { return c.DeleteAllocations(context.Background(), consumer) }
}

func TestClaimsShareATransactionAndNeedNoReading(t *testing.T) {
	c := newBatchCloud(t, openStore(t))
	for _, p := range []placement.UUID{"a", "b"} {
		c.provider(p, "")
		c.offers(p, offer("VCPU", 8))
	}
	ga, gb := c.generation("a"), c.generation("b")
	updates, views := c.gated.updates.Load(), c.gated.views.Load()
	got := c.together(
		c.claiming(claim("s1", on("a", "VCPU", 1))),
		c.claiming(claim("s2", on("a", "VCPU", 2))),
		c.claiming(claim("s3", on("a", "VCPU", 3), on("b", "VCPU", 4))),
	)
	c.must(errors.Join(got...))
	c.must(c.releasing("s2")())
	if n := c.gated.updates.Load() - updates; n != 3 { // the first one, those that waited for it, the release
		t.Errorf("three claims and a release took %d transactions, want 3", n)
	}
	if n := c.gated.views.Load() - views; n != 0 {
		t.Errorf("the store was read %d times, want never", n)
	}
	if a, b := c.used("a", "VCPU"), c.used("b", "VCPU"); a != 4 || b != 4 {
		t.Errorf("used are %d and %d, want 4 and 4", a, b)
	}
	if a, b := c.generation("a")-ga, c.generation("b")-gb; a != 3 || b != 1 {
		t.Errorf("generations rose by %d and %d, want 3 and 1", a, b)
	}
}

func TestBatchesDoNotOvercommit(t *testing.T) {
	c := newBatchCloud(t, openStore(t))
	c.provider("a", "")
	c.offers("a", offer("VCPU", 4))
	var requests []func() error
	for i := range 7 {
		requests = append(requests, c.claiming(claim(placement.UUID(fmt.Sprint("s", i)), on("a", "VCPU", 1))))
	}
	accepted := 0
	for _, err := range c.together(requests...) {
		if err == nil {
			accepted++
			continue
		}
		c.refuses("a claim too many", err, fault.Conflict, "", "Unable to allocate inventory: "+
			"Unable to create allocation for 'VCPU' on resource provider 'a'. The requested amount would exceed the capacity.")
	}
	if used := c.used("a", "VCPU"); accepted != 4 || used != 4 {
		t.Errorf("%d claims were accepted and %d of 4 are used", accepted, used)
	}
}

// A batch with one member that must be refused is written for the others.
func TestRefusedMembersDoNotSpoilABatch(t *testing.T) {
	c := newBatchCloud(t, openStore(t))
	c.provider("a", "")
	c.offers("a", offer("VCPU", 8))
	c.claims(claimSeen("old", -1, on("a", "VCPU", 1)))
	got := c.together(
		c.claiming(claimSeen("new", -1, on("a", "VCPU", 1))),
		c.claiming(claimSeen("old", -1, on("a", "VCPU", 1))),
		c.claiming(claimSeen("other", -1, on("a", "VCPU", 1))),
		c.releasing("nobody"),
	)
	c.must(errors.Join(got[0], got[2]))
	c.refuses("another generation", got[1], fault.Conflict, placement.CodeConcurrentUpdate,
		"consumer generation conflict - expected 1 but got None")
	c.refuses("a release of nothing", got[3], fault.NotFound, "", "No allocations for consumer 'nobody'")
	if used := c.used("a", "VCPU"); used != 3 {
		t.Errorf("%d are used, want 3", used)
	}
}

// Requests about one consumer take effect in their order.
func TestRequestsAboutOneConsumerKeepTheirOrder(t *testing.T) {
	c := newBatchCloud(t, openStore(t))
	c.provider("a", "")
	c.offers("a", offer("VCPU", 8))
	c.must(errors.Join(c.together(
		c.claiming(claimSeen("s", -1, on("a", "VCPU", 1))),
		c.claiming(claimSeen("s", 1, on("a", "VCPU", 2))),
		c.claiming(claimSeen("s", 2, on("a", "VCPU", 3))),
		c.releasing("s"),
		c.claiming(claimSeen("s", -1, on("a", "VCPU", 5))),
	)...))
	if used := c.used("a", "VCPU"); used != 5 {
		t.Errorf("%d are used, want 5", used)
	}
}

// What changes between the check and the write is found by the swap, and the
// claims go on from what there is then.
func TestSwapsThatMissAreTriedAgain(t *testing.T) {
	ctx := context.Background()
	c := newBatchCloud(t, openStore(t))
	c.provider("a", "")
	c.offers("a", offer("VCPU", 8))
	g := newGate()
	c.gated.before.Store(g)
	done := make(chan error, 1)
	go func() { done <- c.SetAllocations(ctx, claim("s", on("a", "VCPU", 4))) }()
	<-g.entered
	// Another program of this store's: the snapshot does not learn of it.
	c.must(c.gated.Store.Update(ctx, time.Unix(0, 0), func(writer placement.Writer) error {
		p, err := writer.Provider("a")
		if err != nil {
			return err
		}
		inv := offer("VCPU", 3).Inventory
		return errors.Join(writer.UpdateInventory(p.ID, 0, inv), writer.BumpProvider(p.ID, p.Generation))
	}))
	close(g.open)
	c.refuses("a claim over what is left", <-done, fault.Conflict, "", "Unable to allocate inventory: "+
		"Unable to create allocation for 'VCPU' on resource provider 'a'. The requested amount would exceed the capacity.")
}

func TestWaitingClaimsMayLeave(t *testing.T) {
	c := newBatchCloud(t, openStore(t))
	c.provider("a", "")
	c.offers("a", offer("VCPU", 8))
	g := newGate()
	c.gated.gate.Store(g)
	first, remaining, last := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { first <- c.claiming(claim("s1", on("a", "VCPU", 1)))() }()
	<-g.entered

	ctx, cancel := context.WithCancel(context.Background())
	go func() { remaining <- c.SetAllocations(ctx, claim("s2", on("a", "VCPU", 2))) }()
	c.awaitWaiting(1)
	cancel()
	if err := <-remaining; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	go func() { last <- c.claiming(claim("s3", on("a", "VCPU", 4)))() }()
	c.awaitWaiting(1)
	close(g.open)
	if err := errors.Join(<-first, <-last); err != nil {
		t.Errorf("the others got %v", err)
	}
	if used := c.used("a", "VCPU"); used != 5 {
		t.Errorf("%d are used, want 5", used)
	}
}

// TestSteppedSnapshotsAreReadSnapshots does random things in batches and between
// them, and wants the snapshot to be after each, to the last digit of each time,
// what a start would read.
func TestSteppedSnapshotsAreReadSnapshots(t *testing.T) {
	swaps, accepted := int64(0), 0
	rapid.Check(t, func(rt *rapid.T) {
		store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		h := &batchHistory{batchCloud: newBatchCloud(t, store), rapid: rt}
		h.begin()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			h.step()
			h.compare()
		}
		swaps += h.gated.swaps.Load()
		accepted += h.accepted
	})
	if swaps == 0 || accepted == 0 {
		t.Errorf("%d batches were written and %d claims accepted: the test says nothing", swaps, accepted)
	}
}

// A batchHistory is a random one on a small cloud: three trees, five consumers.
type batchHistory struct {
	*batchCloud
	rapid    *rapid.T
	accepted int
}

var historyHosts = []placement.UUID{"h0", "h1", "h1-child", "h2"}

func (h *batchHistory) begin() {
	for _, p := range historyHosts {
		parent := placement.UUID("")
		if p == "h1-child" {
			parent = "h1"
		}
		h.provider(p, parent)
		h.offers(p, offer("VCPU", 6), offer("DISK_GB", 9))
	}
}

// step is a batch, or something else that writes.
func (h *batchHistory) step() {
	ctx := context.Background()
	host := rapid.SampledFrom(historyHosts).Draw(h.rapid, "host")
	switch rapid.IntRange(0, 7).Draw(h.rapid, "what") {
	case 0:
		_, _ = h.UpdateInventory(ctx, host, offer("VCPU", int64(rapid.IntRange(2, 9).Draw(h.rapid, "total"))), anyGeneration)
	case 1:
		_, _ = h.SetAggregates(ctx, host, nil, []placement.UUID{"rack"})
	case 2:
		_, _ = h.UpdateProvider(ctx, "h1-child", placement.ProviderChange{
			Name: "h1-child", SetParent: true, Reparent: true,
			Parent: rapid.SampledFrom([]placement.UUID{"", "h0", "h1"}).Draw(h.rapid, "parent"),
		})
	default:
		h.batch()
	}
}

func (h *batchHistory) batch() {
	var requests []func() error
	about := make(map[placement.UUID]bool)
	for range rapid.IntRange(1, 5).Draw(h.rapid, "size") {
		vm := placement.UUID(fmt.Sprint("vm", rapid.IntRange(0, 4).Draw(h.rapid, "vm")))
		if about[vm] {
			continue // it would wait for the next batch
		}
		about[vm] = true
		if rapid.IntRange(0, 3).Draw(h.rapid, "release") == 0 {
			requests = append(requests, h.releasing(vm))
		} else {
			requests = append(requests, h.claiming(h.claim(vm)))
		}
	}
	// The first must have a transaction for the others to wait for.
	requests = append([]func() error{h.releasing("gate")}, requests...)
	for _, err := range h.together(requests...)[1:] {
		switch kind, _ := fault.Of(err); {
		case err == nil:
			h.accepted++
		case kind != fault.Conflict && kind != fault.NotFound:
			h.rapid.Fatalf("a request got %v", err)
		}
	}
}

func (h *batchHistory) claim(vm placement.UUID) placement.Claim {
	var parts []placement.ProviderAllocation
	for _, p := range historyHosts {
		if rapid.IntRange(0, 2).Draw(h.rapid, "on") > 0 {
			continue
		}
		parts = append(parts, placement.ProviderAllocation{Provider: p, Resources: []placement.ClassAmount{
			{Class: "VCPU", Amount: int64(rapid.IntRange(1, 4).Draw(h.rapid, "vcpus"))},
			{Class: "DISK_GB", Amount: int64(rapid.IntRange(1, 3).Draw(h.rapid, "disk"))},
		}})
	}
	if parts == nil {
		parts = append(parts, on("h0", "VCPU", 1))
	}
	return claim(vm, parts...)
}

// compare holds the snapshot to what a start would read.
func (h *batchHistory) compare() {
	s, err := service.New(context.Background(), h.gated.Store, service.DefaultSettings())
	h.must(err)
	fresh, err := s.Snapshot(context.Background())
	h.must(err)
	if diff := cmp.Diff(placementtest.Observe(fresh), placementtest.Observe(h.snapshot()),
		cmpopts.EquateEmpty()); diff != "" {
		h.rapid.Fatalf("the snapshot differs from the store (-store +snapshot):\n%s", diff)
	}
}
