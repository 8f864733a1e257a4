package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/internal/racetest"
)

// A consumersOfRefused is a placement service that does what upstream's does with the consumer of a
// claim that names an unknown provider (placement/handlers/allocation.py, ensure_consumer): it
// refuses the claim with 400 and keeps the consumer, of generation 0 and without allocations. The
// next write has to name that generation, which no answer has.
type consumersOfRefused struct {
	http.Handler

	mu   sync.Mutex // guards what follows
	kept map[string]bool
	hits int // writes that were refused since a consumer was kept
}

// ServeHTTP looks at writes of allocations only.
func (p *consumersOfRefused) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, single := strings.CutPrefix(r.URL.Path, "/allocations/")
	if !(single && r.Method == http.MethodPut || r.URL.Path == "/allocations" && r.Method == http.MethodPost) {
		p.Handler.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // a truncated body is refused below
	written := map[string]map[string]json.RawMessage{}
	if single {
		written[id] = nil
		var consumer map[string]json.RawMessage
		if json.Unmarshal(body, &consumer) == nil {
			written[id] = consumer
		}
	} else if json.Unmarshal(body, &written) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var created []string
	for id, consumer := range written {
		generation := string(consumer["consumer_generation"])
		switch {
		case p.kept[id] && generation != "0":
			p.hits++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"errors": [{"status": 409, "code": "placement.concurrent_update", "detail": "There was a conflict `+
				`when trying to complete your request.\n\n consumer generation conflict - expected 0 but got None  "}]}`)
			return
		case p.kept[id]:
			consumer["consumer_generation"] = json.RawMessage("null")
			created = append(created, id)
		case generation == "null":
			created = append(created, id)
		}
	}
	if single {
		body, _ = json.Marshal(written[id])
	} else {
		body, _ = json.Marshal(written)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := httptest.NewRecorder()
	p.Handler.ServeHTTP(answer, r)
	for _, id := range created {
		switch {
		case answer.Code < 300:
			delete(p.kept, id)
		case answer.Code == http.StatusBadRequest && strings.Contains(answer.Body.String(), "that does not exist"):
			p.kept[id] = true
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// keepConsumers has the fixture's placement keep consumers as upstream's does.
func (w *fixture) keepConsumers() *consumersOfRefused {
	b := w.paths.placement
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &consumersOfRefused{Handler: b.handler, kept: map[string]bool{}}
	b.handler = p
	return p
}

// A killable store is one whose process may be killed at any time.
type killable struct {
	compute.Store
	dead atomic.Bool
}

func (k *killable) Update(ctx context.Context, now time.Time, fn func(compute.Writer) error) error {
	if k.dead.Load() {
		return errEnded
	}
	return k.Store.Update(ctx, now, fn)
}

// A worker is killed while it boots a server, before each of placement's requests and at each of
// its commits, and the hosts start in another shape at that moment. The next worker brings the
// server up, on what the shape has at last, also where placement has kept the consumer of a refused
// claim; a worker that is not killed does so too.
func TestKilledBootsDuringReshapes(t *testing.T) {
	nodes := func(w *fixture, host string) { w.must(w.startWithNodes(host, 4, 4)) }
	flat := func(w *fixture, host string) { w.must(w.start(host, 8, 8)) }
	shared := func(w *fixture, host string) { w.must(w.start(host, 8, 0)) }
	dedicated := func(w *fixture, host string) { w.must(w.start(host, 0, 8)) }
	var hits atomic.Int64
	t.Run("all", func(t *testing.T) {
		for name, shapes := range map[string][2]func(w *fixture, host string){
			"dedicated": {shared, dedicated}, "to nodes": {flat, nodes}, "from nodes": {nodes, flat},
		} {
			if racetest.Few() && name != "from nodes" {
				continue
			}
			for _, when := range []string{"request", "request survived", "update"} {
				t.Run(name+"/"+when, func(t *testing.T) {
					t.Parallel()
					for at, met := 1, true; met && !t.Failed(); at++ {
						met = killedBoot(t, when, at, shapes, &hits)
					}
				})
			}
		}
	})
	if hits.Load() == 0 {
		t.Error("no claim was refused because of a consumer that placement kept")
	}
}

// killedBoot has a worker killed while it boots a server, and reports whether it was still at work.
func killedBoot(
	t *testing.T, when string, at int, shapes [2]func(w *fixture, host string), hits *atomic.Int64,
) (met bool) {
	w := newFixture(t, 0)
	upstream := w.keepConsumers()
	w.pinned()
	for _, host := range []string{"cn1", "cn2"} {
		shapes[0](w, host)
	}
	reshape := func() {
		for _, host := range []string{"cn1", "cn2"} {
			shapes[1](w, host)
		}
	}
	process := &killable{Store: w.store}
	store := &dying{Store: process}
	if store.endAt = 1 << 30; when == "update" {
		store.endAt = at
	} else {
		w.paths.placement.happens(at, func() {
			reshape()
			process.dead.Store(when == "request")
		})
	}
	s := w.serve(store)
	_, err := s.CreateServers(ctx, ann, servers.ServerSpec{Name: "vm", Flavor: "pinned", Image: cirros})
	for range 10 {
		if err == nil {
			_, err = s.Recover(ctx)
		}
		if err != nil || !w.hostsWork(w.cloudService, nil) {
			break
		}
	}
	if met = w.paths.placement.heals(); when == "update" {
		met = store.updates >= at
	}
	if when == "update" || !met {
		reshape()
	}
	w.must(w.TakeOver(ctx, func(string) bool { return true }, 0))
	w.work(w.cloudService, nil)
	failed := 0
	w.checkReshaped(fmt.Sprintf("%s %d", when, at), &failed)
	if failed > 0 {
		t.Errorf("%s %d: the server is in error: there was room for it in each shape", when, at)
	}
	w.calm(fmt.Sprintf("%s %d", when, at))
	upstream.mu.Lock()
	defer upstream.mu.Unlock()
	hits.Add(int64(upstream.hits))
	return met
}
