package networktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/rows"
)

var concurrency = []storeTest{
	{"NoChangeIsLost", countTogether},
	{"WhatWasReadStaysTrueUntilTheCommit", takeTheLast},
	{"RefusedUpdatesInABatchLeaveNothing", general(sample.RefusedUpdatesInABatchLeaveNothing)},
	{"ViewsSeeWhatReturnedBefore", general(sample.ViewsSeeWhatReturnedBefore)},
	{"OthersAreFollowed", followNotes},
	{"ViewsNeverSeeHalfAnUpdate", viewWhileWriting},
	{"LeavingTheQueueHarmsNobody", general(sample.LeavingTheQueueHarmsNobody)},
}

// together runs fn in n goroutines, each with one of the stores, and returns when
// all are done.
func (c *storeCase) together(n int, fn func(i int, s network.Store)) {
	storetest.Together(n, func(i int) { fn(i, c.stores[i%len(c.stores)]) })
}

// countTogether raises a number by reading and writing it.
func countTogether(c *storeCase) {
	const workers, rounds = 8, 12
	c.add(&network.QuotaRow{Project: Project, Resource: "port"})
	c.together(workers, func(_ int, s network.Store) {
		for range rounds {
			err := s.Update(context.Background(), Now, func(w network.Writer) error {
				q, err := network.One[network.QuotaRow](w)
				if err != nil {
					return err
				}
				q.Limit++
				return w.Replace(&q)
			})
			if err != nil {
				c.Errorf("Update: %v", err)
			}
		}
	})
	found(c, "the quota", nil, network.QuotaRow{Project: Project, Resource: "port", Limit: workers * rounds})
}

// takeTheLast has many writers add a row where only a few are allowed: no two of them write the
// same row, and what each has counted must stay true until its commit.
func takeTheLast(c *storeCase) {
	const workers, rounds, room = 12, 6, 5
	for round := range rounds {
		var won atomic.Int64
		project := fmt.Sprint("project", round)
		c.together(workers, func(i int, s network.Store) {
			err := s.Update(context.Background(), Now, func(w network.Writer) error {
				rows, err := network.Rows[network.PolicyRow](w, network.Where(network.ByProject, project))
				if err != nil {
					return err
				}
				if len(rows) >= room {
					return errRefused
				}
				p := NewPolicy(fmt.Sprint(project, "/", i))
				p.Policy.Project = project
				return Insert(w, p)
			})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, errRefused):
				c.Errorf("Update: %v", err)
			}
		})
		c.same("updates that won", won.Load(), int64(room))
		c.same("policies", len(read[network.PolicyRow](c, network.Where(network.ByProject, project))), room)
	}
}

// followNotes has each store note something, and the others learn of it, of all and of nothing
// else. A store that is alone learns of nothing.
func followNotes(c *storeCase) {
	followers := make([]rows.Follower, len(c.stores))
	next := func(i int) rows.Notes {
		n, err := followers[i].Notes(context.Background())
		if err != nil {
			c.Fatalf("Notes() = %v", err)
		}
		return n
	}
	for i, s := range c.stores {
		followers[i] = s.Follow()
		c.same("everything may have changed before", next(i).All, len(c.stores) > 1)
		c.same("nothing has since", next(i).Empty(), true)
	}
	policies := 0
	note := func(s network.Store, write bool, end error, keys ...string) {
		err := s.Update(context.Background(), Now, func(w network.Writer) error {
			var n rows.Notes
			n.Add(keys...)
			w.Note(n)
			if write {
				policies++
				if err := Insert(w, NewPolicy(fmt.Sprint("p", policies))); err != nil {
					return err
				}
			}
			return end
		})
		if !errors.Is(err, end) {
			c.Fatalf("Update() = %v, want %v", err, end)
		}
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint("key", i)
	}
	for i, s := range c.stores {
		note(s, true, nil, "a", "b ☃ \"")
		note(s, true, errRefused, "refused")
		note(s, false, nil, "without a row")
		note(s, true, nil)
		note(s, true, nil, "c")
		for other := range followers {
			var want []string
			if other != i {
				want = []string{"a", "b ☃ \"", "c"}
			}
			n := next(other)
			c.same("keys", n.Keys(), want)
			c.same("everything may have changed", n.All, false)
		}
		note(s, true, nil, many...)
		for other := range followers {
			c.same("everything may have changed", next(other).All, other != i)
		}
	}
}

// viewWhileWriting moves an address from one port to the other all the time: every
// View must find it once, however often it looks.
func viewWhileWriting(c *storeCase) {
	n := VLAN("n", "physnet0", 7)
	a, b := n.Port("a", 2), n.Port("b", 3)
	c.add(n.Rows()...)
	c.add(a.Rows()...)
	c.add(&b.Port)
	var done atomic.Bool
	look := func(r network.Reader) error {
		var before network.AddressRow
		for i := range 3 {
			rows, err := network.Rows[network.AddressRow](r, network.Where(network.ByPort, a.Port.ID, b.Port.ID))
			if err != nil {
				return err
			}
			if len(rows) != 1 || i > 0 && rows[0] != before {
				return fmt.Errorf("the addresses are %v, and were %v", rows, before)
			}
			before = rows[0]
		}
		return nil
	}
	c.together(4, func(i int, s network.Store) {
		if i == 0 {
			defer done.Store(true)
			shuttle(c, a.Address, b.Port.ID, 50)
			return
		}
		for !done.Load() {
			if err := s.View(context.Background(), look); err != nil {
				c.Errorf("View: %v", err)
				return
			}
		}
	})
}

// shuttle moves an address to a port and back, n times.
func shuttle(c *storeCase, address network.AddressRow, to network.ID, n int) {
	from := address.Port
	for range n {
		address.Port = to
		err := c.store.Update(context.Background(), Now, func(w network.Writer) error {
			if _, err := w.Remove(&address, network.Where(network.ByPort, from)); err != nil {
				return err
			}
			return w.Insert(&address)
		})
		if err != nil {
			c.Errorf("moving: %v", err)
		}
		from, to = to, from
	}
}
