package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
	"github.com/berthcloud/berth/sqlstore"
)

// A cloud is a service on a store in memory, with short words for what tests
// do to it. UUIDs are short names.
type cloud struct {
	*testing.T
	*service.Service
	store placement.Store
}

func openStore(t *testing.T) placement.Store {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return store
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	return cloudOn(t, openStore(t), service.DefaultSettings())
}

func cloudOn(t *testing.T, store placement.Store, set service.Settings) *cloud {
	t.Helper()
	set.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	s, err := service.New(context.Background(), store, set)
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{t, s, store}
}

// must stops the test when a step that only prepares fails.
func (c *cloud) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// provider makes a provider, below a parent unless that is empty.
func (c *cloud) provider(name, parent placement.UUID) {
	c.Helper()
	_, err := c.CreateProvider(context.Background(), placement.NewProvider{UUID: name, Name: string(name), Parent: parent})
	c.must(err)
}

// offer is an inventory of total units in any portions.
func offer(class string, total int64) placement.InventoryOf {
	return placement.InventoryOf{Class: class, Inventory: placement.Inventory{
		Total: total, MinUnit: 1, MaxUnit: placement.MaxInt, StepSize: 1, AllocationRatio: 1,
	}}
}

// offers makes a provider offer exactly these inventories.
func (c *cloud) offers(provider placement.UUID, invs ...placement.InventoryOf) {
	c.Helper()
	_, err := c.SetInventories(context.Background(), provider, invs, placement.InventoryRule{})
	c.must(err)
}

// on is a claim's part on one provider: a class and an amount, repeated.
func on(provider placement.UUID, class string, amount int64) placement.ProviderAllocation {
	return placement.ProviderAllocation{
		Provider: provider, Resources: []placement.ClassAmount{{Class: class, Amount: amount}},
	}
}

// claim is what a client before consumer generations sends.
func claim(consumer placement.UUID, parts ...placement.ProviderAllocation) placement.Claim {
	return placement.Claim{Consumer: consumer, Project: "p", User: "u", Allocations: parts}
}

// claimSeen is claim from a client that says which generation it saw, -1 for
// none.
func claimSeen(consumer placement.UUID, g placement.Generation, parts ...placement.ProviderAllocation) placement.Claim {
	cl := claim(consumer, parts...)
	cl.Seen = &placement.ConsumerSeen{Exists: g >= 0, Generation: max(g, 0)}
	return cl
}

func (c *cloud) claims(cl placement.Claim) {
	c.Helper()
	c.must(c.SetAllocations(context.Background(), cl))
}

func (c *cloud) snapshot() *snapshot.Snapshot {
	c.Helper()
	snap, err := c.Snapshot(context.Background())
	c.must(err)
	return snap
}

// generation returns the generation of a provider in the newest snapshot.
func (c *cloud) generation(provider placement.UUID) placement.Generation {
	c.Helper()
	p, _ := c.snapshot().Provider(provider)
	if p == nil {
		c.Fatalf("there is no provider %s", provider)
	}
	return p.Generation
}

// rises runs a step and checks by how much it raises a provider's generation.
func (c *cloud) rises(provider placement.UUID, by placement.Generation, step string, do func() error) {
	c.Helper()
	before := c.generation(provider)
	if err := do(); err != nil {
		c.Errorf("%s: %v", step, err)
	}
	if got := c.generation(provider) - before; got != by {
		c.Errorf("%s raises the generation of %s by %d, want %d", step, provider, got, by)
	}
}

// used returns how much of a class is allocated on a provider.
func (c *cloud) used(provider placement.UUID, class string) int64 {
	c.Helper()
	snap := c.snapshot()
	p, _ := snap.Provider(provider)
	id, _ := snap.Class(class)
	if s := p.Inventory(id); s != nil {
		return s.Used
	}
	return -1
}

// refuses checks the fault of a step that must fail.
func (c *cloud) refuses(step string, err error, kind fault.Kind, code fault.Code, want string) {
	c.Helper()
	gotKind, gotCode := fault.Of(err)
	if text(err) != want || gotKind != kind || gotCode != code {
		c.Errorf("%s is refused with %v %q:\n  %q\nwant %v %q:\n  %q", step, gotKind, gotCode, text(err), kind, code, want)
	}
}

// text returns what an error says, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
