package races

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
)

// TestConsumerGenerations has the writers replace the allocations of a few consumers, each with the
// generation it has just read.
func TestConsumerGenerations(t *testing.T) {
	const consumers = 8
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, "1.28")
		defer c.Close()
		c.AddProvider(t, provider(0), "", rest.Resources{"VCPU": 1 << 20})
		for n := range consumers {
			c.Must(t, 204, "PUT", "/allocations/"+rest.UUID("b0", n), one(nil, 1))
		}
		var h history
		crowd(writers, turns/4, func(w, turn int, r *rand.Rand) {
			name := rest.UUID("b0", r.IntN(consumers))
			s, ok := readConsumer(t, c, &h, w, name)
			if !ok {
				return
			}
			next := register{s.generation, 2 + r.IntN(1000)}
			swap(t, c, &h, w, name, "/allocations/"+name, next, one(next.generation, next.value))
		})
		h.check(t, registers(register{1, 1}))
	})
}

// one returns a claim of an amount on the first provider.
func one(generation any, amount int) rest.Object {
	return rest.Allocations(generation, map[string]rest.Resources{provider(0): {"VCPU": amount}})
}

// swap sends a write that replaces a register's value and records it.
func swap(t *testing.T, c *rest.Client, h *history, w int, name, path string, next register, body any) {
	call := h.now()
	got := do(t, c, "PUT", path, body)
	if got.verdict == full || got.verdict == vanished {
		t.Errorf("PUT %s: %s", path, got.detail)
		got.verdict = crossed
	}
	h.add(w, call, change{name: name, known: next}, changed{verdict: got.verdict})
}

func readConsumer(t *testing.T, c *rest.Client, h *history, w int, name string) (register, bool) {
	var body struct {
		Generation  int `json:"consumer_generation"`
		Allocations map[string]struct{ Resources rest.Resources }
	}
	call := h.now()
	if !read(t, c, "/allocations/"+name, &body) {
		return register{}, false
	}
	s := register{body.Generation, body.Allocations[provider(0)].Resources["VCPU"]}
	h.add(w, call, change{name: name, read: true}, changed{found: s})
	return s, true
}

// read is Client.Read for the writers, which must not end the test.
func read(t *testing.T, c *rest.Client, path string, v any) bool {
	a, err := c.Do("GET", path, nil)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	if err == nil {
		err = json.Unmarshal(a.Body, v)
	}
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
	}
	return err == nil
}

// TestOneCreator has all writers claim for the same new consumer at the same moment: one creates
// it, the others get a generation conflict.
func TestOneCreator(t *testing.T) {
	const rounds = 4
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, "1.28")
		defer c.Close()
		c.AddProvider(t, provider(0), "", rest.Resources{"VCPU": 1 << 20})
		for round := range rounds {
			var winners, winner atomic.Int64
			consumer := rest.UUID("b1", round)
			together(writers, func(w int) {
				if do(t, c, "PUT", "/allocations/"+consumer, one(nil, w+1)).verdict == accepted {
					winners.Add(1)
					winner.Store(int64(w + 1))
				}
			})
			if winners.Load() != 1 {
				t.Errorf("%d writers created %s, want 1", winners.Load(), consumer)
			}
			if got := allocated(t, c, consumer)[provider(0)]["VCPU"]; int64(got) != winner.Load() {
				t.Errorf("%s holds %d, the winner claimed %d", consumer, got, winner.Load())
			}
		}
	})
}

// together calls act for n writers that start at the same moment.
func together(n int, act func(writer int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			<-start
			act(w)
		})
	}
	close(start)
	wg.Wait()
}

// TestInventoryGenerations has the writers replace the inventories of a few providers, each with
// the generation it has just read.
func TestInventoryGenerations(t *testing.T) {
	const providers = 10
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, rest.Newest)
		defer c.Close()
		for n := range providers {
			c.AddProvider(t, provider(n), "", rest.Resources{"VCPU": 1})
		}
		var h history
		var wins [providers]atomic.Int64
		crowd(writers, turns/4, func(w, turn int, r *rand.Rand) {
			n := r.IntN(providers)
			path := "/resource_providers/" + provider(n) + "/inventories"
			s, ok := readInventory(t, c, &h, w, path)
			if !ok {
				return
			}
			next := register{s.generation, 2 + r.IntN(1000)}
			call := h.now()
			got := do(t, c, "PUT", path, rest.Inventories(next.generation, rest.Resources{"VCPU": next.value}))
			h.add(w, call, change{name: path, known: next}, changed{verdict: got.verdict})
			if got.verdict == accepted {
				wins[n].Add(1)
			}
		})
		for n := range providers {
			path := "/resource_providers/" + provider(n) + "/inventories"
			s, ok := readInventory(t, c, &h, 0, path)
			if want := 1 + int(wins[n].Load()); !ok || s.generation != want {
				t.Errorf("%s is at generation %d after %d accepted writes, want %d", path, s.generation, want-1, want)
			}
		}
		h.check(t, registers(register{1, 1}))
	})
}

func readInventory(t *testing.T, c *rest.Client, h *history, w int, path string) (register, bool) {
	var body struct {
		Generation  int `json:"resource_provider_generation"`
		Inventories map[string]struct{ Total int }
	}
	call := h.now()
	if !read(t, c, path, &body) {
		return register{}, false
	}
	s := register{body.Generation, body.Inventories["VCPU"].Total}
	h.add(w, call, change{name: path, read: true}, changed{found: s})
	return s, true
}

// TestTraitsHaveOneCreator has all writers create the same traits.
func TestTraitsHaveOneCreator(t *testing.T) {
	const rounds = 4
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, rest.Newest)
		defer c.Close()
		for round := range rounds {
			var created, found atomic.Int64
			path := fmt.Sprintf("/traits/CUSTOM_RACE_%d", round)
			together(writers, func(int) {
				a, err := c.Do("PUT", path, nil)
				switch {
				case err != nil:
					t.Error(err)
				case a.Status == 201:
					created.Add(1)
				case a.Status == 204:
					found.Add(1)
				default:
					t.Errorf("PUT %s = %d: %s", path, a.Status, a.Body)
				}
			})
			if created.Load() != 1 || found.Load() != writers-1 {
				t.Errorf("PUT %s: %d created it and %d found it, want 1 and %d", path, created.Load(), found.Load(), writers-1)
			}
		}
	})
}
