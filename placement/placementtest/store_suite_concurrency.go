package placementtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/placement"
)

var concurrency = []storeTest{
	{"NoBumpIsLost", bumpTogether},
	{"RefusedUpdatesInABatchLeaveNothing", general(sample.RefusedUpdatesInABatchLeaveNothing)},
	{"ViewsNeverSeeHalfAnUpdate", viewWhileWriting},
	{"ViewsSeeWhatReturnedBefore", general(sample.ViewsSeeWhatReturnedBefore)},
	{"OneOfManyClaimsOfTheLastUnitWins", claimTheLast},
	{"LeavingTheQueueHarmsNobody", general(sample.LeavingTheQueueHarmsNobody)},
}

// bump raises a provider's generation once, however often it takes: it reads in
// one transaction and writes in another, as clients do.
func bump(c *storeCase, p placement.ProviderRow) error {
	for {
		now := p
		err := c.store.View(context.Background(), func(r placement.Reader) (err error) {
			now, err = r.Provider(p.UUID)
			return err
		})
		if err != nil {
			return err
		}
		err = c.store.Update(context.Background(), later, func(w placement.Writer) error {
			return w.BumpProvider(p.ID, now.Generation)
		})
		if !errors.Is(err, placement.ErrStale) {
			return err
		}
	}
}

func bumpTogether(c *storeCase) {
	const workers, bumps = 8, 20
	p := c.provider("cn1", nil)
	storetest.Together(workers, func(int) {
		for range bumps {
			if err := bump(c, p); err != nil {
				c.Errorf("bumping: %v", err)
			}
		}
	})
	got := read(c, func(r placement.Reader) (placement.ProviderRow, error) { return r.Provider(p.UUID) })
	c.same("the generation", got.Generation, placement.Generation(workers*bumps))
}

// viewWhileWriting moves one unit between two holders all the time: every View
// must find the same sum, however often it looks.
func viewWhileWriting(c *storeCase) {
	p := c.provider("cn1", nil)
	c.inventory(p.ID, 0, 10)
	c.allocate(uuidOf("a"), p, 0, 1)
	var done atomic.Bool
	look := func(r placement.Reader) error {
		for range 2 {
			a, err1 := r.AllocationsOf(uuidOf("a"))
			b, err2 := r.AllocationsOf(uuidOf("b"))
			invs, err3 := r.Inventories(p.ID)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			if len(a.Allocations)+len(b.Allocations) != 1 || invs[0].Used != 1 {
				return fmt.Errorf("a holds %d, b holds %d, %d in use", len(a.Allocations), len(b.Allocations), invs[0].Used)
			}
		}
		return nil
	}
	storetest.Together(3, func(i int) {
		if i == 0 {
			defer done.Store(true)
			shuttle(c, p, 60)
			return
		}
		for !done.Load() {
			if err := c.store.View(context.Background(), look); err != nil {
				c.Errorf("View: %v", err)
				return
			}
		}
	})
}

// shuttle moves what a holds to b and back, n times.
func shuttle(c *storeCase, p placement.ProviderRow, n int) {
	from, to := uuidOf("a"), uuidOf("b")
	for range n {
		err := c.store.Update(context.Background(), later, func(w placement.Writer) error {
			return w.WriteClaims(placement.ClaimRows{
				Released: map[placement.UUID][]placement.AllocatedAmount{
					from: {{Provider: p.ID, ProviderUUID: p.UUID, Root: p.ID, Used: 1}},
				},
				Allocations: []placement.AllocationRow{{Provider: p.ID, Consumer: to, Used: 1}},
			})
		})
		if err != nil {
			c.Errorf("moving: %v", err)
		}
		from, to = to, from
	}
}

// claimTheLast lets many request more than there is: the check and the claim of
// each must be one.
func claimTheLast(c *storeCase) {
	const workers, free = 16, 5
	p := c.provider("cn1", nil)
	c.inventory(p.ID, 0, free)
	var won atomic.Int64
	storetest.Together(workers, func(i int) {
		err := c.store.Update(context.Background(), later, func(w placement.Writer) error {
			invs, err := w.Inventories(p.ID)
			if err != nil {
				return err
			}
			if invs[0].Used >= free {
				return errRefused
			}
			vm := uuidOf(fmt.Sprintf("vm%d", i))
			return w.WriteClaims(placement.ClaimRows{
				Allocations: []placement.AllocationRow{{Provider: p.ID, Consumer: vm, Used: 1}},
			})
		})
		switch {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, errRefused):
			c.Errorf("claim %d: %v", i, err)
		}
	})
	c.same("claims that won", won.Load(), int64(free))
	invs := read(c, func(r placement.Reader) ([]placement.InventoryRow, error) { return r.Inventories(p.ID) })
	c.same("in use", invs[0].Used, int64(free))
}
