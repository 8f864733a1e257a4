package placementtest

import (
	"context"
	"errors"
	"strings"

	"github.com/berthcloud/berth/placement"
)

var transactions = []storeTest{
	{"RefusedUpdatesLeaveNothing", rollBack},
	{"WritersSeeTheirOwnChanges", seeOwn},
	{"DeclaredErrorsLeaveTheTransactionUsable", goOn},
	{"UpdatesWorkAfterAFailedOne", workAfterError},
	{"PanicsLeaveNothing", panicking},
	{"ViewsReturnTheirErrors", viewErrors},
	{"NothingWorksAfterTheFunctionReturned", useAfter},
	{"CancelledContextsRunNothing", cancelled},
	{"ClosedStoresRefuse", refuseAfterClose},
}

var errRefused = errors.New("refused")

func providerCount(c *storeCase) int {
	c.Helper()
	pic := read(c, func(r placement.Reader) (placement.Picture, error) { return r.Picture(nil) })
	return len(pic.Providers)
}

func rollBack(c *storeCase) {
	p := c.provider("cn1", nil)
	c.stock(p.ID, 0, 8)
	before := read(c, func(r placement.Reader) (placement.Picture, error) { return r.Picture(nil) })
	err := c.store.Update(context.Background(), later, func(w placement.Writer) error {
		_, err := w.InsertConsumer(placement.ConsumerRow{UUID: uuidOf("vm1"), Project: "blue", User: "ann", Type: "X"})
		return errors.Join(err,
			w.BumpProvider(p.ID, 0),
			w.InsertAllocations(placement.AllocationRow{Provider: p.ID, Consumer: uuidOf("vm1"), Used: 1}),
			w.AddProviderAggregates(p.ID, uuidOf("agg")),
			w.InsertInventory(p.ID, 1, placement.Inventory{Total: 1, AllocationRatio: 1}),
			errRefused)
	})
	if !errors.Is(err, errRefused) {
		c.Fatalf("Update() = %v, want %v", err, errRefused)
	}
	after := read(c, func(r placement.Reader) (placement.Picture, error) { return r.Picture(nil) })
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
		want := placement.ProviderRow{ID: id, UUID: uuidOf("cn1"), Name: "cn1", Root: id, Generation: 1, Modified: early, Updated: true}
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

func workAfterError(c *storeCase) {
	for range 3 {
		err := c.store.Update(context.Background(), early, func(w placement.Writer) error {
			_, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf("cn1"), Name: "cn1"})
			return errors.Join(err, errRefused)
		})
		if !errors.Is(err, errRefused) {
			c.Fatalf("Update() = %v, want %v", err, errRefused)
		}
	}
	c.provider("cn1", nil)
	c.same("providers", providerCount(c), 1)
}

// panicking allows a store to return a panic of an Update as an error or to let
// it through; either way nothing is kept and the store goes on.
func panicking(c *storeCase) {
	outcome := func(run func() error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = errors.New(p.(string))
			}
		}()
		return run()
	}
	update := outcome(func() error {
		return c.store.Update(context.Background(), early, func(w placement.Writer) error {
			if _, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf("cn1"), Name: "cn1"}); err != nil {
				return err
			}
			panic("a planted panic")
		})
	})
	view := outcome(func() error {
		return c.store.View(context.Background(), func(placement.Reader) error { panic("a planted panic") })
	})
	for call, err := range map[string]error{"Update": update, "View": view} {
		if err == nil || !strings.Contains(err.Error(), "a planted panic") {
			c.Errorf("%s = %v, want the panic", call, err)
		}
	}
	c.same("providers after the panic", providerCount(c), 0)
	c.provider("cn1", nil)
	c.same("providers", providerCount(c), 1)
}

func viewErrors(c *storeCase) {
	err := c.store.View(context.Background(), func(placement.Reader) error { return errRefused })
	if !errors.Is(err, errRefused) {
		c.Errorf("View() = %v, want %v", err, errRefused)
	}
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

func cancelled(c *storeCase) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ran := false
	update := c.store.Update(ctx, early, func(placement.Writer) error { ran = true; return nil })
	view := c.store.View(ctx, func(placement.Reader) error { ran = true; return nil })
	for call, err := range map[string]error{"Update": update, "View": view} {
		if !errors.Is(err, context.Canceled) {
			c.Errorf("%s = %v, want %v", call, err, context.Canceled)
		}
	}
	c.same("a function ran", ran, false)
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
