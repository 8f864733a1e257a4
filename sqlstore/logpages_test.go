package sqlstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// jostle does random things to few providers and consumers; many are refused.
func jostle(ctx context.Context, s *service.Service, rng *rand.Rand) error {
	rp := placement.UUID(fmt.Sprint("h", rng.IntN(4)))
	vm := placement.UUID(fmt.Sprint("vm", rng.IntN(4)))
	seen := placement.Generation(0)
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	if p, _ := snap.Provider(rp); p != nil {
		seen = p.Generation
	}
	inventory := func(total int) placement.Inventory {
		return placement.Inventory{Total: int64(total), MinUnit: 1, MaxUnit: 64, StepSize: 1, AllocationRatio: 1}
	}
	switch rng.IntN(9) {
	case 0:
		_, err = s.CreateProvider(ctx, placement.NewProvider{UUID: rp, Name: "name of " + string(rp)})
	case 1:
		err = s.DeleteProvider(ctx, rp)
	case 2:
		_, err = s.UpdateProvider(ctx, rp, placement.ProviderChange{Name: fmt.Sprint("name of ", rp, rng.IntN(3))})
	case 3:
		_, err = s.SetInventories(ctx, rp, []placement.InventoryOf{
			{Class: "VCPU", Inventory: inventory(40 + rng.IntN(3))}, {Class: "CUSTOM_THING", Inventory: inventory(40)},
		}, placement.InventoryRule{})
	case 4:
		_, err = s.SetTraits(ctx, rp, seen, []string{"CUSTOM_GOLD", "HW_CPU_X86_AVX"}[:rng.IntN(3)])
	case 5:
		_, err = s.SetAggregates(ctx, rp, nil, []placement.UUID{"a1", placement.UUID(fmt.Sprint("a", rng.IntN(4)))})
	case 6:
		err = s.DeleteAllocations(ctx, vm)
	default:
		err = s.SetAllocations(ctx, placement.Claim{
			Consumer: vm, Project: "p", User: "u", Allocations: []placement.ProviderAllocation{
				{Provider: rp, Resources: []placement.ClassAmount{
					{Class: "VCPU", Amount: int64(1 + rng.IntN(3))}, {Class: "CUSTOM_THING", Amount: 1},
				}},
			},
		})
	}
	return err
}

