package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A wanderer does one random thing after the other to a cloud; many are refused.
type wanderer struct {
	*cloud
	rng *rand.Rand
}

func (w *wanderer) pick(n int) int { return w.rng.IntN(n) }

func (w *wanderer) rp() placement.UUID { return placement.UUID(fmt.Sprint("rp", w.pick(7))) }

func (w *wanderer) vm() placement.UUID { return placement.UUID(fmt.Sprint("vm", w.pick(5))) }

func (w *wanderer) class() string {
	return []string{"VCPU", "DISK_GB", "CUSTOM_A", "CUSTOM_B"}[w.pick(4)]
}

func (w *wanderer) trait() string {
	return []string{"HW_CPU_X86_AVX", "CUSTOM_T", placement.SharesViaAggregate}[w.pick(3)]
}

func (w *wanderer) claim() placement.Claim {
	parts := make([]placement.ProviderAllocation, min(2, w.pick(8)))
	for i := range parts {
		uuid := w.rp()
		parts[i] = on(uuid, w.offered(uuid), int64(1+w.pick(3)))
	}
	if len(parts) == 2 && parts[0].Provider == parts[1].Provider {
		parts = parts[:1]
	}
	return claim(w.vm(), parts...)
}

// settle gives the wanderer something to begin with.
func (w *wanderer) settle() {
	for i := range 6 {
		uuid := placement.UUID(fmt.Sprint("rp", i))
		w.provider(uuid, "")
		w.offers(uuid, offer("VCPU", 9), offer("DISK_GB", 9))
	}
}

// offered is a class that the provider offers, or any when it offers none.
func (w *wanderer) offered(uuid placement.UUID) string {
	snapshot := w.snapshot()
	p, _ := snapshot.Provider(uuid)
	if p == nil || len(p.Inventories) == 0 {
		return w.class()
	}
	return snapshot.ClassName(p.Inventories[w.pick(len(p.Inventories))].Class)
}

// reparent is a move of a provider to anywhere, or to the top.
func (w *wanderer) reparent() placement.ProviderChange {
	change := placement.ProviderChange{Name: string(w.rp()) + "x", SetParent: true, Reparent: true}
	if w.pick(3) > 0 {
		change.Parent = w.rp()
	}
	return change
}

func (w *wanderer) reshape() placement.Reshape {
	uuid := w.rp()
	return placement.Reshape{
		Inventories: []placement.ProviderInventories{{
			Provider: uuid, Generation: w.seen(uuid), Inventories: []placement.InventoryOf{offer(w.class(), 5)},
		}},
		Claims: []placement.Claim{w.claim()},
	}
}

// seen is the generation of a provider, right or not there.
func (w *wanderer) seen(uuid placement.UUID) placement.Generation {
	if p, _ := w.snapshot().Provider(uuid); p != nil {
		return p.Generation
	}
	return 0
}

// step does one thing and says which. Whether it is refused does not matter.
func (w *wanderer) step(ctx context.Context) (string, error) {
	uuid := w.rp()
	var err error
	switch what := w.pick(15); what {
	case 0, 1:
		n := placement.NewProvider{UUID: uuid, Name: string(uuid)}
		if w.pick(2) == 0 {
			n.Parent = w.rp()
		}
		_, err = w.CreateProvider(ctx, n)
		return fmt.Sprintf("create %+v", n), err
	case 2:
		return fmt.Sprint("delete ", uuid), w.DeleteProvider(ctx, uuid)
	case 3:
		change := w.reparent()
		_, err = w.UpdateProvider(ctx, uuid, change)
		return fmt.Sprintf("move %s %+v", uuid, change), err
	case 4, 5:
		invs := []placement.InventoryOf{offer("VCPU", int64(4+w.pick(6))), offer(w.class(), 9)}
		_, err = w.SetInventories(ctx, uuid, invs[:1+w.pick(2)], anyGeneration)
		return fmt.Sprintf("inventories %s %+v", uuid, invs), err
	case 6:
		trait := w.trait()
		_, err = w.SetTraits(ctx, uuid, w.seen(uuid), []string{trait})
		return fmt.Sprint("traits ", uuid, trait), err
	case 7:
		_, err = w.SetAggregates(ctx, uuid, nil, []placement.UUID{placement.UUID(fmt.Sprint("agg", w.pick(3)))})
		return fmt.Sprint("aggregates ", uuid), err
	case 8, 13:
		cl := w.claim()
		return fmt.Sprintf("claim %+v", cl), w.SetManyAllocations(ctx, []placement.Claim{cl})
	case 9, 10:
		cl := w.claim()
		return fmt.Sprintf("claim %+v", cl), w.SetAllocations(ctx, cl)
	case 11:
		vm := w.vm()
		return fmt.Sprint("free ", vm), w.DeleteAllocations(ctx, vm)
	case 12:
		r := w.reshape()
		return fmt.Sprintf("reshape %+v", r), w.Reshape(ctx, r)
	default:
		return w.catalog(ctx)
	}
}

