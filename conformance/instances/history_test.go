package instances

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
)

const (
	rivals   = 12
	accounts = 5 // providers that they claim of
	capacity = 7

	// fightTime is how long they do, and think how long the search for an order of
	// what they did may take.
	fightTime = 5 * time.Second
	think     = 20 * time.Second
)

func account(n int) string { return rest.UUID("c0", n) }

// TestHistoriesAcrossInstances has clients of all instances claim the last units of a few
// providers, and searches for a sequential order of the operations.
func TestHistoriesAcrossInstances(t *testing.T) {
	t.Run("MariaDB", func(t *testing.T) {
		s := dbtest.MariaDB(t)
		d := s.CreateDatabase(t)
		fight(t, same(d.URL(s.Address())), d, s.Address())
	})
	t.Run("Galera", func(t *testing.T) {
		c := dbtest.Galera(t)
		d := c.CreateDatabase(t)
		var urls []string
		for _, addresses := range rotated(c.Addresses()) {
			urls = append(urls, d.URL(addresses...))
		}
		fight(t, urls, d, c.Addresses()[0])
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		s := dbtest.PostgreSQL(t)
		d := s.CreateDatabase(t)
		fight(t, same(d.URL(s.Address())), d, s.Address())
	})
}

func fight(t *testing.T, urls []string, d dbtest.Database, address string) {
	t.Helper()
	s := &struggle{t: t, f: newFleet(t, urls), holds: map[string]map[string]int{}}
	for n := range accounts {
		s.f[n%size].c.AddProvider(t, account(n), "", rest.Resources{"VCPU": capacity})
	}
	end := time.Now().Add(lasting(t, fightTime))
	var wg sync.WaitGroup
	for n := range rivals {
		wg.Go(func() {
			c := &rival{struggle: s, n: n, r: rand.New(rand.NewPCG(uint64(n), 2))}
			for turn := 0; time.Now().Before(end) && !t.Failed(); turn++ {
				c.turn(turn)
			}
		})
	}
	wg.Wait()
	s.h.check(t)
	s.settle(sums(t, openRows(t, d, address)))
}

// A struggle is the contention for the last units and its records.
type struggle struct {
	t *testing.T
	f fleet
	h history

	mu    sync.Mutex                // guards holds
	holds map[string]map[string]int // consumer to its granted allocations; nil for none
	full  atomic.Int64
}

// A rival is one client. It has one claim at most.
type rival struct {
	*struggle
	n        int
	r        *rand.Rand
	consumer string         // of the claim
	held     map[string]int // nil for none
}

// turn releases the last claim, claims for a new consumer on one or two providers and reads; each
// through any instance.
func (c *rival) turn(turn int) {
	if c.held != nil {
		c.release(c.n, c.any(), c.consumer, c.held)
		c.held = nil
	}
	consumer := rest.UUID("c1", c.n<<24|turn)
	want := map[string]int{account(c.r.IntN(accounts)): 1 + c.r.IntN(4)}
	if c.r.IntN(3) == 0 {
		want[account(c.r.IntN(accounts))] = 1
	}
	if c.claim(c.n, c.any(), consumer, want) {
		c.consumer, c.held = consumer, want
	}
	for p := range want {
		c.look(c.n, c.any(), p)
	}
}

func (c *rival) any() *rest.Client { return c.f[c.r.IntN(size)].plain }

