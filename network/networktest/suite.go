package networktest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
)

// TestStore checks that a store keeps the contract of network.Store, in three parts:
// what is read and written, transactions, and concurrency. Open returns one or more
// stores on one new database without rows, and closes them when the test ends; the
// suite reads through one what it wrote through another.
func TestStore(t *testing.T, open func(t *testing.T) []network.Store) {
	t.Run("Ordinary", func(t *testing.T) { runAll(t, open, ordinary) })
	t.Run("Transactions", func(t *testing.T) { runAll(t, open, transactions) })
	t.Run("Concurrency", func(t *testing.T) { runAll(t, open, concurrency) })
}

// A storeTest is a claim about stores and what checks it on new ones.
type storeTest struct {
	claim string
	check func(*storeCase)
}

func runAll(t *testing.T, open func(t *testing.T) []network.Store, tests []storeTest) {
	for _, test := range tests {
		t.Run(test.claim, func(t *testing.T) {
			stores := open(t)
			test.check(&storeCase{T: t, stores: stores, store: stores[0], other: stores[len(stores)-1]})
		})
	}
}

// A storeCase is one test with the stores that it is about.
type storeCase struct {
	*testing.T
	stores       []network.Store
	store, other network.Store // the first and the last, which may be the same
}

// A sample is rows to see transactions by.
type sample = storetest.Case[network.Reader, network.Writer]

// general checks what stores promise for any rows.
func general(claim func(sample)) func(*storeCase) {
	return func(c *storeCase) { claim(c.sample()) }
}

// sample has policies for rows.
func (c *storeCase) sample() sample {
	all := sample{
		T: c.T, Now: Now, Taken: network.ErrTaken,
		Insert: func(w network.Writer, name string) error { return Insert(w, NewPolicy(name)) },
		Has: func(r network.Reader, name string) (bool, error) {
			rows, err := network.Rows[network.PolicyRow](r, network.Where(network.ByName, name))
			return len(rows) == 1, err
		},
		Count: func(r network.Reader) (int, error) {
			n, err := network.Count[network.PolicyRow](r)
			return int(n), err
		},
	}
	for _, s := range c.stores {
		all.Stores = append(all.Stores, s)
	}
	return all
}

// update runs fn in an Update and stops the test when it fails.
func (c *storeCase) update(fn func(network.Writer) error) {
	c.Helper()
	if err := c.store.Update(context.Background(), Now, fn); err != nil {
		c.Fatalf("Update() = %v, want nil", err)
	}
}

// add inserts rows.
func (c *storeCase) add(rows ...any) {
	c.Helper()
	c.update(func(w network.Writer) error { return Insert(w, plain(rows)) })
}

// plain are rows as they come.
type plain []any

func (p plain) Rows() []any { return p }

// same compares an answer. A list without elements is nil in rows.
func (c *storeCase) same(what string, got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// read returns the rows of a type that match, as the last store sees them.
func read[T network.Row](c *storeCase, where ...network.Match) []T {
	c.Helper()
	var got []T
	err := c.other.View(context.Background(), func(r network.Reader) (err error) {
		got, err = network.Rows[T](r, where...)
		return err
	})
	if err != nil {
		c.Fatalf("View() = %v, want nil", err)
	}
	return got
}

// found checks which rows match.
func found[T network.Row](c *storeCase, what string, where []network.Match, want ...T) {
	c.Helper()
	c.same(what, read[T](c, where...), want)
}
