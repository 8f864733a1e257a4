package computetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
)

// TestStore checks that a store keeps the contract of compute.Store for the compute
// service's rows, and that of package rows in short: networktest's suite is the
// longer one. Open returns one or more stores on one new database without rows, and
// closes them when the test ends; the suite reads through one what it wrote through
// another.
func TestStore(t *testing.T, open func(t *testing.T) []compute.Store) {
	for _, test := range []struct {
		claim string
		check func(*storeCase)
	}{
		{"RowsComeBackAsTheyWere", comeBack},
		{"EmptyListsAndMapsComeBackAsNil", emptyLists},
		{"RowsAreFoundByTheirFields", findByFields},
		{"AmountsAddUp", addUp},
		{"OldRowsAreFound", older},
		{"SummariesAreOfTheirRows", summarize},
		{"TextsAreComparedByTheirBytes", compareTexts},
		{"ReplaceWritesAllFields", replaceAll},
		{"WhatMustBeUniqueIs", unique},
		{"ReferencesHold", references},
		{"RefusedUpdatesLeaveNothing", rollBack},
		{"DeclaredErrorsLeaveTheTransactionUsable", goOn},
		{"NoChangeIsLost", countTogether},
	} {
		t.Run(test.claim, func(t *testing.T) {
			stores := open(t)
			test.check(&storeCase{T: t, stores: stores, store: stores[0], other: stores[len(stores)-1]})
		})
	}
}

// A storeCase is one test with the stores that it is about.
type storeCase struct {
	*testing.T
	stores       []compute.Store
	store, other compute.Store // the first and the last, which may be the same
}

func (c *storeCase) update(fn func(compute.Writer) error) {
	c.Helper()
	if err := c.store.Update(context.Background(), Now, fn); err != nil {
		c.Fatalf("Update() = %v, want nil", err)
	}
}

// rows returns what matches, as the last store sees it.
func (c *storeCase) rows(t rowType, where ...compute.Match) (rows []any, err error) {
	err = c.other.View(context.Background(), func(r compute.Reader) error {
		rows, err = t.read(r, where...)
		return err
	})
	return rows, err
}

// count returns how many rows match, as the last store counts them.
func (c *storeCase) count(t rowType, where ...compute.Match) (n int64, err error) {
	err = c.other.View(context.Background(), func(r compute.Reader) error {
		n, err = t.count(r, where...)
		return err
	})
	return n, err
}

// same compares an answer. A list without elements is nil in rows.
func (c *storeCase) same(what string, got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func comeBack(c *storeCase) {
	full, bare := fullFixture(), bareFixture("bare ")
	Add(c, c.store, full.Rows()...)
	Add(c, c.store, bare.Rows()...)
	for i, t := range rowTypes {
		want := []any{full.Rows()[i], bare.Rows()[i]}
		noZero(c, reflect.ValueOf(want[0]).Elem())
		got, err := c.rows(t)
		if err != nil || len(got) != 2 {
			c.Fatalf("%d of 2 %s (%v)", len(got), t.name, err)
		}
		if !reflect.DeepEqual(got[0], want[0]) {
			got[0], got[1] = got[1], got[0]
		}
		c.same(t.name, got, want)
	}
}

// noZero requires a value in every field, so that none is missing from a table.
func noZero(c *storeCase, v reflect.Value) {
	c.Helper()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			c.Errorf("the suite has no value for %s.%s", v.Type(), v.Type().Field(i).Name)
		}
	}
}

func emptyLists(c *storeCase) {
	s := Server("vm", "")
	want := *s
	s.Tags, s.Metadata, s.Fault = []string{}, map[string]string{}, []byte{}
	Add(c, c.store, s)
	c.same("the server", Read[compute.ServerRow](c, c.other), []compute.ServerRow{want})
}

