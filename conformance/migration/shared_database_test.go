package migration

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
)

var concurrentTime = flag.Duration("migration.time", 10*time.Second,
	"how long services work side by side on each database")

const (
	workers  = 6
	shared   = 6  // hosts that all fight for
	capacity = 24 // of each
)

func sharedHost(n int) string { return rest.UUID("e0", n) }
func ownHost(n int) string    { return rest.UUID("e1", n) }

// reconcileInterval is the setting of the instances, and reconcileSlack the allowance for a busy
// machine.
const (
	reconcileInterval = time.Second
	reconcileSlack    = 4 * time.Second
)

// A party is one of the services that work on one database.
type party struct {
	name  string
	c     *rest.Client
	berth bool
}

// A claim is a consumer's allocations and the service that granted them.
type claim struct {
	per map[string]rest.Resources
	by  string
}

// A gathering is upstream's service and two instances of Berth side by side, and the records of
// their clients.
type gathering struct {
	t       *testing.T
	parties []party
	lax     bool // upstream may grant too much

	mu     sync.Mutex // guards the rest
	holds  map[string]claim
	counts map[string]int // answers by party, request and status
	words  map[string]int // texts of upstream's failures
	late   time.Duration  // the longest until a service showed what another wrote
}

// TestSideBySide has upstream's service, with two processes, and two instances
// of Berth serve one database under load. On MariaDB upstream's service grants too
// much now and then, also when it is alone; Berth must not add to that.
func TestSideBySide(t *testing.T) {
	onSample(t, func(t *testing.T, db *database) {
		g := gather(db.upstreamParty(), db.berthParty(1), db.berthParty(2))
		g.t, g.lax = t, db.engine.name == "MariaDB"
		g.fight()
	})
}

// TestBerthsSideBySide is the same without upstream's service, so that there is no overcommitment.
func TestBerthsSideBySide(t *testing.T) {
	onSample(t, func(t *testing.T, db *database) {
		g := gather(db.berthParty(1), db.berthParty(2), db.berthParty(3))
		g.t = t
		g.fight()
	})
}

func (db *database) upstreamParty() party {
	db.t.Helper()
	return party{"upstream", rest.NewOneShot(db.upstream().URL(), rest.Newest), false}
}

func (db *database) berthParty(n int) party {
	db.t.Helper()
	s := db.berth(map[string]map[string]string{
		"berth": {"reconcile_interval": fmt.Sprint(int(reconcileInterval.Seconds()))},
	})
	return party{fmt.Sprint("berth ", n), rest.NewOneShot(s.URL(), rest.Newest), true}
}

func gather(parties ...party) *gathering {
	return &gathering{parties: parties, holds: map[string]claim{}, counts: map[string]int{}, words: map[string]int{}}
}

// fight has workers use the services for a while and compares the records.
func (g *gathering) fight() {
	g.t.Helper()
	g.fill()
	g.work(time.Now().Add(*concurrentTime))
	g.settle()
	g.report()
}

func (g *gathering) fill() {
	g.t.Helper()
	for n := range shared {
		g.any(n).c.AddProvider(g.t, sharedHost(n), "", rest.Resources{"VCPU": capacity})
	}
	for n := range workers + 1 {
		g.any(n).c.AddProvider(g.t, ownHost(n), "", rest.Resources{"MEMORY_MB": 1000})
	}
	for _, trait := range heralds {
		g.any(0).c.Must(g.t, 200, "PUT", "/traits/"+trait, nil)
	}
	g.agree() // Berth may not have read upstream's writes yet
}

func (g *gathering) any(n int) party { return g.parties[n%len(g.parties)] }

// work runs the workers and the herald until the time is over.
func (g *gathering) work(end time.Time) {
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			w := worker{g: g, n: n, r: rand.New(rand.NewPCG(uint64(n), 7)), generation: 1}
			for time.Now().Before(end) {
				w.turn()
			}
		})
	}
	wg.Go(func() {
		for n := 0; time.Now().Before(end); n++ {
			g.herald(n)
		}
	})
	wg.Wait()
}

