package selection_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// In random clouds what is claimed never exceeds what there is, all servers have a
// host or the chooser says that not all have, it ends, no alternate is on a host that
// was taken, and the same seed makes the same choice.
func TestChoicesFit(t *testing.T) {
	for seed := range uint64(2000) {
		claims, alternates := choose(t, seed)
		again, others := choose(t, seed)
		if diff := cmp.Diff([]any{claims, alternates}, []any{again, others}); diff != "" {
			t.Fatalf("seed %d: the same choice differs:\n%s", seed, diff)
		}
		for _, a := range alternates {
			for _, c := range claims {
				if a.Host == c.Host {
					t.Errorf("seed %d: the alternate %s was taken", seed, a.Host)
				}
			}
		}
	}
}

func choose(t *testing.T, seed uint64) (claims, alternates []selection.Claim) {
	r := rand.New(rand.NewPCG(seed, 9))
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	var hosts []selection.Host
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprint("cn", i)
		hosts = append(hosts, selection.Host{
			Name: name, Provider: placement.UUID(name), Enabled: true, Up: r.IntN(5) > 0, Failed: r.IntN(2),
		})
		a.Providers[placement.UUID(name)] = stocked(name, "VCPU", r.Int64N(6))
		for d := range 1 + r.IntN(3) {
			device := fmt.Sprint(name, "/br", d)
			a.Providers[placement.UUID(device)] = stocked(name, "NET", r.Int64N(3000))
			a.Candidates = append(a.Candidates, selection.Candidate{
				Amounts: allocations.Amounts{name: {"VCPU": 1}, device: {"NET": 1000}},
			})
		}
	}
	r.Shuffle(len(a.Candidates), func(i, j int) { a.Candidates[i], a.Candidates[j] = a.Candidates[j], a.Candidates[i] })
	w := selection.Wanted{}
	for i := range 1 + r.IntN(6) {
		w.Servers = append(w.Servers, fmt.Sprint("s", i))
	}
	s := selection.DefaultSettings()
	s.Seed, s.Subset, s.Shuffle = seed, 1+r.IntN(3), r.IntN(2) == 0
	return run(t, selection.New(w, hosts, selection.NewOffer(a), s), a, len(w.Servers), r)
}

func stocked(root, class string, n int64) selection.Provider {
	return selection.Provider{Root: placement.UUID(root), Stocks: map[string]selection.Stock{class: {Capacity: n}}}
}

// run takes most claims and checks the allocations.
func run(
	t *testing.T, c *selection.Chooser, a selection.Answer, servers int, r *rand.Rand,
) (claims, alternates []selection.Claim) {
	allocated := allocations.Amounts{}
	for tried := 0; !c.Done(); tried++ {
		claim, ok := c.Next()
		if !ok {
			return c.Claims(), nil
		}
		if tried > servers*len(a.Candidates) {
			t.Fatal("the chooser does not end")
		}
		if r.IntN(6) == 0 {
			continue
		}
		allocated = allocated.Plus(claim.Amounts)
		c.Taken()
	}
	if len(c.Claims()) != servers {
		t.Errorf("%d of %d servers have a host", len(c.Claims()), servers)
	}
	for provider, classes := range allocated {
		for class, n := range classes {
			if most := a.Providers[placement.UUID(provider)].Stocks[class].Capacity; n > most {
				t.Errorf("%s has %s:%d of %d", provider, class, n, most)
			}
		}
	}
	return c.Claims(), c.Alternates()
}