func findByFields(c *storeCase) {
	full, bare := fullFixture(), bareFixture("bare ")
	Add(c, c.store, full.Rows()...)
	Add(c, c.store, bare.Rows()...)
	for i, t := range rowTypes {
		for _, w := range []*fixture{full, bare} {
			for _, f := range allFields {
				value, ok := t.by(w)[f]
				got, err := c.rows(t, compute.Where[any](f, "nobody", value, value))
				count, notCounted := c.count(t, compute.Where[any](f, "nobody", value, value))
				switch {
				case (err == nil) != (notCounted == nil) || count != int64(len(got)):
					c.Errorf("there are %d %s by %s (%v), and %d are counted (%v)", len(got), t.name, f, err, count, notCounted)
				case !ok && err == nil:
					c.Errorf("%s by %s = %v, want an error", t.name, f, got)
				case ok && err != nil:
					c.Errorf("%s by %s: %v", t.name, f, err)
				case ok:
					c.same(fmt.Sprintf("%s by %s", t.name, f), got, w.Rows()[i:i+1])
				}
			}
		}
	}
}

// addUp adds up what the flavors of servers say, of more values than one statement has, and of
// none.
func addUp(c *storeCase) {
	ids := make([]compute.ID, 1200)
	for i := range ids {
		ids[i] = ID(fmt.Sprint("none", i))
	}
	for i, n := range []int64{1, 2, 4} {
		row := Server(fmt.Sprint("vm", i), "")
		row.Flavor = Flavor("f", n, 1024*n, 0).Keep()
		row.Project = []string{"red", "blue"}[i%2]
		Add(c, c.store, row)
		ids[500*i] = row.ID
	}
	sum := func(want int64, amount compute.Field, where ...compute.Match) {
		c.Helper()
		var got int64
		err := c.other.View(context.Background(), func(r compute.Reader) (err error) {
			got, err = r.Sum(&compute.ServerRow{}, amount, where...)
			return err
		})
		if err != nil || got != want {
			c.Errorf("the sum of %s = %d, %v, want %d", amount, got, err, want)
		}
	}
	sum(7, compute.VCPUs)
	sum(7, compute.VCPUs, compute.Where(compute.ByID, ids...))
	sum(5, compute.VCPUs, compute.Where(compute.ByProject, "red"))
	sum(5<<10, compute.MemoryMB, compute.Where(compute.ByProject, "red"))
	sum(0, compute.MemoryMB, compute.Where(compute.ByProject, "green"))
	c.update(func(w compute.Writer) error {
		for _, query := range []struct {
			row    any
			amount compute.Field
		}{
			{&compute.ServerRow{}, compute.ByID},
			{&compute.ServerRow{}, "disk_gb"},
			{&compute.PortRow{}, compute.VCPUs},
			{compute.ServerRow{}, compute.VCPUs},
		} {
			if n, err := w.Sum(query.row, query.amount); err == nil {
				c.Errorf("the sum of %s of %T = %d, want an error", query.amount, query.row, n)
			}
		}
		return nil
	})
}

// older finds rows by their times, not more than some.
func older(c *storeCase) {
	for i := range 3 {
		Add(c, c.store, &compute.ActionRow{
			ID: ID(fmt.Sprint("action", i)), StartedAt: Now, UpdatedAt: Now.Add(time.Duration(i) * time.Hour),
		})
	}
	for _, tc := range []struct {
		before time.Duration
		most   int
		want   int
	}{{0, 10, 0}, {time.Second, 10, 1}, {time.Hour, 10, 1}, {24 * time.Hour, 10, 3}, {24 * time.Hour, 2, 2}} {
		var keys []string
		err := c.other.View(context.Background(), func(r compute.Reader) (err error) {
			keys, err = r.Older(&compute.ActionRow{}, compute.UpdatedAt, Now.Add(tc.before), tc.most)
			return err
		})
		if err != nil || len(keys) != tc.want || len(keys) == 1 && keys[0] != string(ID("action0")) {
			c.Errorf("older than %v: %q, %v, want %d", tc.before, keys, err, tc.want)
		}
	}
	c.update(func(w compute.Writer) error {
		if keys, err := w.Older(&compute.EventRow{}, compute.UpdatedAt, Now, 1); err == nil {
			c.Errorf("events, which have no such time: %q", keys)
		}
		return nil
	})
}