// do sends a request and records the result. Berth must answer, and without a failure of its own.
func (g *gathering) do(p party, method, path string, body any) rest.Answer {
	a, err := p.c.Do(method, path, body)
	if err != nil {
		g.t.Errorf("%s: %s %s: %v", p.name, method, path, err)
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[fmt.Sprintf("%-8s %-6s %-20s %d", p.name, method, kind, a.Status)]++
	switch {
	case a.Status >= 500 && p.berth:
		g.t.Errorf("%s: %s %s = %d %s", p.name, method, path, a.Status, a.Body)
	case a.Status >= 500 || a.Status == 409 && !p.berth:
		g.words[fmt.Sprint(a.Status, " ", failure(a))]++
	}
	return a
}

// failure returns the text of an error without the parts that differ each time.
func failure(a rest.Answer) string {
	var body struct{ Errors []struct{ Detail string } }
	if err := json.Unmarshal(a.Body, &body); err != nil || len(body.Errors) == 0 {
		return string(a.Body[:min(len(a.Body), 200)])
	}
	text := body.Errors[0].Detail
	if i := strings.Index(text, "\n\n"); i >= 0 {
		text = text[i:]
	}
	text = names.ReplaceAllString(strings.TrimSpace(text), "…")
	return text[:min(len(text), 160)]
}

// settle compares the records of the services with each other and with those of the workers, after
// all writes.
func (g *gathering) settle() {
	g.t.Helper()
	g.agree()
	granted, excuse := map[string]int{}, map[string]int{}
	for _, c := range g.holds {
		for p, res := range c.per {
			granted[p] += res["VCPU"]
			if g.lax && c.by == "upstream" {
				excuse[p] += res["VCPU"]
			}
		}
	}
	for n := range shared {
		host := sharedHost(n)
		for _, p := range g.parties {
			if got := p.c.Usages(g.t, host)["VCPU"]; got != granted[host] || got > capacity+excuse[host] {
				g.t.Errorf("%s: host %d has %d in use; granted were %d, its capacity is %d", p.name, n, got, granted[host],
					capacity)
			}
		}
	}
	if len(g.holds) == 0 {
		g.t.Error("nothing is allocated: the load proves nothing")
	}
}

// agree requires all services to return the same, generations included, within a reconciliation.
func (g *gathering) agree() {
	g.t.Helper()
	for end := time.Now().Add(reconcileInterval + reconcileSlack); ; time.Sleep(100 * time.Millisecond) {
		differ := g.differences()
		if len(differ) == 0 {
			return
		}
		if time.Now().After(end) {
			g.t.Errorf("upstream and Berth do not agree:\n%s", strings.Join(differ, "\n"))
			return
		}
	}
}

func (g *gathering) differences() []string {
	var differ []string
	for n := range shared + workers {
		host := sharedHost(n)
		if n >= shared {
			host = ownHost(n - shared)
		}
		for _, part := range []string{"", "/inventories", "/usages", "/traits", "/allocations"} {
			q := question{fmt.Sprintf("1.%d", newest), "/resource_providers/" + host + part}
			want := send(g.t, g.parties[0].c, q)
			for _, p := range g.parties[1:] {
				if d := difference(q, want, send(g.t, p.c, q)); d != "" {
					differ = append(differ, fmt.Sprintf("%s: GET %s:\n%s", p.name, q.path, d))
				}
			}
		}
	}
	return differ
}

func (g *gathering) report() {
	for _, k := range slices.Sorted(maps.Keys(g.counts)) {
		g.t.Logf("%6d %s", g.counts[k], k)
	}
	for _, k := range slices.SortedFunc(maps.Keys(g.words), func(a, b string) int {
		return cmp.Compare(g.words[b], g.words[a])
	}) {
		g.t.Logf("upstream, %d times: %s", g.words[k], k)
	}
	g.t.Logf("%d consumers hold something; a write was shown by all after %v at most", len(g.holds), g.late)
}
