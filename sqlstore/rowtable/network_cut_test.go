package rowtable_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/sqlstore"
)

// readNet returns the only network with its segment and subnet.
func readNet(t *testing.T, s network.Store) *networktest.Net {
	t.Helper()
	var n networktest.Net
	err := s.View(context.Background(), func(r network.Reader) (err error) {
		if n.Network, err = network.One[network.NetworkRow](r); err != nil {
			return err
		}
		if n.Segment, err = network.One[network.SegmentRow](r); err != nil {
			return err
		}
		n.Subnet, err = network.One[network.SubnetRow](r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return &n
}

// raise raises a number in the database, once, and runs fn before it does for the
// first time.
func raise(s network.Store, fn func()) error {
	return s.Update(context.Background(), now, func(w network.Writer) error {
		before := fn
		fn = func() {}
		before()
		q, err := network.One[network.QuotaRow](w)
		if err != nil {
			return err
		}
		q.Limit++
		return w.Replace(&q)
	})
}

// raised checks how often it was.
func raised(t *testing.T, s network.Store, want int64) {
	t.Helper()
	err := s.View(context.Background(), func(r network.Reader) error {
		q, err := network.One[network.QuotaRow](r)
		if q.Limit != want {
			t.Errorf("the number is %d, want %d", q.Limit, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// number adds the number that raise raises.
func number(t *testing.T, s network.Store) {
	t.Helper()
	err := s.Update(context.Background(), now, func(w network.Writer) error {
		return w.Insert(&network.QuotaRow{Project: "p", Resource: "port"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCutNetworkUpdatesTakePlaceOnce cuts the connection at places of a transaction
// in both directions, its commit above all.
func TestCutNetworkUpdatesTakePlaceOnce(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			needServers(t)
			t.Parallel()
			where := server(t, k.URL(t))
			proxy := dbtest.NewProxy(t, where.Hosts[0])
			where.Hosts = []string{proxy.Address()}
			var settled atomic.Int64
			s := openNetwork(t, sqlstore.Options{Server: where, Metrics: sqlstore.Metrics{
				Settled: func(bool) { settled.Add(1) },
			}})
			number(t, s)
			want := int64(0)
			cut := func(how func()) {
				t.Helper()
				if err := raise(s, how); err != nil {
					t.Fatalf("Update: %v", err)
				}
				proxy.Heal()
				want++
				raised(t, s, want)
			}
			for _, dir := range []dbtest.Direction{dbtest.ToServer, dbtest.ToClient} {
				for n := 0; n < 1000; n += 41 {
					cut(func() { proxy.CutAfter(dir, n) })
				}
			}
			for range 5 {
				cut(func() { proxy.LoseAnswer("COMMIT") })
			}
			if settled.Load() < 5 {
				t.Errorf("%d commits were settled, want at least 5", settled.Load())
			}
			t.Logf("%d commits settled, %d connections cut", settled.Load(), proxy.Lost())
		})
	}
}

// TestUpdatesWaitForTheirTurn lets one instance keep its transaction open until
// another one has waited for it twice for as long as a server waits for a lock: the
// Update of that one must still be made.
func TestUpdatesWaitForTheirTurn(t *testing.T) {
	for _, k := range kinds[:2] {
		t.Run(k.Name, func(t *testing.T) {
			needServers(t)
			t.Parallel()
			url := k.URL(t)
			waits := make(chan struct{}, 100)
			slow := openNetwork(t, sqlstore.Options{Server: server(t, url)})
			quick := openNetwork(t, sqlstore.Options{Server: server(t, url), Metrics: sqlstore.Metrics{
				CommitFailed: func(int) { waits <- struct{}{} },
			}})
			number(t, slow)
			has, made, done := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() {
				done <- slow.Update(context.Background(), now, func(w network.Writer) error {
					q, err := network.One[network.QuotaRow](w)
					close(has)
					for range 2 {
						select {
						case <-waits:
						case <-made:
							t.Error("the other Update did not wait")
						}
					}
					if err != nil {
						return err
					}
					q.Limit++
					return w.Replace(&q)
				})
			}()
			<-has
			if err := raise(quick, func() {}); err != nil {
				t.Errorf("Update: %v", err)
			}
			close(made)
			if err := <-done; err != nil {
				t.Errorf("the slow Update: %v", err)
			}
			raised(t, slow, 2)
		})
	}
}

// TestNetworkViewsLeaveADemotedServer makes a server a replica that goes on
// answering: a View must not be content with that.
func TestNetworkViewsLeaveADemotedServer(t *testing.T) {
	needServers(t)
	primary := dbtest.NewMariaDB(t, dbtest.Fast())
	s := openNetwork(t, sqlstore.Options{Server: server(t, primary.NewDatabase(t)), RetryTime: 200 * time.Millisecond})
	number(t, s)
	raised(t, s, 0)
	primary.Exec(t, "SET GLOBAL read_only = 1")
	wantAway(t, "View", s.View(context.Background(), func(network.Reader) error { return nil }))
	primary.Exec(t, "SET GLOBAL read_only = 0")
	raised(t, s, 0)
}
