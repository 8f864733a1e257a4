package placementtest

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/placement"
)

var transactions = []storeTest{
	{"RefusedUpdatesLeaveNothing", rollBack},
	{"WritersSeeTheirOwnChanges", seeOwn},
	{"DeclaredErrorsLeaveTheTransactionUsable", goOn},
	{"UpdatesWorkAfterAFailedOne", general(sample.UpdatesWorkAfterAFailedOne)},
	{"PanicsLeaveNothing", general(sample.PanicsLeaveNothing)},
	{"ViewsReturnTheirErrors", general(sample.ViewsReturnTheirErrors)},
	{"NothingWorksAfterTheFunctionReturned", useAfter},
	{"CancelledContextsRunNothing", general(sample.CancelledContextsRunNothing)},
	{"ClosedStoresRefuse", refuseAfterClose},
}

var errRefused = storetest.ErrRefused

func providerCount(c *storeCase) int {
	c.Helper()
	rows := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	return len(rows.Providers)
}

func rollBack(c *storeCase) {
	p := c.provider("cn1", nil)
	c.inventory(p.ID, 0, 8)
	before := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	err := c.store.Update(context.Background(), later, func(w placement.Writer) error {
		return errors.Join(
			w.BumpProvider(p.ID, 0),
			w.WriteClaims(placement.ClaimRows{
				Inserts:     []placement.ConsumerRow{{UUID: uuidOf("vm1"), Project: "blue", User: "ann", Type: "X"}},
				Allocations: []placement.AllocationRow{{Provider: p.ID, Consumer: uuidOf("vm1"), Used: 1}},
			}),
			w.AddProviderAggregates(p.ID, uuidOf("agg")),
			w.InsertInventory(p.ID, 1, placement.Inventory{Total: 1, AllocationRatio: 1}),
			errRefused)
	})
	if !errors.Is(err, errRefused) {
		c.Fatalf("Update() = %v, want %v", err, errRefused)
	}
	after := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	c.same("the store", after, before)
	err = c.store.View(context.Background(), func(r placement.Reader) error {
		_, err := r.Consumer(uuidOf("vm1"))
		return err
	})
	if !errors.Is(err, placement.ErrNoRow) {
		c.Errorf("Consumer() = %v, want %v", err, placement.ErrNoRow)
	}
}

func seeOwn(c *storeCase) {
	c.update(early, func(w placement.Writer) error {
		id, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf("cn1"), Name: "cn1"})
		if err != nil {
			return err
		}
		if err := w.BumpProvider(id, 0); err != nil {
			return err
		}
		got, err := w.Provider(uuidOf("cn1"))
		want := placement.ProviderRow{
			ID: id, UUID: uuidOf("cn1"), Name: "cn1", Root: id, Generation: 1, Modified: early, Updated: true,
		}
		c.same("Provider in its own Update", got, want)
		return err
	})
}

func goOn(c *storeCase) {
	p := c.provider("cn1", nil)
	c.update(later, func(w placement.Writer) error {
		_, taken := w.InsertProvider(p)
		_, unknown := w.Provider(uuidOf("nobody"))
		_, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf("cn2"), Name: "cn2"})
		return errors.Join(err,
			wants("InsertProvider(there)", taken, placement.ErrUUIDTaken),
			wants("Provider(unknown)", unknown, placement.ErrNoRow),
			wants("BumpProvider(stale)", w.BumpProvider(p.ID, 9), placement.ErrStale),
			w.BumpProvider(p.ID, 0))
	})
	c.same("providers", providerCount(c), 2)
}

func useAfter(c *storeCase) {
	var reader placement.Reader
	var writer placement.Writer
	c.view(func(r placement.Reader) error { reader = r; return nil })
	c.update(early, func(w placement.Writer) error { writer = w; return nil })
	if _, err := reader.Traits(); err == nil {
		c.Error("a Reader answers after its View")
	}
	if _, err := writer.Traits(); err == nil {
		c.Error("a Writer answers after its Update")
	}
	if _, err := writer.InsertTrait("CUSTOM_LATE"); err == nil {
		c.Error("a Writer writes after its Update")
	}
	traits := read(c, func(r placement.Reader) ([]placement.Named, error) { return r.Traits() })
	c.same("Traits", len(traits), 0)
}

func refuseAfterClose(c *storeCase) {
	if err := c.store.Close(); err != nil {
		c.Fatalf("Close() = %v", err)
	}
	if err := c.store.Update(context.Background(), early, func(placement.Writer) error { return nil }); err == nil {
		c.Error("Update on a closed store = nil")
	}
	if err := c.store.View(context.Background(), func(placement.Reader) error { return nil }); err == nil {
		c.Error("View on a closed store = nil")
	}
}
