package instances

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
)

const (
	walkers = 6

	// enough is the number of pairs of a write and a read on each database, however long they take;
	// walkTime is the time-out for all of them.
	enough   = 1200
	walkTime = 3 * time.Minute
)

// TestReadsAreFresh writes on one instance and reads on another as soon as the
// write is answered, while others do the same.
func TestReadsAreFresh(t *testing.T) {
	t.Run("Galera", func(t *testing.T) {
		c := dbtest.Galera(t)
		d := c.CreateDatabase(t)
		var urls []string
		for _, addresses := range rotated(c.Addresses()) {
			urls = append(urls, d.URL(addresses...))
		}
		walkAll(t, newFleet(t, urls))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		walkAll(t, newFleet(t, same(dbtest.PostgreSQL(t).NewDatabase(t))))
	})
}

// walkAll runs the walkers, concurrently with readers of large lists: requests that begin before a
// write and are answered after it.
func walkAll(t *testing.T, f fleet) {
	t.Helper()
	var pairs, reads atomic.Int64
	want, end := int64(enough*stretch(t)), time.Now().Add(lasting(t, walkTime))
	goOn := func() bool { return pairs.Load() < want && time.Now().Before(end) && !t.Failed() }
	var wg sync.WaitGroup
	for n := range walkers {
		w := &walker{t: t, f: f, n: n, r: rand.New(rand.NewPCG(uint64(n), 1)), pairs: &pairs}
		wg.Go(func() {
			for round := 0; goOn(); round++ {
				w.round(round)
			}
		})
	}
	for _, i := range f {
		wg.Go(func() {
			for goOn() {
				if a, err := i.c.Do("GET", "/allocation_candidates?resources=VCPU:1&limit=5", nil); err != nil || a.Status != 200 {
					t.Errorf("%s: candidates: status %d, %v: %s", i.name, a.Status, err, a.Body)
				}
				reads.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d writes on one instance followed by a read on another, %d other reads", pairs.Load(), reads.Load())
	if pairs.Load() < want {
		t.Errorf("%d pairs in %v, want %d", pairs.Load(), lasting(t, walkTime), want)
	}
}

// A walker changes objects of its own, so that the expected result of each read is known.
type walker struct {
	t     *testing.T
	f     fleet
	n     int
	r     *rand.Rand
	pairs *atomic.Int64
}

// A sight is the expected result of a read.
type sight struct {
	path   string
	status int
	has    string // in the body without its blanks; "" for anything
	lacks  string // "" for none
}

// do writes through one instance and reads through others, and returns whether to continue.
func (w *walker) do(method, path string, body any, sights ...sight) bool {
	at := w.r.IntN(size)
	a, err := w.f[at].c.Do(method, path, body)
	if err != nil || a.Status/100 != 2 {
		w.t.Errorf("%s: %s %s = %d, %v: %s", w.f[at].name, method, path, a.Status, err, a.Body)
		return false
	}
	for n, s := range sights {
		from := w.f[(at+1+(n+w.r.IntN(2))%(size-1))%size]
		if wrong := s.check(from.c); wrong != "" {
			w.t.Errorf("after %s %s on %s, %s says: %s", method, path, w.f[at].name, from.name, wrong)
			return false
		}
		w.pairs.Add(1)
	}
	return true
}

// check returns what is wrong with a read, "" for nothing.
func (s sight) check(c *rest.Client) string {
	a, err := c.Do("GET", s.path, nil)
	if err != nil {
		return err.Error()
	}
	var text bytes.Buffer
	if json.Compact(&text, a.Body) != nil {
		text.Reset()
		text.Write(a.Body) // an empty body, or no JSON
	}
	switch body := text.String(); {
	case a.Status != s.status:
		return fmt.Sprintf("GET %s = %d, want %d: %s", s.path, a.Status, s.status, body)
	case !strings.Contains(body, s.has):
		return fmt.Sprintf("GET %s lacks %s: %s", s.path, s.has, body)
	case s.lacks != "" && strings.Contains(body, s.lacks):
		return fmt.Sprintf("GET %s still has %s: %s", s.path, s.lacks, body)
	}
	return ""
}

// A scene has the objects of one round.
type scene struct {
	p, child, agg, consumer string
	class, trait, project   string
	url                     string // path of the provider
}

func (w *walker) scene(round int) scene {
	id := w.n<<24 | round
	s := scene{
		p: rest.UUID("b0", id), child: rest.UUID("b1", id), agg: rest.UUID("b2", id), consumer: rest.UUID("b3", id),
		class: fmt.Sprintf("CUSTOM_CLASS_%08X", id), trait: fmt.Sprintf("CUSTOM_TRAIT_%08X", id),
		project: fmt.Sprintf("project-%08x", id),
	}
	s.url = "/resource_providers/" + s.p
	return s
}

// round takes a provider from its creation to its removal.
func (w *walker) round(n int) {
	s := w.scene(n)
	for _, part := range []func(scene) bool{w.create, w.describe, w.stock, w.claim, w.release, w.undo, w.grow, w.remove} {
		if !part(s) {
			return
		}
	}
}

func (w *walker) create(s scene) bool {
	return w.do("POST", "/resource_providers", rest.Object{"name": "new " + s.p, "uuid": s.p},
		sight{s.url, 200, `"name":"new ` + s.p, ""},
		sight{"/resource_providers?uuid=" + s.p, 200, `"generation":0`, ""}) &&
		w.do("PUT", s.url, rest.Object{"name": "renamed " + s.p},
			sight{s.url, 200, `"name":"renamed ` + s.p, ""},
			sight{"/resource_providers?name=new%20" + s.p, 200, "", s.p})
}

func (w *walker) describe(s scene) bool {
	return w.do("PUT", "/traits/"+s.trait, nil,
		sight{"/traits/" + s.trait, 204, "", ""}, sight{"/traits?name=startswith:" + s.trait, 200, s.trait, ""}) &&
		w.do("PUT", s.url+"/traits", rest.Object{"resource_provider_generation": 0, "traits": []string{s.trait}},
			sight{s.url + "/traits", 200, `"resource_provider_generation":1`, ""},
			sight{"/resource_providers?required=" + s.trait, 200, s.p, ""}) &&
		w.do("PUT", s.url+"/aggregates", rest.Object{"resource_provider_generation": 1, "aggregates": []string{s.agg}},
			sight{s.url + "/aggregates", 200, s.agg, ""},
			sight{"/resource_providers?member_of=" + s.agg, 200, s.p, ""})
}

func (w *walker) stock(s scene) bool {
	want := "/allocation_candidates?resources=" + s.class + ":4&required=" + s.trait + "&member_of=" + s.agg
	return w.do("PUT", "/resource_classes/"+s.class, nil,
		sight{"/resource_classes/" + s.class, 200, s.class, ""}, sight{"/resource_classes", 200, s.class, ""}) &&
		w.do("PUT", s.url+"/inventories", rest.Inventories(2, rest.Resources{s.class: 4}),
			sight{s.url + "/inventories", 200, `"total":4`, ""}, sight{want, 200, s.p, ""}) &&
		w.do("PUT", s.url+"/inventories/"+s.class, rest.Object{"resource_provider_generation": 3, "total": 5},
			sight{s.url + "/inventories/" + s.class, 200, `"total":5`, ""},
			sight{"/resource_providers?resources=" + s.class + ":5", 200, s.p, ""})
}

func (w *walker) claim(s scene) bool {
	body := rest.Claim(nil, map[string]rest.Resources{s.p: {s.class: 3}})
	body["project_id"] = s.project
	return w.do("PUT", "/allocations/"+s.consumer, body,
		sight{s.url + "/usages", 200, `"` + s.class + `":3`, ""},
		sight{"/allocations/" + s.consumer, 200, `"` + s.class + `":3`, ""},
		sight{"/usages?project_id=" + s.project, 200, `"` + s.class + `":3`, ""},
		sight{s.url + "/allocations", 200, s.consumer, ""},
		sight{"/allocation_candidates?resources=" + s.class + ":3", 200, "", s.p},
		sight{"/allocation_candidates?resources=" + s.class + ":2", 200, `"used":3`, ""},
		sight{s.url, 200, `"generation":5`, ""})
}

func (w *walker) release(s scene) bool {
	return w.do("DELETE", "/allocations/"+s.consumer, nil,
		sight{s.url + "/usages", 200, `"` + s.class + `":0`, ""},
		sight{"/allocations/" + s.consumer, 200, `"allocations":{}`, ""},
		sight{"/usages?project_id=" + s.project, 200, "", s.class},
		sight{"/allocation_candidates?resources=" + s.class + ":5", 200, s.p, ""})
}

// undo removes again what was added to the provider.
func (w *walker) undo(s scene) bool {
	return w.do("DELETE", s.url+"/inventories", nil,
		sight{s.url + "/inventories", 200, "", s.class},
		sight{"/allocation_candidates?resources=" + s.class + ":1", 200, "", s.p}) &&
		w.do("DELETE", "/resource_classes/"+s.class, nil,
			sight{"/resource_classes/" + s.class, 404, "", ""}, sight{"/resource_classes", 200, "", s.class}) &&
		w.do("DELETE", s.url+"/traits", nil,
			sight{s.url + "/traits", 200, "", s.trait}, sight{"/resource_providers?required=!" + s.trait, 200, s.p, ""}) &&
		w.do("DELETE", "/traits/"+s.trait, nil,
			sight{"/traits/" + s.trait, 404, "", ""}, sight{"/traits", 200, "", s.trait})
}

// grow adds a child to the provider and turns that into a separate tree.
func (w *walker) grow(s scene) bool {
	name := "child " + s.child
	child := "/resource_providers/" + s.child
	return w.do("POST", "/resource_providers", rest.Object{"name": name, "uuid": s.child, "parent_provider_uuid": s.p},
		sight{"/resource_providers?in_tree=" + s.p, 200, s.child, ""},
		sight{child, 200, `"root_provider_uuid":"` + s.p, ""}) &&
		w.do("PUT", child, rest.Object{"name": name, "parent_provider_uuid": nil},
			sight{"/resource_providers?in_tree=" + s.p, 200, s.p, s.child},
			sight{child, 200, `"root_provider_uuid":"` + s.child, ""}) &&
		w.do("DELETE", child, nil,
			sight{child, 404, "", ""}, sight{"/resource_providers?in_tree=" + s.child, 200, "", s.child})
}

func (w *walker) remove(s scene) bool {
	return w.do("DELETE", s.url, nil,
		sight{s.url, 404, "", ""}, sight{"/resource_providers", 200, "", s.p},
		sight{"/resource_providers?member_of=" + s.agg, 200, "", s.p})
}