// TestLogIsTheDifference has two services write at the same time, and readers that go from one
// store to the other with their mark. The events that each reads lead from the state before to that
// after, in their order.
func TestLogIsTheDifference(t *testing.T) {
	onAll(t, func(t *testing.T, opts sqlstore.Options) {
		ctx := context.Background()
		stores := []*sqlstore.Store{open(t, opts)}
		if opts.Server != nil {
			stores = append(stores, open(t, opts))
		}
		var services []*service.Service
		for _, store := range stores {
			services = append(services, serve(t, store))
		}
		if err := populate(services[0], 3); err != nil {
			t.Fatal(err)
		}
		state := func() (s placementtest.State) {
			err := stores[0].View(ctx, func(r placement.Reader) (err error) {
				s, err = placementtest.StateOf(r)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first, err := stores[0].ChangeLog().Read(ctx, nil, 500)
		if err != nil {
			t.Fatal(err)
		}
		begin := state()

		var writers, readers sync.WaitGroup
		accepted := make(chan int, 8)
		for n := range 4 {
			writers.Go(func() {
				rng, done := rand.New(rand.NewPCG(uint64(n), 7)), 0
				for range 150 {
					if jostle(ctx, services[n%len(services)], rng) == nil {
						done++
					}
				}
				accepted <- done
			})
		}
		over := make(chan struct{})
		results := make([][]placement.Event, 2)
		for n := range results {
			readers.Go(func() {
				at, last := first.At, false
				for i := n; ; i++ {
					page, err := stores[i%len(stores)].ChangeLog().Read(ctx, at, 500)
					if err != nil || page.Lost {
						t.Errorf("reader %d: lost %v, %v", n, page.Lost, err)
						return
					}
					for _, e := range page.Entries {
						for _, d := range events.Decode(e).Requests {
							results[n] = append(results[n], d.Events...)
						}
					}
					text := page.At.String()
					if at, err = changelog.Parse(text); err != nil || !at.Reaches(page.At) {
						t.Errorf("Parse(%q) = %v, %v", text, at, err)
						return
					}
					if last && !page.More {
						return
					}
					select {
					case <-over:
						last = true
					default:
					}
				}
			})
		}
		writers.Wait()
		close(over)
		readers.Wait()
		if n := <-accepted + <-accepted + <-accepted + <-accepted; n < 100 {
			t.Errorf("only %d of 600 things were done: the test says little", n)
		}
		end := state()
		for n, events := range results {
			got := make(placementtest.State)
			for key, value := range begin {
				got[key] = value
			}
			for i, e := range events {
				if err := got.Apply(e); err != nil {
					t.Errorf("reader %d, event %d of %d: %v", n, i, len(events), err)
					break
				}
			}
			if diff := cmp.Diff(end, got); diff != "" {
				t.Errorf("reader %d (-state +events)\n%s", n, diff)
			}
		}
	})
}

// TestLogSaysWhatItLost requests positions that the log does not have.
func TestLogSaysWhatItLost(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		ctx := context.Background()
		a, b := two(t, url)
		s := serve(t, a)
		page := func(since changelog.Position) changelog.Page {
			t.Helper()
			p, err := b.ChangeLog().Read(ctx, since, 500)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		start := page(nil)
		if err := populate(s, 2); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		all := page(start.At)
		if all.Lost || len(all.Entries) != 14 {
			t.Fatalf("%d entries, lost %v; want 14", len(all.Entries), all.Lost)
		}
		since, whole, err := b.ChangeLog().PositionAt(ctx, before.Add(-time.Minute))
		if err != nil || !whole || !start.At.Reaches(since) {
			t.Errorf("PositionAt a minute ago = %v, whole %v, %v", since, whole, err)
		}
		if _, whole, _ := b.ChangeLog().PositionAt(ctx, before.Add(-time.Hour)); whole {
			t.Error("the log has all of the last hour, in which writers are deleted")
		}
		do(t, b, `DELETE FROM berth_changes WHERE seq <= 5`)
		if p := page(start.At); !p.Lost || len(p.Entries) == 0 {
			t.Errorf("after entries are deleted: lost %v, %d entries", p.Lost, len(p.Entries))
		}
		if p := page(all.At); p.Lost || len(p.Entries) > 0 {
			t.Errorf("behind what was deleted: lost %v, %d entries", p.Lost, len(p.Entries))
		}
		if _, whole, _ := b.ChangeLog().PositionAt(ctx, before.Add(-time.Minute)); whole {
			t.Error("the log has all of a minute of which entries are deleted")
		}
		ahead := make(changelog.Position)
		for writer, seq := range all.At {
			ahead[writer] = seq + 100
		}
		if p := page(ahead); !p.Lost {
			t.Error("a position ahead of the database is not lost")
		}
		do(t, b, `DELETE FROM berth_writers`)
		if p := page(all.At); !p.Lost {
			t.Error("a position of a writer that was deleted is not lost")
		}
	})
}

// TestFilesKeepTheirNewestEntries writes more than the log of a file has.
func TestFilesKeepTheirNewestEntries(t *testing.T) {
	ctx := context.Background()
	a := open(t, sqlstore.Options{Path: sqlstore.Memory})
	change := func(e placement.Event) {
		t.Helper()
		err := a.Update(ctx, now, func(w placement.Writer) error {
			w.Changed(placement.Changes{Requests: []placement.RequestEvents{{Events: []placement.Event{e}}}})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := func(since changelog.Position) changelog.Page {
		t.Helper()
		p, err := a.ChangeLog().Read(ctx, since, 500)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, whole, _ := a.ChangeLog().PositionAt(ctx, time.Now().Add(-time.Hour)); whole {
		t.Error("the log has all of an hour before the store was opened")
	}
	if _, whole, _ := a.ChangeLog().PositionAt(ctx, time.Now()); !whole {
		t.Error("the log has not all since it was opened")
	}
	start := page(nil).At
	rung := a.ChangeLog().Appended()
	change(placement.Event{What: placement.EventTrait, Subject: "a\nb", After: "ü"})
	select {
	case <-rung:
	default:
		t.Error("no reader gets the entry")
	}
	p := page(start)
	want := []placement.RequestEvents{
		{Events: []placement.Event{{What: placement.EventTrait, Subject: "a\nb", After: "ü"}}},
	}
	if p.Lost || len(p.Entries) != 1 {
		t.Fatalf("page %+v", p)
	}
	if diff := cmp.Diff(want, events.Decode(p.Entries[0]).Requests); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	second := p.At
	for range 4096 {
		change(placement.Event{What: placement.EventTrait, Subject: "T", After: "T"})
	}
	if p := page(second); p.Lost || !p.More || len(p.Entries) != 500 {
		t.Errorf("from the second on: lost %v, more %v, %d entries", p.Lost, p.More, len(p.Entries))
	}
	if p := page(start); !p.Lost || len(p.Entries) != 500 {
		t.Errorf("from the first on: lost %v, %d entries", p.Lost, len(p.Entries))
	}
	since, whole, _ := a.ChangeLog().PositionAt(ctx, time.Now().Add(time.Hour))
	if !whole || !since.Reaches(page(nil).At) {
		t.Errorf("PositionAt = %v, %v, want the end", since, whole)
	}
	if _, whole, _ := a.ChangeLog().PositionAt(ctx, time.Now().Add(-time.Hour)); whole {
		t.Error("the log has all of the last hour, though its first entry was dropped")
	}
	change(placement.Event{What: placement.EventTrait, Subject: strings.Repeat("x", 300<<10)})
	last := page(nil).At
	change(placement.Event{What: placement.EventTrait, Subject: strings.Repeat("x", 300<<10)})
	if p := page(last); len(p.Entries) != 1 {
		t.Errorf("%d entries, one of which is too long", len(p.Entries))
	} else if long := events.Decode(p.Entries[0]); !long.Unlisted || long.Len() != 0 {
		t.Errorf("an entry that is too long: %+v", long)
	}
	if p := page(changelog.Position{4711: 1}); !p.Lost {
		t.Error("a position of another process is not lost")
	}
}