// summarize compares summaries with the rows that they are of. They are not written.
func summarize(c *storeCase) {
	full, bare := fullFixture(), bareFixture("bare ")
	Add(c, c.store, full.Rows()...)
	Add(c, c.store, bare.Rows()...)
	for _, w := range []*fixture{full, bare} {
		s, o := w.server, w.operation
		server := compute.ServerSummary{ServerRow: compute.ServerRow{
			ID: s.ID, Project: s.Project, Hostname: s.Hostname, State: s.State, Task: s.Task, Host: s.Host, Node: s.Node,
			Group: s.Group, CreatedAt: s.CreatedAt,
		}}
		for f, value := range map[compute.Field]any{
			compute.ByID: s.ID, compute.ByProject: s.Project, compute.ByHost: s.Host, compute.ByGroup: s.Group,
		} {
			c.same(fmt.Sprintf("servers by %s", f), Read[compute.ServerSummary](c, c.other, compute.Where(f, value)),
				[]compute.ServerSummary{server})
		}
		use := compute.ServerUse{ServerRow: compute.ServerRow{
			ID: s.ID, Number: s.Number, Project: s.Project, User: s.User, Name: s.Name, Hostname: s.Hostname, State: s.State,
			Task: s.Task, Host: s.Host, Node: s.Node, Flavor: s.Flavor, LaunchedAt: s.LaunchedAt, TerminatedAt: s.TerminatedAt,
		}}
		for f, value := range map[compute.Field]any{
			compute.ByID: s.ID, compute.ByProject: s.Project, compute.ByHost: s.Host,
		} {
			c.same(fmt.Sprintf("what servers use by %s", f), Read[compute.ServerUse](c, c.other, compute.Where(f, value)),
				[]compute.ServerUse{use})
		}
		op := compute.OperationSummary{
			OperationRow: compute.OperationRow{
				ID: o.ID, Server: o.Server, Kind: o.Kind, Step: o.Step, Back: o.Back, UndoTo: o.UndoTo, Awaits: o.Awaits,
				Reservation: o.Reservation, Worker: o.Worker, Lease: o.Lease, CreatedAt: o.CreatedAt,
			},
			ClaimHost: o.ClaimHost(), Ready: o.Ready(),
		}
		if text := o.ChosenDevices(); text != "" {
			op.Devices = []byte(text)
		}
		if text := o.ChosenAssignment(); text != "" {
			op.Assignment = []byte(text)
		}
		for f, value := range map[compute.Field]any{
			compute.ByID: o.ID, compute.ByServer: o.Server, compute.ByHost: op.ClaimHost, compute.ByReservation: o.Reservation,
			compute.ByReady: op.Ready,
		} {
			c.same(fmt.Sprintf("operations by %s", f), Read[compute.OperationSummary](c, c.other, compute.Where(f, value)),
				[]compute.OperationSummary{op})
		}
	}
	for _, row := range []any{
		&compute.ServerSummary{ServerRow: compute.ServerRow{ID: ID("x")}},
		&compute.ServerUse{ServerRow: compute.ServerRow{ID: ID("x")}},
		&compute.OperationSummary{OperationRow: compute.OperationRow{ID: ID("x")}},
	} {
		c.update(func(w compute.Writer) error {
			_, removed := w.Remove(row, compute.Where(compute.ByID, ID("x")))
			for what, err := range map[string]error{"Insert": w.Insert(row), "Replace": w.Replace(row), "Remove": removed} {
				if err == nil {
					c.Errorf("%s(%T) = nil, want an error", what, row)
				}
			}
			return nil
		})
	}
	busy := func(want map[string]int64, where ...compute.Match) {
		c.Helper()
		var got map[string]int64
		err := c.other.View(context.Background(), func(r compute.Reader) (err error) {
			got, err = r.CountEach(&compute.ServerRow{}, compute.ByBusyHost, where...)
			return err
		})
		if err != nil {
			c.Error(err)
		}
		c.same("busy servers", got, want)
	}
	busy(map[string]int64{"cn1": 1})
	for i, host := range []string{"cn1", "cn2", "cn2", ""} {
		row := Server(fmt.Sprint("vm", i), host)
		row.Task = compute.Rebooting
		Add(c, c.store, row)
	}
	Add(c, c.store, Server("idle", "cn3"))
	busy(map[string]int64{"cn1": 2, "cn2": 2})
	busy(map[string]int64{"cn2": 2}, compute.Where(compute.ByHost, "cn2", "cn3"))
	busy(map[string]int64{}, compute.Where[string](compute.ByHost))
}

