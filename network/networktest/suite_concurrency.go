package networktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/berthcloud/berth/network"
)

var concurrency = []storeTest{
	{"NoChangeIsLost", countTogether},
	{"WhatWasReadStaysTrueUntilTheCommit", takeTheLast},
	{"RefusedNeighboursLeaveNothing", failTogether},
	{"ViewsSeeWhatReturnedBefore", readOthersWrites},
	{"ViewsNeverSeeHalfAnUpdate", viewWhileWriting},
	{"LeavingTheQueueHarmsNobody", leaveTheQueue},
}

// together runs fn in n goroutines, each with one of the stores, and returns when
// all are done.
func (c *storeCase) together(n int, fn func(i int, s network.Store)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i, c.stores[i%len(c.stores)]) })
	}
	all.Wait()
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

// takeTheLast lets many add a row where there is room for a few: no two of them
// touch the same row, and what each has counted must stay so.
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

// failTogether mixes updates that succeed with those that refuse after they have
// written, and with those that meet a taken value.
func failTogether(c *storeCase) {
	const n = 60
	c.together(n, func(i int, s network.Store) {
		err := s.Update(context.Background(), Now, func(w network.Writer) error {
			err := Insert(w, NewPolicy(fmt.Sprint("p", i)))
			if i%3 == 1 {
				return errors.Join(err, errRefused)
			}
			if taken := Insert(w, NewPolicy(fmt.Sprint("p", i))); !errors.Is(taken, network.ErrTaken) {
				return fmt.Errorf("inserting again: %w", taken)
			}
			return err
		})
		if refused := errors.Is(err, errRefused); refused != (i%3 == 1) || err != nil && !refused {
			c.Errorf("update %d = %v", i, err)
		}
	})
	c.same("policies", len(read[network.PolicyRow](c)), n*2/3)
}

func readOthersWrites(c *storeCase) {
	c.together(6, func(i int, s network.Store) {
		for n := range 8 {
			p := NewPolicy(fmt.Sprint("p", i, "/", n))
			err := s.Update(context.Background(), Now, func(w network.Writer) error { return Insert(w, p) })
			for _, other := range c.stores {
				err = errors.Join(err, other.View(context.Background(), func(r network.Reader) error {
					_, err := network.One[network.PolicyRow](r, network.Where(network.ByID, p.Policy.ID))
					return err
				}))
			}
			if err != nil {
				c.Errorf("%s: %v", p.Policy.Name, err)
			}
		}
	})
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

// leaveTheQueue cancels updates while another one runs. Each must either have
// happened or not, and its error must say which.
func leaveTheQueue(c *storeCase) {
	const n = 20
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var kept atomic.Int64
	c.together(n+2, func(i int, _ network.Store) {
		switch i {
		case 0:
			err := c.store.Update(context.Background(), Now, func(network.Writer) error {
				once.Do(func() { close(running) })
				<-release
				return nil
			})
			if err != nil {
				c.Errorf("the first Update = %v", err)
			}
		case 1:
			<-running
			cancel()
			close(release)
		default:
			<-running
			err := c.store.Update(ctx, Now, func(w network.Writer) error { return Insert(w, NewPolicy(fmt.Sprint("p", i))) })
			if err == nil {
				kept.Add(1)
			} else if !errors.Is(err, context.Canceled) {
				c.Errorf("update %d = %v, want %v", i, err, context.Canceled)
			}
		}
	})
	c.same("policies", int64(len(read[network.PolicyRow](c))), kept.Load())
}
