package races

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berthcloud/berth/internal/rest"
)

const (
	writers = 64

	// fight bounds the duration of a crowd; it stops earlier when every writer has had its turns.
	fight = 2 * time.Second

	// think bounds the search for a linearization of one history.
	think = 20 * time.Second
)

// crowd calls act for every writer repeatedly, until all of them have had their turns or the time
// is over. Each writer has a random source of its own.
func crowd(n, turns int, act func(writer, turn int, r *rand.Rand)) {
	end := time.Now().Add(fight)
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for turn := 0; turn < turns && time.Now().Before(end); turn++ {
				act(w, turn, r)
			}
		})
	}
	wg.Wait()
}

// A history records writers' operations and their times.
type history struct {
	clock atomic.Int64 // steps, so that no two moments are the same

	mu  sync.Mutex // guards ops
	ops []porcupine.Operation
}

func (h *history) now() int64 { return h.clock.Add(1) }

// add records that writer did in and learned out, since the moment call.
func (h *history) add(writer int, call int64, in, out any) {
	ret := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: writer, Input: in, Output: out, Call: call, Return: ret})
}

// check ends the test unless the history can be explained by operations that
// happened one after the other.
func (h *history) check(t *testing.T, m porcupine.Model) {
	t.Helper()
	res := porcupine.CheckOperationsTimeout(m, h.ops, think)
	if res != porcupine.Ok {
		t.Fatalf("linearizable: %s, after %d operations", res, len(h.ops))
	}
	t.Logf("%d operations are linearizable", len(h.ops))
}

// A verdict is how a write ended.
type verdict string

const (
	accepted verdict = "accepted"
	full     verdict = "full"     // it would exceed a capacity
	stale    verdict = "stale"    // the generation sent is not the present one
	crossed  verdict = "crossed"  // another write came between; the outcome is unknown
	vanished verdict = "vanished" // its object does not exist
)

// A ruling is a verdict and the service's text for it.
type ruling struct {
	verdict verdict
	code    string
	detail  string
}

// rule interprets an answer. Anything that is not one of the verdicts, a 500
// before all, fails the test.
func rule(t *testing.T, a rest.Answer, err error) ruling {
	t.Helper()
	if err != nil {
		t.Errorf("no answer: %v", err)
		return ruling{verdict: crossed}
	}
	if a.Status/100 == 2 {
		return ruling{verdict: accepted}
	}
	var body struct {
		Errors []struct{ Code, Detail string }
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || len(body.Errors) == 0 {
		t.Errorf("status %d with %q", a.Status, a.Body)
		return ruling{verdict: crossed}
	}
	r := ruling{code: body.Errors[0].Code, detail: body.Errors[0].Detail}
	r.verdict = judge(a.Status, r.detail)
	if r.verdict == "" {
		t.Errorf("status %d: %s %s", a.Status, r.code, r.detail)
		r.verdict = crossed
	}
	return r
}

func judge(status int, detail string) verdict {
	switch {
	case status == http.StatusNotFound:
		return vanished
	case status != http.StatusConflict:
		return ""
	case strings.Contains(detail, "exceed the capacity"):
		return full
	case strings.Contains(detail, "consumer generation conflict"),
		strings.Contains(detail, "resource provider generation conflict"):
		return stale
	case strings.Contains(detail, "on resource provider") && strings.Contains(detail, "invalid"):
		return vanished // no inventory of the class
	}
	return crossed
}

// do sends a request and interprets the answer.
func do(t *testing.T, c *rest.Client, method, path string, body any) ruling {
	t.Helper()
	a, err := c.Do(method, path, body)
	return rule(t, a, err)
}