// catalog changes traits or classes.
func (w *wanderer) catalog(ctx context.Context) (string, error) {
	var err error
	switch w.pick(5) {
	case 0:
		_, err = w.EnsureTrait(ctx, "CUSTOM_T")
		return "ensure trait", err
	case 1:
		return "delete trait", w.DeleteTrait(ctx, "CUSTOM_T")
	case 2:
		_, err = w.EnsureClass(ctx, w.class())
		return "ensure class", err
	case 3:
		return "rename class", w.RenameClass(ctx, "CUSTOM_A", "CUSTOM_B")
	default:
		return "delete class", w.DeleteClass(ctx, "CUSTOM_B")
	}
}

// load reads the store as a service that starts would.
func (w *wanderer) load(ctx context.Context) *snapshot.Snapshot {
	s, err := service.New(ctx, w.store, service.DefaultSettings())
	w.must(err)
	snapshot, err := s.Snapshot(ctx)
	w.must(err)
	return snapshot
}

// A holding is what is held on a provider, which is of that generation.
type holding struct {
	Rows       []placement.AllocationRow
	Generation placement.Generation
}

// allocated reads what is allocated on each provider.
func (w *wanderer) allocated(ctx context.Context) map[placement.UUID]holding {
	all := make(map[placement.UUID]holding)
	for tree := range w.snapshot().Trees() {
		for _, p := range tree.Providers {
			rows, g, err := w.AllocationsOn(ctx, p.UUID)
			w.must(err)
			all[p.UUID] = holding{rows, g}
		}
	}
	return all
}

// heldInStore is what held must be.
func (w *wanderer) heldInStore(ctx context.Context) map[placement.UUID]holding {
	all := make(map[placement.UUID]holding)
	w.must(w.store.View(ctx, func(r placement.Reader) error {
		for tree := range w.snapshot().Trees() {
			for _, p := range tree.Providers {
				rows, g, err := r.AllocationsOn(p.UUID)
				w.must(err)
				all[p.UUID] = holding{rows, g}
			}
		}
		return nil
	}))
	return all
}

// TestSnapshotFollowsTheStore does random things, most of which touch each other,
// and wants the snapshot to be after each what a start would read.
func TestSnapshotFollowsTheStore(t *testing.T) {
	ctx := context.Background()
	done, seeds := 0, 3
	if racetest.Enabled {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		w := &wanderer{newCloud(t), rand.New(rand.NewPCG(seed, 0))}
		w.settle()
		for n := range 150 {
			step, err := w.step(ctx)
			if err == nil {
				done++
			}
			diff := cmp.Diff(placementtest.Observe(w.load(ctx)), placementtest.Observe(w.snapshot()), cmpopts.EquateEmpty(),
				cmpopts.IgnoreTypes(time.Time{}))
			if diff != "" {
				t.Fatalf("seed %d, step %d (%s: %v): (-store +snapshot)\n%s", seed, n, step, err, diff)
			}
			if diff := cmp.Diff(w.heldInStore(ctx), w.allocated(ctx)); diff != "" {
				t.Fatalf("seed %d, step %d (%s: %v): what is held (-store +service)\n%s", seed, n, step, err, diff)
			}
		}
	}
	if done < 60*seeds {
		t.Errorf("only %d of %d steps were accepted: the test says little", done, 150*seeds)
	}
}
