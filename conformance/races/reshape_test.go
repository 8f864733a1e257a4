package races

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
)

// TestReshapeAmongClaims moves the processors of a host to a child and back, with all their
// allocations, while the writers claim and release. No allocation may be lost, duplicated or
// restored.
func TestReshapeAmongClaims(t *testing.T) {
	rest.Each(t, func(t *testing.T, url string) {
		m := newMove(t, url)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { m.run(stop) })
		crowd(writers/4, turns/2, m.turn)
		close(stop)
		wg.Wait()
		if got := m.reshape(); got.verdict != accepted {
			t.Errorf("a reshape without concurrent requests: %s %s", got.verdict, got.detail)
		}
		t.Logf("%d reshapes done, %d refused", m.done, m.refused)
		m.settle()
	})
}

const hostCapacity = 100

// A move is a host whose processors move between providers, and the writers' records.
type move struct {
	t     *testing.T
	c     *rest.Client
	sides [2]string
	at    int // which side has the processors; the reshaper's alone

	done, refused int

	mu    sync.Mutex     // guards holds
	holds map[string]int // consumer to amount, 0 after its release
}

func newMove(t *testing.T, url string) *move {
	t.Helper()
	c := rest.New(url, "1.37")
	t.Cleanup(c.Close)
	m := &move{t: t, c: c, holds: map[string]int{}, sides: [2]string{provider(0), provider(1)}}
	c.AddProvider(t, m.sides[0], "", rest.Resources{"VCPU": hostCapacity})
	c.AddProvider(t, m.sides[1], m.sides[0], nil)
	return m
}

// run reshapes until stop is closed, with pauses for the writers.
func (m *move) run(stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			m.reshape()
		}
	}
}

// reshape moves everything to the other side, or is refused because of a concurrent write.
func (m *move) reshape() ruling {
	from, to := m.sides[m.at], m.sides[1-m.at]
	moved, ok := m.everything(from, to)
	if !ok {
		return ruling{verdict: crossed}
	}
	var gens [2]struct{ Generation int }
	for i, p := range []string{from, to} {
		if !read(m.t, m.c, "/resource_providers/"+p, &gens[i]) {
			return ruling{verdict: crossed}
		}
	}
	got := do(m.t, m.c, "POST", "/reshaper", rest.Object{
		"allocations": moved,
		"inventories": rest.Object{
			from: rest.Inventories(gens[0].Generation, nil),
			to:   rest.Inventories(gens[1].Generation, rest.Resources{"VCPU": hostCapacity}),
		},
	})
	if got.verdict == accepted {
		m.at = 1 - m.at
		m.done++
	} else {
		m.refused++
	}
	return got
}

// everything returns the allocations of all consumers of from, moved to to. It
// gives up if one of them has changed since the list was read.
func (m *move) everything(from, to string) (rest.Object, bool) {
	var all struct {
		Allocations map[string]struct{ Resources rest.Resources }
	}
	if !read(m.t, m.c, "/resource_providers/"+from+"/allocations", &all) {
		return nil, false
	}
	moved := rest.Object{}
	for consumer, a := range all.Allocations {
		var c struct {
			Generation *int `json:"consumer_generation"`
		}
		if !read(m.t, m.c, "/allocations/"+consumer, &c) || c.Generation == nil {
			return nil, false
		}
		moved[consumer] = rest.Allocations(*c.Generation, map[string]rest.Resources{to: a.Resources})
	}
	return moved, true
}

// turn claims on the side that has the processors and releases half of the time.
func (m *move) turn(w, turn int, r *rand.Rand) {
	consumer := rest.UUID("d0", w*1000+turn)
	amount := 1 + r.IntN(3)
	side := m.sides[r.IntN(2)]
	body := rest.Allocations(nil, map[string]rest.Resources{side: {"VCPU": amount}})
	if do(m.t, m.c, "PUT", "/allocations/"+consumer, body).verdict != accepted {
		m.note(consumer, 0)
		return
	}
	m.note(consumer, amount)
	if r.IntN(2) == 0 {
		return
	}
	if got := do(m.t, m.c, "DELETE", "/allocations/"+consumer, nil); got.verdict == accepted {
		m.note(consumer, 0)
	} else if got.verdict == vanished {
		m.t.Errorf("what %s was granted is gone: %s", consumer, got.detail)
	}
}

func (m *move) note(consumer string, amount int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds[consumer] = amount
}

func (m *move) settle() {
	m.t.Helper()
	sum := 0
	for consumer, want := range m.holds {
		sum += want
		got := 0
		for _, res := range allocated(m.t, m.c, consumer) {
			got += res["VCPU"]
		}
		if got != want {
			m.t.Errorf("%s holds %d, was granted %d", consumer, got, want)
		}
	}
	used := 0
	for _, p := range m.sides {
		used += m.c.Usages(m.t, p)["VCPU"]
	}
	if used != sum || used > hostCapacity {
		m.t.Errorf("%d in use, %d granted, capacity %d", used, sum, hostCapacity)
	}
}
