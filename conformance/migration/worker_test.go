package migration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/internal/rest"
)

var names = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d+`)

// A worker alternates between the services. It competes for the shared hosts and has a host of its
// own, whose generation it always knows.
type worker struct {
	g          *gathering
	n, turns   int
	r          *rand.Rand
	generation int
	mine       []string // consumers with allocations
}

func (w *worker) turn() {
	w.turns++
	p := w.g.any(w.r.IntN(len(w.g.parties)))
	switch n := w.r.IntN(10); {
	case n < 4:
		w.claim(p)
	case n < 6 && len(w.mine) > 0:
		w.release(p)
	case n < 7:
		w.set(p, "/inventories", rest.Inventories(w.generation, rest.Resources{"MEMORY_MB": 1000 + w.turns}))
	case n < 8:
		w.set(p, "/traits", rest.Object{
			"resource_provider_generation": w.generation, "traits": heralds[:w.r.IntN(len(heralds)+1)],
		})
	default:
		w.read(p)
	}
}

// claim requests some of two shared hosts for a new consumer. After a failed request the
// allocations are read at once: that answer is final.
func (w *worker) claim(p party) {
	consumer := rest.UUID(fmt.Sprintf("f%d", w.n), w.turns)
	per := map[string]rest.Resources{sharedHost(w.r.IntN(shared)): {"VCPU": 1 + w.r.IntN(3)}}
	per[sharedHost(w.r.IntN(shared))] = rest.Resources{"VCPU": 1}
	a := w.g.do(p, "PUT", "/allocations/"+consumer, rest.Claim(nil, per))
	allocated := w.g.allocated(consumer)
	if a.Status/100 == 2 && allocated == nil {
		w.g.t.Errorf("%s granted a claim that the database does not have", p.name)
	}
	if a.Status == 409 && allocated != nil {
		w.g.t.Errorf("%s refused a claim that the database has", p.name)
	}
	if allocated != nil {
		w.mine = append(w.mine, consumer)
	}
	w.g.book(consumer, claim{allocated, p.name})
}

func (w *worker) release(p party) {
	i := w.r.IntN(len(w.mine))
	consumer := w.mine[i]
	a := w.g.do(p, "DELETE", "/allocations/"+consumer, nil)
	allocated := w.g.allocated(consumer)
	if a.Status == 204 && allocated != nil {
		w.g.t.Errorf("%s released a claim that the database has still", p.name)
	}
	if allocated == nil {
		w.mine = slices.Delete(w.mine, i, i+1)
	}
	if allocated == nil {
		w.g.book(consumer, claim{})
	}
}

// allocated returns a consumer's allocations, which every service reads from the database: Berth
// returns a claim through upstream at once.
func (g *gathering) allocated(consumer string) map[string]rest.Resources {
	var body struct {
		Allocations map[string]struct{ Resources rest.Resources }
	}
	a := g.do(g.parties[1+consumer[len(consumer)-1]%2], "GET", "/allocations/"+consumer, nil)
	if err := json.Unmarshal(a.Body, &body); err != nil || len(body.Allocations) == 0 {
		return nil
	}
	per := map[string]rest.Resources{}
	for p, allocated := range body.Allocations {
		per[p] = allocated.Resources
	}
	return per
}

// book records a consumer's allocations, if any.
func (g *gathering) book(consumer string, c claim) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.per == nil {
		delete(g.holds, consumer)
	} else {
		g.holds[consumer] = c
	}
}

// set writes to the worker's own host with the generation that it learned from
// whichever service wrote last, after it was refused with an older one.
func (w *worker) set(p party, part string, body rest.Object) {
	path := "/resource_providers/" + ownHost(w.n) + part
	body["resource_provider_generation"] = w.generation - 1
	if a := w.g.do(p, "PUT", path, body); a.Status != 409 && (a.Status < 500 || p.berth) {
		w.g.t.Errorf("%s: PUT %s with generation %d, which is past, = %d", p.name, path, w.generation-1, a.Status)
	}
	body["resource_provider_generation"] = w.generation
	a := w.g.do(p, "PUT", path, body)
	var now struct {
		Generation int `json:"resource_provider_generation"`
	}
	switch err := json.Unmarshal(a.Body, &now); {
	case a.Status == 200 && (err != nil || now.Generation < w.generation):
		w.g.t.Errorf("%s: PUT %s: generation %d after %d: %s", p.name, path, now.Generation, w.generation, a.Body)
	case a.Status == 200:
		w.generation = now.Generation
	case p.berth:
		w.g.t.Errorf("%s: PUT %s with generation %d, which only this worker changes, = %d %s", p.name, path, w.generation,
			a.Status, a.Body)
	}
}

// read requires that no host is in use beyond its capacity, at any time.
func (w *worker) read(p party) {
	var body struct{ Usages rest.Resources }
	a := w.g.do(p, "GET", "/resource_providers/"+sharedHost(w.r.IntN(shared))+"/usages", nil)
	if err := json.Unmarshal(a.Body, &body); err != nil || body.Usages["VCPU"] > capacity && !w.g.lax {
		w.g.t.Errorf("%s: usages %s, want %d at most", p.name, a.Body, capacity)
	}
	if a := w.g.do(p, "GET", "/allocation_candidates?resources=VCPU:2&limit=5", nil); a.Status != 200 {
		w.g.t.Errorf("%s: candidates: %d %s", p.name, a.Status, a.Body)
	}
}

var heralds = []string{"CUSTOM_FIRST", "CUSTOM_SECOND", "CUSTOM_THIRD"}

// herald writes through each service in turn and measures when the others return it: Berth's writes
// at once, upstream's within a reconciliation.
func (g *gathering) herald(n int) {
	writer, path := g.any(n), "/resource_providers/"+ownHost(workers)+"/traits"
	trait := heralds[n%len(heralds)] // another one each time
	var now struct {
		Generation int `json:"resource_provider_generation"`
	}
	if err := json.Unmarshal(g.do(g.parties[0], "GET", path, nil).Body, &now); err != nil {
		return // upstream failed, which was counted
	}
	a := g.do(writer, "PUT", path, rest.Object{"resource_provider_generation": now.Generation, "traits": []string{trait}})
	if a.Status != 200 {
		return
	}
	begin := time.Now()
	for _, p := range g.parties {
		g.expect(p, path, trait, writer.berth, begin)
	}
}

// expect waits for a service to return a trait: without any wait when the writer was one of Berth's
// instances, or the service is upstream's.
func (g *gathering) expect(p party, path, trait string, atOnce bool, begin time.Time) {
	for {
		a := g.do(p, "GET", path, nil)
		took := time.Since(begin)
		switch {
		case a.Status == 200 && strings.Contains(string(a.Body), trait):
			g.mu.Lock()
			g.late = max(g.late, took)
			g.mu.Unlock()
			return
		case a.Status >= 500 && !p.berth:
			return
		case atOnce || !p.berth:
			g.t.Errorf("%s does not show what was written before: %s", p.name, a.Body)
			return
		case took > reconcileInterval+reconcileSlack:
			g.t.Errorf("%s does not show what upstream wrote %v ago: %s", p.name, took, a.Body)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
