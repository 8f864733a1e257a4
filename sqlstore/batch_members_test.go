package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// TestUpdatesBehindAFailedMemberAreAnswered lets a transaction end in the middle
// of a batch: those behind the one that failed must run as well.
func TestUpdatesBehindAFailedMemberAreAnswered(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		where := server(t, url)
		proxy := dbtest.NewProxy(t, where.Hosts[0])
		where.Hosts = []string{proxy.Address()}
		s := open(t, sqlstore.Options{Server: where})
		p := newProvider(t, s, "cn1")
		running, busy, gathered, broken := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		const others = 4
		answers := make(chan error, 1+others)
		var once sync.Once
		update := func(before func()) {
			answers <- s.Update(context.Background(), now, func(w placement.Writer) error {
				before()
				_, err := w.Provider(p.UUID)
				return err
			})
		}
		go update(func() {
			close(running)
			<-busy
		})
		<-running
		for range others {
			go update(func() {
				once.Do(func() {
					close(gathered)
					<-broken
				})
			})
		}
		await(t, "the others to wait", func() bool { return s.Waiting() == others })
		close(busy)
		<-gathered
		proxy.Cut()
		proxy.Heal()
		close(broken)
		late := time.After(30 * time.Second)
		for range 1 + others {
			select {
			case err := <-answers:
				if err != nil {
					t.Errorf("Update: %v", err)
				}
			case <-late:
				t.Fatal("an Update is never answered")
			}
		}
	})
}

// await waits for something that happens soon.
func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for range 1000 {
		if happened() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}

// TestLockedRowHoldsUpItsOwnUpdatesOnly locks one provider for long: changes of
// another one must not wait for it.
func TestLockedRowHoldsUpItsOwnUpdatesOnly(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		s, other := two(t, url)
		a, b := newProvider(t, s, "cn1"), newProvider(t, s, "cn2")
		locked, done := make(chan struct{}), make(chan error, 2)
		release := make(chan struct{})
		go func() {
			done <- other.Update(context.Background(), now, func(w placement.Writer) error {
				_, err := w.Provider(a.UUID)
				close(locked)
				<-release
				return err
			})
		}()
		<-locked
		bump := func(p placement.ProviderRow, begun func()) error {
			return s.Update(context.Background(), now, func(w placement.Writer) error {
				begun()
				if _, err := w.Provider(p.UUID); err != nil {
					return err
				}
				return w.BumpProvider(p.ID, 0)
			})
		}
		waiting := make(chan struct{})
		begun := sync.OnceFunc(func() { close(waiting) })
		go func() { done <- bump(a, begun) }()
		<-waiting // it reads the locked row next
		begin := time.Now()
		if err := bump(b, func() {}); err != nil {
			t.Errorf("changing another provider: %v", err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("changing another provider took %v", took)
		}
		close(release)
		<-done
		<-done
	})
}

// TestRivalClaimsAreAllAnswered lets two services claim the same few hosts with
// a slow network, so that their batches get into each other's way.
func TestRivalClaimsAreAllAnswered(t *testing.T) {
	onServers(t, func(t *testing.T, url string) {
		const hosts, claimants = 4, 20
		where := server(t, url)
		proxy := dbtest.NewProxy(t, where.Hosts[0])
		where.Hosts = []string{proxy.Address()}
		var services [2]*service.Service
		for i := range services {
			services[i] = serve(t, open(t, sqlstore.Options{Server: where}))
		}
		for n := range hosts {
			host(t)(services[0], n)
		}
		proxy.Delay(time.Millisecond)
		answers := make(chan error, len(services)*claimants)
		for i, s := range services {
			for n := range claimants {
				go func() {
					answers <- claimVCPU(s, placement.UUID(fmt.Sprintf("vm%d-%d", i, n)), id(n%hosts, "h"), 1)
				}()
			}
		}
		accepted, late := 0, time.After(60*time.Second)
		for range cap(answers) {
			select {
			case err := <-answers:
				if kind, _ := fault.Of(err); err == nil {
					accepted++
				} else if kind != fault.Conflict {
					t.Errorf("claim: %v", err)
				}
			case <-late:
				t.Fatal("a claim is never answered")
			}
		}
		if accepted != hosts*8 {
			t.Errorf("%d claims of one were accepted on %d hosts of 8", accepted, hosts)
		}
	})
}
