package durability

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
)

const (
	clerks    = 8
	accounts  = 6 // of each clerk
	providers = 4

	// version has consumer generations and no consumer types.
	version = "1.36"
)

func provider(n int) string { return rest.UUID("e0", n) }

// holdings is a consumer's allocations: provider to amount, empty for none.
type holdings map[string]int

// An account is a client's record of one consumer. Only its clerk writes to it, one request after
// the other, so at most one answer is missing at any time.
type account struct {
	consumer string
	now      holdings // acknowledged last
	maybe    holdings // requested without an answer; nil when there is none
}

// A ledger is the records of all clerks over the whole life of a database.
type ledger struct {
	t        *testing.T
	c        *rest.Client
	accounts [clerks][]*account
	acks     atomic.Int64
	refusals atomic.Int64
	open     atomic.Int64 // requests that got no answer
}

// newLedger creates the providers and empty accounts.
func newLedger(t *testing.T, url string) *ledger {
	t.Helper()
	l := &ledger{t: t, c: rest.New(url, version)}
	t.Cleanup(l.c.Close)
	for n := range providers {
		l.c.AddProvider(t, provider(n), "", rest.Resources{"VCPU": 10000})
	}
	for w := range clerks {
		for i := range accounts {
			l.accounts[w] = append(l.accounts[w], &account{consumer: rest.UUID("ec", w*100+i), now: holdings{}})
		}
	}
	return l
}

