package service_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
)

// logged returns the transactions after a position.
func (c *cloud) logged(since changelog.Position) (all []events.Transaction, at changelog.Position) {
	c.Helper()
	page, err := c.store.ChangeLog().Read(context.Background(), since, 500)
	c.must(err)
	if page.Lost || page.More {
		c.Fatalf("the log from %s on is lost (%v) or goes on (%v)", since, page.Lost, page.More)
	}
	for _, e := range page.Entries {
		all = append(all, events.Decode(e))
	}
	return all, page.At
}

// state returns the state of the store.
func (c *cloud) state() (s placementtest.State) {
	c.Helper()
	c.must(c.store.View(context.Background(), func(r placement.Reader) (err error) {
		s, err = placementtest.StateOf(r)
		return err
	}))
	return s
}

// TestEventsAreTheDifference does random things and wants the events of each to lead from the state
// before to that after.
func TestEventsAreTheDifference(t *testing.T) {
	ctx := context.Background()
	kinds := make(map[placement.EventKind]int)
	seeds := uint64(4)
	if racetest.Enabled {
		seeds = 1
	}
	for seed := range seeds {
		w := &wanderer{newCloud(t), rand.New(rand.NewPCG(seed, 1))}
		w.settle()
		_, at := w.logged(nil)
		for n := range 250 {
			before := w.state()
			step, failed := w.step(ctx)
			var entries []events.Transaction
			entries, at = w.logged(at)
			if failed != nil && len(entries) > 0 {
				t.Fatalf("seed %d, step %d (%s) is refused (%v), and logged: %+v", seed, n, step, failed, entries)
			}
			for _, e := range entries {
				for _, d := range e.Requests {
					for _, event := range d.Events {
						kinds[event.What]++
						if err := before.Apply(event); err != nil {
							t.Fatalf("seed %d, step %d (%s): %v", seed, n, step, err)
						}
					}
				}
			}
			if diff := cmp.Diff(w.state(), before); diff != "" {
				t.Fatalf("seed %d, step %d (%s): (-state +events)\n%s", seed, n, step, diff)
			}
		}
	}
	for _, kind := range []placement.EventKind{
		placement.EventProvider, placement.EventName, placement.EventParent, placement.EventInventory, placement.EventTrait,
		placement.EventAggregate, placement.EventAllocation, placement.EventClass,
	} {
		if kinds[kind] < 5 && !racetest.Enabled {
			t.Errorf("only %d events are about a %s: the test says little", kinds[kind], kind)
		}
	}
}

// TestEventsNameTheirRequest looks at the events of one thing of each kind.
func TestEventsNameTheirRequest(t *testing.T) {
	ctx := context.Background()
	set := service.DefaultSettings()
	type key struct{}
	set.Cause = func(ctx context.Context) placement.Cause {
		id, _ := ctx.Value(key{}).(string)
		return placement.Cause{RequestID: id, User: "u1"}
	}
	c := cloudOn(t, openStore(t), set)
	_, at := c.logged(nil)
	var got []placement.RequestEvents
	do := func(id string, fn func(context.Context) error) {
		c.must(fn(context.WithValue(ctx, key{}, id)))
		var entries []events.Transaction
		entries, at = c.logged(at)
		for _, e := range entries {
			if e.Time.IsZero() || e.Unlisted {
				t.Errorf("%s: entry %+v", id, e)
			}
			got = append(got, e.Requests...)
		}
	}
	create := func(name, parent string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateProvider(ctx, placement.NewProvider{
				UUID: placement.UUID(name), Name: "name of \"" + name + "\"", Parent: placement.UUID(parent),
			})
			return err
		}
	}
	do("r1", create("cn1", ""))
	do("r2", create("br", "cn1"))
	do("r3", func(ctx context.Context) error {
		_, err := c.SetInventories(ctx, "br", []placement.InventoryOf{offer("VCPU", 8), offer("DISK_GB", 9)},
			placement.InventoryRule{})
		return err
	})
	do("r4", func(ctx context.Context) error {
		return c.SetManyAllocations(ctx,
			[]placement.Claim{claim("vm1", on("br", "VCPU", 2)), claim("vm2", on("br", "VCPU", 1), on("br", "DISK_GB", 4))})
	})
	do("r5", func(ctx context.Context) error { return c.SetAllocations(ctx, claim("vm1", on("br", "VCPU", 3))) })
	do("r6", func(ctx context.Context) error { return c.DeleteAllocations(ctx, "vm1") })
	do("r7", func(ctx context.Context) error { return c.SetAllocations(ctx, claim("vm2")) })
	do("r8", func(ctx context.Context) error { return c.DeleteProvider(ctx, "br") })

	provider := func(id string, events ...placement.Event) placement.RequestEvents {
		for i := range events {
			if events[i].Provider == "" {
				events[i].Provider = "br"
			}
			events[i].Name, events[i].Root = `name of "`+string(events[i].Provider)+`"`, "cn1"
		}
		return placement.RequestEvents{Cause: placement.Cause{RequestID: id, User: "u1"}, Events: events}
	}
	const allocation = placement.EventAllocation
	want := []placement.RequestEvents{
		provider("r1", placement.Event{What: placement.EventProvider, Provider: "cn1", After: `name of "cn1"`}),
		provider("r2", placement.Event{What: placement.EventProvider, After: `name of "br"`}, placement.Event{
			What: placement.EventParent, After: `name of "cn1"`,
		}),
		provider("r3", placement.Event{What: placement.EventInventory, Subject: "VCPU", After: "total 8"},
			placement.Event{What: placement.EventInventory, Subject: "DISK_GB", After: "total 9"}),
		provider("r4", placement.Event{What: allocation, Consumer: "vm1", Subject: "VCPU", After: "2"},
			placement.Event{What: allocation, Consumer: "vm2", Subject: "VCPU", After: "1"},
			placement.Event{What: allocation, Consumer: "vm2", Subject: "DISK_GB", After: "4"}),
		provider("r5", placement.Event{What: allocation, Consumer: "vm1", Subject: "VCPU", Before: "2", After: "3"}),
		provider("r6", placement.Event{What: allocation, Consumer: "vm1", Subject: "VCPU", Before: "3"}),
		provider("r7", placement.Event{What: allocation, Consumer: "vm2", Subject: "VCPU", Before: "1"},
			placement.Event{What: allocation, Consumer: "vm2", Subject: "DISK_GB", Before: "4"}),
		provider("r8", placement.Event{What: placement.EventProvider, Before: `name of "br"`}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