// compareTexts looks for names that some databases take for each other.
func compareTexts(c *storeCase) {
	names := []string{"a", "A", "a ", "\u00e4", "a\u0308"}
	for i, n := range names {
		Add(c, c.store, &compute.FlavorRow{ID: compute.ID(fmt.Sprint(i)), Name: n})
	}
	for i, n := range names {
		got := Read[compute.FlavorRow](c, c.other, compute.Where(compute.ByName, n))
		if len(got) != 1 || got[0].ID != compute.ID(fmt.Sprint(i)) {
			c.Errorf("flavors of the name %q: %v", n, got)
		}
	}
}

func replaceAll(c *storeCase) {
	full, bare := fullFixture(), bareFixture("")
	Add(c, c.store, full.Rows()...)
	for _, rows := range [][]any{bare.Rows(), full.Rows()} {
		c.update(func(w compute.Writer) error {
			for _, row := range rows {
				if err := w.Replace(row); err != nil {
					return fmt.Errorf("replacing %T: %w", row, err)
				}
			}
			return nil
		})
		for i, t := range rowTypes {
			got, err := c.rows(t)
			if err != nil {
				c.Error(err)
			}
			c.same(t.name, got, rows[i:i+1])
		}
	}
	c.update(func(w compute.Writer) error {
		for _, row := range []any{Flavor("nobody", 1, 1, 1), &compute.MemberRow{Aggregate: ID("aggregate"), Host: "nobody"}} {
			if err := w.Replace(row); !errors.Is(err, compute.ErrNoRow) {
				c.Errorf("Replace of what is not there = %v, want %v", err, compute.ErrNoRow)
			}
		}
		return nil
	})
}

func unique(c *storeCase) {
	full := fullFixture()
	Add(c, c.store, full.Rows()...)
	Add(c, c.store, Server("vm2", ""))
	for i, test := range []struct {
		row   any
		taken bool
	}{
		{&compute.FlavorRow{ID: "1", Name: "x"}, true},
		{&compute.FlavorRow{ID: "2", Name: full.flavor.Name}, true},
		{&compute.FlavorRow{ID: "2", Name: "M1 \u00fc"}, false},
		{&compute.FlavorAccessRow{Flavor: "1", Project: "red"}, true},
		{&compute.FlavorAccessRow{Flavor: "1", Project: "blue"}, false},
		{&compute.KeypairRow{User: "bob", Name: "key"}, true},
		{&compute.KeypairRow{User: "ann", Name: "key"}, false},
		{&compute.GroupRow{ID: ID("g2"), Project: "red", Name: "apart"}, false},
		{&compute.AggregateRow{ID: ID("a2"), Name: "ssd"}, true},
		{&compute.AggregateRow{ID: ID("a2"), Name: "hdd"}, false},
		{&compute.MemberRow{Aggregate: ID("aggregate"), Host: "cn1"}, true},
		{&compute.MemberRow{Aggregate: ID("a2"), Host: "cn1"}, false},
		{&compute.MirrorRow{Aggregate: ID("aggregate"), Host: "cn1"}, true},
		{&compute.ServiceRow{ID: ID("s2"), Binary: "nova-compute", Host: "cn1"}, true},
		{&compute.ServiceRow{ID: ID("s2"), Binary: "nova-scheduler", Host: "cn1"}, false},
		{&compute.NodeRow{ID: ID("n2"), Host: "cn9", Name: "cn1.example.org"}, true},
		{&compute.NodeRow{ID: ID("n2"), Host: "cn1", Name: "cn2.example.org"}, false},
		{&compute.QuotaRow{Project: "red", User: "bob", Resource: "cores"}, true},
		{&compute.QuotaRow{Project: "red", Resource: "cores"}, false},
		{&compute.CounterRow{Name: "keypairs"}, true},
		{&compute.PortRow{Port: ID("port"), Server: ID("vm2")}, true},
		{&compute.OperationRow{ID: ID("o2"), Server: ID("server")}, true},
		{&compute.OperationRow{ID: ID("o2"), Server: ID("vm2")}, false},
	} {
		c.update(func(w compute.Writer) error {
			err := w.Insert(test.row)
			if test.taken != errors.Is(err, compute.ErrTaken) || err != nil && !test.taken {
				c.Errorf("%d: Insert(%+v) = %v, want taken %v", i, test.row, err, test.taken)
			}
			return nil
		})
	}
}

