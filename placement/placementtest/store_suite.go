package placementtest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/placement"
)

// TestStore checks that a store keeps the contract of placement.Store, in four
// parts: every method and its declared errors, claims, transactions, and
// concurrency.
// Open returns a new store without providers, classes, traits or consumers; the
// suite closes it.
func TestStore(t *testing.T, open func(t *testing.T) placement.Store) {
	t.Run("Ordinary", func(t *testing.T) { runAll(t, open, ordinary) })
	t.Run("Claims", func(t *testing.T) { runAll(t, open, claims) })
	t.Run("Transactions", func(t *testing.T) { runAll(t, open, transactions) })
	t.Run("Concurrency", func(t *testing.T) { runAll(t, open, concurrency) })
}

// A storeTest is a claim about stores and what checks it on a new one.
type storeTest struct {
	claim string
	check func(*storeCase)
}

func runAll(t *testing.T, open func(t *testing.T) placement.Store, tests []storeTest) {
	for _, test := range tests {
		t.Run(test.claim, func(t *testing.T) {
			c := &storeCase{T: t, store: open(t)}
			test.check(c)
			if err := c.store.Close(); err != nil {
				t.Errorf("Close() = %v, want nil", err)
			}
		})
	}
}

// The times at which the suite writes, in order. They are whole seconds: upstream's
// tables on MySQL keep no more.
var (
	early = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
)

// A storeCase is one test with the store that it is about.
type storeCase struct {
	*testing.T
	store placement.Store
}

// A sample is rows to see transactions by.
type sample = storetest.Case[placement.Reader, placement.Writer]

// general checks what stores promise whatever the rows are.
func general(claim func(sample)) func(*storeCase) {
	return func(c *storeCase) { claim(c.sample()) }
}

// sample has providers for rows.
func (c *storeCase) sample() sample {
	return sample{
		T: c.T, Stores: []storetest.Store[placement.Reader, placement.Writer]{c.store}, Now: early,
		Taken: placement.ErrUUIDTaken,
		Insert: func(w placement.Writer, name string) error {
			_, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf(name), Name: name})
			return err
		},
		Has: func(r placement.Reader, name string) (bool, error) {
			p, err := r.Provider(uuidOf(name))
			return p.Name == name, err
		},
		Count: func(r placement.Reader) (int, error) {
			rows, err := r.TreeRows(nil)
			return len(rows.Providers), err
		},
	}
}

// update runs fn in an Update at a time and stops the test when it fails.
func (c *storeCase) update(now time.Time, fn func(placement.Writer) error) {
	c.Helper()
	if err := c.store.Update(context.Background(), now, fn); err != nil {
		c.Fatalf("Update() = %v, want nil", err)
	}
}

// view runs fn in a View and stops the test when it fails.
func (c *storeCase) view(fn func(placement.Reader) error) {
	c.Helper()
	if err := c.store.View(context.Background(), fn); err != nil {
		c.Fatalf("View() = %v, want nil", err)
	}
}

// read runs fn in a Read and stops the test when it fails.
func (c *storeCase) read(fn func(placement.Reader) error) {
	c.Helper()
	if err := c.store.Read(context.Background(), fn); err != nil {
		c.Fatalf("Read() = %v, want nil", err)
	}
}

// same compares what a method answered.
func (c *storeCase) same(what string, got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		c.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// read runs one question in a View of its own.
func read[T any](c *storeCase, query func(placement.Reader) (T, error)) T {
	c.Helper()
	var got T
	c.view(func(r placement.Reader) (err error) {
		got, err = query(r)
		return err
	})
	return got
}

// add is an Update that makes one thing and returns its id.
func add[T any](c *storeCase, make func(placement.Writer) (T, error)) T {
	c.Helper()
	var id T
	c.update(early, func(w placement.Writer) (err error) {
		id, err = make(w)
		return err
	})
	return id
}

// provider adds a provider under a parent, which is nil for a root.
func (c *storeCase) provider(name string, parent *placement.ProviderRow) placement.ProviderRow {
	c.Helper()
	row := placement.ProviderRow{UUID: uuidOf(name), Name: name}
	if parent != nil {
		row.Parent, row.Root = parent.ID, parent.Root
	}
	row.ID = add(c, func(w placement.Writer) (int64, error) { return w.InsertProvider(row) })
	if parent == nil {
		row.Root, row.Updated = row.ID, true
	}
	row.Modified = early
	return row
}

// inventory gives a provider inventory of a class.
func (c *storeCase) inventory(provider int64, class placement.ClassID, total int64) placement.InventoryRow {
	c.Helper()
	inv := placement.Inventory{Total: total, Reserved: 1, MinUnit: 1, MaxUnit: total, StepSize: 1, AllocationRatio: 1.5}
	c.update(early, func(w placement.Writer) error { return w.InsertInventory(provider, class, inv) })
	return placement.InventoryRow{Provider: provider, Class: class, Inventory: inv, Modified: early}
}

// consumer adds a consumer of the project "blue" and the user "ann".
func (c *storeCase) consumer(name, kind string) placement.ConsumerRow {
	c.Helper()
	return c.add(placement.ConsumerRow{UUID: uuidOf(name), Project: "blue", User: "ann", Type: kind})
}

// add adds a consumer, and returns it with its id and generation.
func (c *storeCase) add(row placement.ConsumerRow) placement.ConsumerRow {
	c.Helper()
	c.claim(early, placement.ClaimRows{Inserts: []placement.ConsumerRow{row}})
	row.ID = read(c, func(r placement.Reader) (placement.ConsumerRow, error) { return r.Consumer(row.UUID) }).ID
	row.Generation = 1
	return row
}

// claim writes claims in an Update of their own.
func (c *storeCase) claim(now time.Time, rows placement.ClaimRows) {
	c.Helper()
	c.update(now, func(w placement.Writer) error { return w.WriteClaims(rows) })
}

// allocate gives an amount of a class to a consumer, which need not exist.
func (c *storeCase) allocate(
	consumer placement.UUID, p placement.ProviderRow, class placement.ClassID, used int64,
) placement.AllocationRow {
	c.Helper()
	row := placement.AllocationRow{Provider: p.ID, Consumer: consumer, Class: class, Used: used}
	c.claim(early, placement.ClaimRows{Allocations: []placement.AllocationRow{row}})
	row.ProviderUUID, row.Modified = p.UUID, early
	return row
}

// uuidOf returns a text of the length of a UUID that says what it names.
func uuidOf(name string) placement.UUID {
	const zeros = "00000000-0000-0000-0000-000000000000"
	return placement.UUID(zeros[:len(zeros)-len(name)] + name)
}
