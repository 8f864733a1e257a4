package instances

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
)

const (
	hosts    = 4
	room     = 1 << 20 // of each host
	clerks   = 6
	warmUp   = time.Second // of load before and after a fault
	patience = 60 * time.Second
)

func host(n int) string { return rest.UUID("c0", n) }

// A fate is what is known of a consumer's claim.
type fate int

const (
	acknowledged fate = iota + 1
	freed             // its deletion was acknowledged
	unknown           // a request about it got 503 or no answer
)

// A load is clients that claim, release and read through all instances, and the records of their
// answers.
type load struct {
	t *testing.T
	f fleet

	mu       sync.Mutex
	fates    map[string]fate
	answered map[string]int // number of answers by kind
}

// under applies the load while the fault happens, and then compares the records with those of every
// instance.
func under(t *testing.T, f fleet, fault func()) {
	t.Helper()
	l := &load{t: t, f: f, fates: map[string]fate{}, answered: map[string]int{}}
	for n := range hosts {
		f[0].plain.AddProvider(t, host(n), "", rest.Resources{"VCPU": room})
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for n := range clerks {
		all.Go(func() { l.work(n, stop) })
	}
	time.Sleep(warmUp)
	fault()
	took := l.recovered()
	time.Sleep(warmUp)
	close(stop)
	all.Wait()
	l.compare()
	t.Logf("all instances answered %v after the end of the fault; answers: %v", took.Round(time.Millisecond), l.answered)
}

func (l *load) work(n int, stop <-chan struct{}) {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for turn := 0; ; turn++ {
		select {
		case <-stop:
			return
		default:
		}
		consumer, at := rest.UUID("c1", n<<20|turn), l.f[r.IntN(size)]
		body := rest.Allocations(nil, map[string]rest.Resources{host(r.IntN(hosts)): {"VCPU": 1}})
		fate := l.request(at, acknowledged, "PUT", "/allocations/"+consumer, body)
		if fate == acknowledged && r.IntN(3) == 0 {
			fate = l.request(l.f[r.IntN(size)], freed, "DELETE", "/allocations/"+consumer, nil)
		}
		l.mu.Lock()
		l.fates[consumer] = fate
		l.mu.Unlock()
		l.request(l.f[r.IntN(size)], acknowledged, "GET", "/resource_providers/"+host(r.IntN(hosts))+"/usages", nil)
	}
}

// request sends one request and returns the claim's fate afterwards; done is the fate after a 2xx,
// and 0 means no effect.
func (l *load) request(i *instance, done fate, method, path string, body any) fate {
	a, err := i.plain.Do(method, path, body)
	kind := fmt.Sprintf("%s %d", method, a.Status)
	if err != nil {
		kind = method + " cut off"
	}
	l.mu.Lock()
	l.answered[kind]++
	l.mu.Unlock()
	switch {
	case err != nil:
		return unknown
	case a.Status/100 == 2:
		return done
	case a.Status == http.StatusConflict && method != "GET":
		if done == freed {
			return acknowledged
		}
		return 0
	case a.Status == http.StatusServiceUnavailable:
		if a.Header.Get("Retry-After") == "" {
			l.t.Errorf("%s: %s %s = 503 without Retry-After", i.name, method, path)
		}
		return unknown
	}
	l.t.Errorf("%s: %s %s = %d: %s", i.name, method, path, a.Status, a.Body)
	return unknown
}

// recovered waits until every instance is ready and accepts a write, and returns the duration.
func (l *load) recovered() time.Duration {
	return until(l.t, patience, "recovery", func() bool {
		for n, i := range l.f {
			if status, _ := ready(i.ops); status != http.StatusOK {
				return false
			}
			a, err := i.plain.Do("PUT", "/traits/CUSTOM_UP_"+fmt.Sprint(n), nil)
			if err != nil || a.Status/100 != 2 {
				return false
			}
		}
		return true
	})
}

// compare compares the answers of each instance with the records.
func (l *load) compare() {
	l.t.Helper()
	for _, i := range l.f {
		existing := map[string]bool{}
		for n := range hosts {
			var list struct {
				Allocations map[string]struct{ Resources rest.Resources }
			}
			i.plain.Read(l.t, "/resource_providers/"+host(n)+"/allocations", &list)
			for consumer, a := range list.Allocations {
				if existing[consumer] || a.Resources["VCPU"] != 1 || len(a.Resources) != 1 {
					l.t.Errorf("%s: %s holds %v, and on another host %v", i.name, consumer, a.Resources, existing[consumer])
				}
				existing[consumer] = true
			}
			if used := i.plain.Usages(l.t, host(n))["VCPU"]; used != len(list.Allocations) {
				l.t.Errorf("%s: %d units of host %d are in use, and %d consumers hold one", i.name, used, n, len(list.Allocations))
			}
		}
		for consumer, fate := range l.fates {
			if fate == acknowledged && !existing[consumer] {
				l.t.Errorf("%s: the claim of %s was acknowledged and is not there", i.name, consumer)
			}
			if (fate == freed || fate == 0) && existing[consumer] {
				l.t.Errorf("%s: %s holds what it gave back or was refused", i.name, consumer)
			}
		}
		for consumer := range existing {
			if _, known := l.fates[consumer]; !known {
				l.t.Errorf("%s: no claim for %s", i.name, consumer)
			}
		}
	}
}

// TestGaleraNodesFail harms one node of three. A sample has one of two ways.
func TestGaleraNodesFail(t *testing.T) {
	for _, fault := range sweep.Sample(t, []struct {
		name string
		harm func(*dbtest.Server)
	}{
		{"Killed", func(s *dbtest.Server) { s.Kill(); time.Sleep(3 * time.Second); s.Start() }},
		{"Frozen", func(s *dbtest.Server) { s.Freeze(); time.Sleep(8 * time.Second); s.Thaw() }},
	}, 2) {
		t.Run(fault.name, func(t *testing.T) {
			c := dbtest.NewGalera(t, size, dbtest.Fast())
			d := c.CreateDatabase(t)
			var urls []string
			for _, addresses := range rotated(c.Addresses()) {
				urls = append(urls, d.URL(addresses...))
			}
			under(t, newFleet(t, urls), func() { fault.harm(c.Nodes[1]) })
		})
	}
}

func TestPrimaryDiesAndStandbyTakesOver(t *testing.T) {
	pair := dbtest.NewReplicated(t, dbtest.Synchronous())
	f := newFleet(t, same(pair.NewDatabase(t)))
	under(t, f, func() {
		pair.Primary.Kill()
		pair.Promote()
	})
}

func TestDatabaseRestarts(t *testing.T) {
	s := dbtest.NewMariaDB(t)
	under(t, newFleet(t, same(s.NewDatabase(t))), func() { s.Stop(); time.Sleep(time.Second); s.Start() })
}

func TestInstanceIsKilled(t *testing.T) {
	f := newFleet(t, same(dbtest.MariaDB(t).NewDatabase(t)))
	under(t, f, func() { f[1].Kill(); time.Sleep(time.Second); f[1].Restart() })
}

// TestNetworkToTheDatabaseFails harms the connections of one instance of three. A sample has
// two of four ways.
func TestNetworkToTheDatabaseFails(t *testing.T) {
	for _, fault := range sweep.Sample(t, []struct {
		name string
		harm func(*dbtest.Proxy)
	}{
		{"Cut", func(p *dbtest.Proxy) { p.Cut(); time.Sleep(3 * time.Second) }},
		{"Slow", func(p *dbtest.Proxy) { p.Delay(300 * time.Millisecond); time.Sleep(4 * time.Second) }},
		{"HalfOpen", func(p *dbtest.Proxy) { p.HalfOpen(); time.Sleep(6 * time.Second) }},
		{"AnswersToCommitsLost", func(p *dbtest.Proxy) {
			for range 8 {
				p.LoseAnswer("COMMIT")
				time.Sleep(300 * time.Millisecond)
			}
		}},
	}, 2) {
		t.Run(fault.name, func(t *testing.T) {
			s := dbtest.MariaDB(t)
			d := s.CreateDatabase(t)
			p := dbtest.NewProxy(t, s.Address())
			urls := same(d.URL(s.Address()))
			urls[1] = strings.Replace(urls[1], s.Address(), p.Address(), 1)
			under(t, newFleet(t, urls), func() {
				fault.harm(p)
				p.Heal()
			})
		})
	}
}