// references tries to leave rows that refer to one that is not there.
func references(c *storeCase) {
	Add(c, c.store, fullFixture().Rows()...)
	refused := func(what string, fn func(w compute.Writer) error) {
		c.Helper()
		err := c.store.Update(context.Background(), Now, func(w compute.Writer) error {
			_ = fn(w) // what is overlooked must not be committed either
			return nil
		})
		if err == nil {
			c.Errorf("%s = nil, want an error", what)
		}
	}
	for id, row := range map[compute.ID]any{
		"1": &compute.FlavorRow{}, ID("group"): &compute.GroupRow{}, ID("aggregate"): &compute.AggregateRow{},
		ID("server"): &compute.ServerRow{}, ID("action"): &compute.ActionRow{},
	} {
		refused(fmt.Sprintf("removing a %T", row), func(w compute.Writer) error {
			_, err := w.Remove(row, compute.Where(compute.ByID, id))
			return err
		})
	}
	for _, row := range []any{
		&compute.FlavorAccessRow{Flavor: "nobody", Project: "red"},
		&compute.MemberRow{Aggregate: ID("nobody"), Host: "cn1"},
		&compute.ServerRow{ID: ID("x"), Group: ID("nobody")},
		&compute.PortRow{Port: ID("x"), Server: ID("nobody")},
		&compute.EventRow{ID: ID("x"), Action: ID("nobody")},
		&compute.OperationRow{ID: ID("x"), Server: ID("nobody")},
	} {
		refused(fmt.Sprintf("inserting %+v", row), func(w compute.Writer) error { return w.Insert(row) })
	}
	// What is kept of a server goes without it.
	c.update(func(w compute.Writer) error {
		_, operation := w.Remove(&compute.OperationRow{}, compute.Where(compute.ByServer, ID("server")))
		_, port := w.Remove(&compute.PortRow{}, compute.Where(compute.ByServer, ID("server")))
		_, server := w.Remove(&compute.ServerRow{}, compute.Where(compute.ByID, ID("server")))
		return errors.Join(operation, port, server)
	})
	if remaining := Read[compute.ActionRow](c, c.other); len(remaining) != 1 {
		c.Errorf("%d actions are left, want 1", len(remaining))
	}
}

var errRefused = errors.New("refused by the test")

func rollBack(c *storeCase) {
	err := c.store.Update(context.Background(), Now, func(w compute.Writer) error {
		return errors.Join(Insert(w, fullFixture().Rows()...), errRefused)
	})
	if !errors.Is(err, errRefused) {
		c.Errorf("Update() = %v, want %v", err, errRefused)
	}
	for _, t := range rowTypes {
		if got, err := c.rows(t); err != nil || len(got) > 0 {
			c.Errorf("%s: %v, %v, want nothing", t.name, got, err)
		}
	}
}

func goOn(c *storeCase) {
	a, b := Flavor("a", 1, 1, 1), Flavor("b", 1, 1, 1)
	Add(c, c.store, a, b)
	c.update(func(w compute.Writer) error {
		clash := *b
		clash.Name = "a"
		for what, err := range map[string]error{"Insert": w.Insert(a), "Replace": w.Replace(&clash)} {
			if !errors.Is(err, compute.ErrTaken) {
				c.Errorf("%s = %v, want %v", what, err, compute.ErrTaken)
			}
		}
		return w.Insert(Flavor("c", 1, 1, 1))
	})
	if n := len(Read[compute.FlavorRow](c, c.other)); n != 3 {
		c.Errorf("%d flavors, want 3", n)
	}
}

// countTogether raises a number by reading and writing it, through all stores.
func countTogether(c *storeCase) {
	const workers, rounds = 8, 10
	Add(c, c.store, &compute.CounterRow{Name: "n"})
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for range rounds {
				err := c.stores[i%len(c.stores)].Update(context.Background(), Now, func(w compute.Writer) error {
					n, err := compute.One[compute.CounterRow](w)
					if err != nil {
						return err
					}
					n.Last++
					return w.Replace(&n)
				})
				if err != nil {
					c.Errorf("Update: %v", err)
				}
			}
		})
	}
	all.Wait()
	c.same("the counter", Read[compute.CounterRow](c, c.other), []compute.CounterRow{{Name: "n", Last: workers * rounds}})
}