func (s *struggle) claim(n int, c *rest.Client, consumer string, want map[string]int) bool {
	per := map[string]rest.Resources{}
	for p, amount := range want {
		per[p] = rest.Resources{"VCPU": amount}
	}
	call := s.h.now()
	o, detail := s.do(c, "PUT", consumer, rest.Allocations(nil, per))
	for p, amount := range want {
		mine := o
		if o == refused && !strings.Contains(detail, p) {
			mine = nothing // the other provider of the claim is the full one
		}
		s.h.add(n, call, deed{p, claims, amount}, result{outcome: mine})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[consumer] = nil
	if o == done {
		s.holds[consumer] = want
	}
	return o == done
}

func (s *struggle) release(n int, c *rest.Client, consumer string, allocated map[string]int) {
	call := s.h.now()
	o, detail := s.do(c, "DELETE", consumer, nil)
	for p, amount := range allocated {
		s.h.add(n, call, deed{p, releases, amount}, result{outcome: o})
	}
	if o != done {
		s.t.Errorf("giving back what %s holds: %s", consumer, detail)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[consumer] = nil
}

// do changes a consumer's allocations.
func (s *struggle) do(c *rest.Client, method, consumer string, body any) (o outcome, detail string) {
	a, err := c.Do(method, "/allocations/"+consumer, body)
	switch {
	case err != nil:
		s.t.Errorf("%s of %s: %v", method, consumer, err)
	case a.Status == http.StatusNoContent:
		return done, ""
	case a.Status == http.StatusConflict && strings.Contains(string(a.Body), "exceed the capacity"):
		s.full.Add(1)
		return refused, string(a.Body)
	case a.Status != http.StatusConflict:
		s.t.Errorf("%s of %s = %d: %s", method, consumer, a.Status, a.Body)
	}
	return nothing, string(a.Body)
}

func (s *struggle) look(n int, c *rest.Client, p string) {
	call := s.h.now()
	used, generation, err := usage(c, p)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.h.add(n, call, deed{provider: p, kind: looks}, result{done, used, generation})
}

// usage returns a provider's used amount and its generation.
func usage(c *rest.Client, p string) (used, generation int, err error) {
	a, err := c.Do("GET", "/resource_providers/"+p+"/usages", nil)
	if err != nil {
		return 0, 0, err
	}
	var u struct {
		Generation int `json:"resource_provider_generation"`
		Usages     rest.Resources
	}
	if err := json.Unmarshal(a.Body, &u); err != nil || a.Status != http.StatusOK {
		return 0, 0, fmt.Errorf("usages of %s = %d, %v: %s", p, a.Status, err, a.Body)
	}
	return u.Usages["VCPU"], u.Generation, nil
}

// settle compares the clients' results with the records of each instance and with the rows.
func (s *struggle) settle(rows map[string]int) {
	s.t.Helper()
	granted := map[string]int{}
	for _, allocated := range s.holds {
		for p, amount := range allocated {
			granted[p] += amount
		}
	}
	if d := cmp.Diff(granted, rows); d != "" {
		s.t.Errorf("the rows are not what was granted (-granted +rows)\n%s", d)
	}
	for n := range accounts {
		p := account(n)
		for _, i := range s.f {
			used, _, err := usage(i.plain, p)
			if err != nil || used != granted[p] || used > capacity {
				s.t.Errorf("%s: %d of %s in use, %d granted, capacity %d, %v", i.name, used, p, granted[p], capacity, err)
			}
		}
	}
	s.checkConsumers()
	s.t.Logf("%d claims, %d of them refused for lack of room", len(s.holds), s.full.Load())
	if s.full.Load() == 0 {
		s.t.Error("no claim was refused: the test proves nothing")
	}
}

// checkConsumers checks some of the consumers, each on another instance.
func (s *struggle) checkConsumers() {
	s.t.Helper()
	seen := 0
	for consumer, want := range s.holds {
		got, _, err := holding(s.f[seen%size].plain, consumer)
		if d := cmp.Diff(want, got, cmp.Transformer("empty", whole)); d != "" || err != nil {
			s.t.Errorf("%s holds something else than granted: %v (-granted +held)\n%s", consumer, err, d)
		}
		if seen++; seen == 200 {
			return
		}
	}
}

// whole formats a map; a nil one like an empty one.
func whole(m map[string]int) string { return fmt.Sprint(m) }

// holding returns a consumer's allocations by provider and its generation, which is nil without
// allocations.
func holding(c *rest.Client, consumer string) (per map[string]int, generation any, err error) {
	a, err := c.Do("GET", "/allocations/"+consumer, nil)
	if err != nil {
		return nil, nil, err
	}
	var body struct {
		Allocations map[string]struct{ Resources rest.Resources }
		Generation  any `json:"consumer_generation"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || a.Status != http.StatusOK {
		return nil, nil, fmt.Errorf("allocations of %s = %d, %v: %s", consumer, a.Status, err, a.Body)
	}
	per = map[string]int{}
	for p, x := range body.Allocations {
		per[p] = x.Resources["VCPU"]
	}
	return per, body.Generation, nil
}

// A history records clients' operations and their times.
type history struct {
	clock atomic.Int64 // steps, so that no two moments are the same

	mu  sync.Mutex // guards ops
	ops []porcupine.Operation
}

func (h *history) now() int64 { return h.clock.Add(1) }

// add records a client's operation since the moment call, and its result.
func (h *history) add(client int, call int64, d deed, r result) {
	ret := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: d, Output: r, Call: call, Return: ret})
}

// check ends the test unless there is a sequential order.
func (h *history) check(t *testing.T) {
	t.Helper()
	if got := porcupine.CheckOperationsTimeout(model(), h.ops, think); got != porcupine.Ok {
		t.Fatalf("linearizable: %s, of %d operations", got, len(h.ops))
	}
	t.Logf("%d operations are linearizable", len(h.ops))
}
