package races

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
)

const (
	providers = 10
	capacity  = 8
	taken     = 5 // before the contention begins
	turns     = 40
)

func provider(n int) string { return rest.UUID("a0", n) }

// TestLastUnits has the writers compete for the last units of ten providers, with claims on one and
// on two of them at once.
func TestLastUnits(t *testing.T) {
	rest.Each(t, func(t *testing.T, url string) {
		f := newFight(t, url)
		crowd(writers, turns, f.turn)
		f.h.check(t, accounts(capacity, account{used: taken, generation: 2}))
		f.settle()
	})
}

// A struggle is the contention for the last units and its records.
type struggle struct {
	t *testing.T
	c *rest.Client
	h history

	mu      sync.Mutex                           // guards the maps
	holds   map[string]map[string]rest.Resources // consumer to its granted allocations
	refused map[string]bool
}

func newFight(t *testing.T, url string) *struggle {
	t.Helper()
	c := rest.New(url, "1.36")
	t.Cleanup(c.Close)
	f := &struggle{t: t, c: c, holds: map[string]map[string]rest.Resources{}, refused: map[string]bool{}}
	for n := range providers {
		p := provider(n)
		c.AddProvider(t, p, "", rest.Resources{"VCPU": capacity})
		per := map[string]rest.Resources{p: {"VCPU": taken}}
		consumer := rest.UUID("a1", n)
		c.Must(t, 204, "PUT", "/allocations/"+consumer, rest.Allocations(nil, per))
		f.holds[consumer] = per
	}
	return f
}

// turn claims for a new consumer, and if that is granted mostly releases it; in between, it reads.
func (f *struggle) turn(w, turn int, r *rand.Rand) {
	consumer := rest.UUID("a2", w*1000+turn)
	per := map[string]rest.Resources{provider(r.IntN(providers)): {"VCPU": 1 + r.IntN(2)}}
	if r.IntN(3) == 0 {
		per[provider(r.IntN(providers))] = rest.Resources{"VCPU": 1}
	}
	granted := f.claim(w, consumer, per)
	for p := range per {
		f.look(w, p)
	}
	if granted && r.IntN(4) > 0 {
		f.release(w, consumer, per)
	}
}

func (f *struggle) claim(w int, consumer string, per map[string]rest.Resources) bool {
	call := f.h.now()
	got := do(f.t, f.c, "PUT", "/allocations/"+consumer, rest.Allocations(nil, per))
	for p, res := range per {
		e := effect{verdict: got.verdict}
		if got.verdict == full && !strings.Contains(got.detail, p) {
			e.verdict = crossed // the other provider of the claim is the full one
		}
		f.h.add(w, call, entry{p, claim, res["VCPU"]}, e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if got.verdict == accepted {
		f.holds[consumer] = per
	} else {
		f.refused[consumer] = true
	}
	return got.verdict == accepted
}

func (f *struggle) release(w int, consumer string, per map[string]rest.Resources) {
	call := f.h.now()
	got := do(f.t, f.c, "DELETE", "/allocations/"+consumer, nil)
	for p, res := range per {
		f.h.add(w, call, entry{p, release, res["VCPU"]}, effect{verdict: got.verdict})
	}
	if got.verdict != accepted {
		f.t.Errorf("giving back what %s holds: %s %s", consumer, got.verdict, got.detail)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.holds, consumer)
	f.refused[consumer] = true
}

func (f *struggle) look(w int, p string) {
	call := f.h.now()
	a, err := f.c.Do("GET", "/resource_providers/"+p+"/usages", nil)
	if err != nil {
		f.t.Error(err)
		return
	}
	var u struct {
		Generation int `json:"resource_provider_generation"`
		Usages     rest.Resources
	}
	if err := json.Unmarshal(a.Body, &u); err != nil {
		f.t.Errorf("usages of %s: %v: %q", p, err, a.Body)
		return
	}
	f.h.add(w, call, entry{provider: p, kind: look}, effect{used: u.Usages["VCPU"], generation: u.Generation})
}

// settle compares the service's records with those of the writers.
func (f *struggle) settle() {
	f.t.Helper()
	sum := map[string]int{}
	for consumer, per := range f.holds {
		f.same(consumer, per)
		for p, res := range per {
			sum[p] += res["VCPU"]
		}
	}
	for n := range providers {
		p := provider(n)
		got := f.c.Usages(f.t, p)["VCPU"]
		if got != sum[p] || got > capacity {
			f.t.Errorf("%s: %d in use, %d granted, capacity %d", p, got, sum[p], capacity)
		}
	}
	checked := 0
	for consumer := range f.refused {
		if checked++; checked > 100 {
			break
		}
		f.same(consumer, nil)
	}
	f.t.Logf("%d consumers hold something, %d hold nothing", len(f.holds), len(f.refused))
}

// same reports an error unless a consumer's allocations are exactly the granted ones.
func (f *struggle) same(consumer string, want map[string]rest.Resources) {
	f.t.Helper()
	if d := cmp.Diff(want, allocated(f.t, f.c, consumer)); d != "" {
		f.t.Errorf("allocations of %s (-want +got)\n%s", consumer, d)
	}
}

// allocated returns a consumer's allocations, nil for none.
func allocated(t *testing.T, c *rest.Client, consumer string) map[string]rest.Resources {
	t.Helper()
	var body struct {
		Allocations map[string]struct{ Resources rest.Resources }
	}
	c.Read(t, "/allocations/"+consumer, &body)
	var per map[string]rest.Resources
	for p, a := range body.Allocations {
		if per == nil {
			per = map[string]rest.Resources{}
		}
		per[p] = a.Resources
	}
	return per
}