// work lets the clerks write until stop is closed; it returns when all of them have ended.
func (l *ledger) work(stop <-chan struct{}, seed uint64) {
	var wg sync.WaitGroup
	for w := range clerks {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !l.write(w, r) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// write makes one change and records the answer. It returns false without one: the clerk stops,
// since the state is unknown.
func (l *ledger) write(w int, r *rand.Rand) bool {
	a := l.accounts[w][r.IntN(accounts)]
	switch r.IntN(8) {
	case 0:
		return l.refused(a)
	case 1:
		if len(a.now) > 0 {
			return l.send(http.MethodDelete, "/allocations/"+a.consumer, nil, map[*account]holdings{a: {}})
		}
	case 2:
		b := l.accounts[w][r.IntN(accounts)]
		if a != b {
			return l.both(r, a, b)
		}
	}
	return l.replace(r, a)
}

// some returns an amount on each of two providers.
func some(r *rand.Rand) holdings {
	first := r.IntN(providers)
	second := (first + 1 + r.IntN(providers-1)) % providers
	return holdings{provider(first): 1 + r.IntN(9), provider(second): 1 + r.IntN(9)}
}

func (l *ledger) replace(r *rand.Rand, a *account) bool {
	next := some(r)
	body, ok := l.body(a, next)
	return ok && l.send("PUT", "/allocations/"+a.consumer, body, map[*account]holdings{a: next})
}

// both changes two consumers in one request.
func (l *ledger) both(r *rand.Rand, a, b *account) bool {
	next := map[*account]holdings{a: some(r), b: some(r)}
	body := rest.Object{}
	for x, h := range next {
		one, ok := l.body(x, h)
		if !ok {
			return false
		}
		body[x.consumer] = one
	}
	return l.send("POST", "/allocations", body, next)
}

// refused requests too much of one provider and a little of another.
func (l *ledger) refused(a *account) bool {
	body, ok := l.body(a, holdings{provider(0): 1, provider(1): 1 << 20})
	if !ok {
		return false
	}
	return l.send("PUT", "/allocations/"+a.consumer, body, nil)
}

// body returns an allocation with the consumer's present generation.
func (l *ledger) body(a *account, h holdings) (rest.Object, bool) {
	ans, err := l.c.Do("GET", "/allocations/"+a.consumer, nil)
	if err != nil {
		return nil, false
	}
	var allocated struct {
		Generation any `json:"consumer_generation"`
	}
	if err := json.Unmarshal(ans.Body, &allocated); err != nil {
		l.t.Errorf("GET /allocations/%s: %v: %q", a.consumer, err, ans.Body)
		return nil, false
	}
	per := map[string]rest.Resources{}
	for p, n := range h {
		per[p] = rest.Resources{"VCPU": n}
	}
	return rest.Allocations(allocated.Generation, per), true
}

// send sends a request that changes accounts as given by next, nil for one that has to be refused.
func (l *ledger) send(method, path string, body any, next map[*account]holdings) bool {
	ans, err := l.c.Do(method, path, body)
	switch {
	case err != nil:
		l.open.Add(1)
		for a, h := range next {
			a.maybe = h
		}
		return false
	case ans.Status == http.StatusNoContent && next != nil:
		l.acks.Add(1)
		for a, h := range next {
			a.now = h
		}
	case ans.Status == http.StatusConflict:
		l.refusals.Add(1)
	case ans.Status == http.StatusServiceUnavailable:
		l.refusals.Add(1) // the service is ending and has not begun with it
	default:
		l.t.Errorf("%s %s = %d: %s", method, path, ans.Status, ans.Body)
	}
	return true
}

// audit compares the accounts with the service, resolves those with a missing answer and returns
// the errors.
func (l *ledger) audit() []string {
	l.t.Helper()
	wrong := l.pairs()
	sum := holdings{}
	for _, as := range l.accounts {
		for _, a := range as {
			got := l.allocated(a.consumer)
			if !maps.Equal(got, a.now) && (a.maybe == nil || !maps.Equal(got, a.maybe)) {
				wrong = append(wrong,
					fmt.Sprintf("%s holds %v\nacknowledged %v\nwithout an answer %v", a.consumer, got, a.now, a.maybe))
			}
			a.now, a.maybe = got, nil
			for p, n := range got {
				sum[p] += n
			}
		}
	}
	for n := range providers {
		p := provider(n)
		if got := l.c.Usages(l.t, p)["VCPU"]; got != sum[p] {
			wrong = append(wrong, fmt.Sprintf("%s: %d in use, its consumers hold %d", p, got, sum[p]))
		}
	}
	return wrong
}

// check fails the test with the findings of an audit.
func (l *ledger) check() {
	l.t.Helper()
	for _, w := range l.audit() {
		l.t.Error(w)
	}
}

func (l *ledger) allocated(consumer string) holdings {
	l.t.Helper()
	var body struct {
		Allocations map[string]struct{ Resources rest.Resources }
	}
	l.c.Read(l.t, "/allocations/"+consumer, &body)
	h := holdings{}
	for p, a := range body.Allocations {
		h[p] = a.Resources["VCPU"]
	}
	return h
}

// pairs finds requests about two consumers that were done for one of them
// alone.
func (l *ledger) pairs() []string {
	l.t.Helper()
	var wrong []string
	for _, as := range l.accounts {
		done := map[bool]int{}
		for _, a := range as {
			if a.maybe != nil && !maps.Equal(a.maybe, a.now) {
				done[maps.Equal(l.allocated(a.consumer), a.maybe)]++
			}
		}
		if done[true] > 0 && done[false] > 0 {
			wrong = append(wrong, fmt.Sprintf("a request was done for %d consumers and not for %d", done[true], done[false]))
		}
	}
	return wrong
}

// String describes the amount of writes.
func (l *ledger) String() string {
	return fmt.Sprintf("%d acknowledged, %d refused, %d without an answer", l.acks.Load(), l.refusals.Load(),
		l.open.Load())
}

// TestRecordsAgree audits the service after a load and no accident.
func TestRecordsAgree(t *testing.T) {
	rest.Each(t, func(t *testing.T, url string) {
		l := newLedger(t, url)
		l.work(after(2*time.Second), rand.Uint64())
		l.check()
		t.Log(l)
	})
}

// TestLedgerCanFail loses, halves and restores consumers' allocations without the ledger, and
// expects the audit to detect it.
func TestLedgerCanFail(t *testing.T) {
	rest.Each(t, func(t *testing.T, url string) {
		l := newLedger(t, url)
		r := rand.New(rand.NewPCG(1, 1))
		a, b := l.accounts[0][0], l.accounts[0][1]
		for _, x := range []*account{a, b} {
			if !l.replace(r, x) {
				t.Fatal("no answer")
			}
		}
		l.c.Must(t, 204, "DELETE", "/allocations/"+a.consumer, nil)
		if len(l.audit()) == 0 {
			t.Error("a lost allocation passes")
		}
		for p := range b.now {
			body, _ := l.body(b, holdings{p: b.now[p]})
			l.c.Must(t, 204, "PUT", "/allocations/"+b.consumer, body)
			break
		}
		if len(l.audit()) == 0 {
			t.Error("half an allocation passes")
		}
		a.maybe, b.maybe = b.now, holdings{}
		if body, ok := l.body(a, a.maybe); ok {
			l.c.Must(t, 204, "PUT", "/allocations/"+a.consumer, body)
		}
		if len(l.pairs()) == 0 {
			t.Error("one half of a request about two consumers passes")
		}
	})
}

// after returns a channel that is closed when d is over.
func after(d time.Duration) <-chan struct{} {
	stop := make(chan struct{})
	time.AfterFunc(d, func() { close(stop) })
	return stop
}
