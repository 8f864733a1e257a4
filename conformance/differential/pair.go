package differential

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A Pair is two services that ought to answer alike: A is the one to be
// measured against, B the one under test.
type Pair struct {
	A, B    *Side
	Excuses []Excuse // differences that are not B's fault
	Hits    Hits

	// Renew starts fresh, empty services and returns their addresses. It is
	// called first, and when services cannot be emptied through the API.
	Renew func() (a, b string)

	Requests int // sent so far, to each side
	plays    int
}

// NewPair returns a pair without excuses. The services get the given names in
// reports.
func NewPair(a, b string, renew func() (a, b string)) *Pair {
	return &Pair{A: newSide(a), B: newSide(b), Hits: Hits{}, Renew: renew}
}

// A Step is the result of one request of a sequence.
type Step struct {
	Exchange
	Excuse *Excuse // explains the differences, if there are any and one does
}

// Failed reports whether the answers differ without an excuse.
func (s Step) Failed() bool { return len(s.Differences) > 0 && s.Excuse == nil }

// Diverged reports whether the two services may have different data afterwards.
func (s Step) Diverged() bool {
	if len(s.Differences) == 0 {
		return false
	}
	if s.Excuse != nil {
		return s.Excuse.Diverges
	}
	return s.Request.Method != "GET" && (s.A.Status < 400 || s.B.Status < 400)
}

// changed reports whether the request was a write and side A accepted it.
func (s Step) changed() bool { return s.Request.Method != "GET" && s.A.Status < 400 }

// Reset empties both services.
func (p *Pair) Reset() error {
	errs := p.both(func(s *Side) error { return s.clean() })
	if errs[0] == nil && errs[1] == nil {
		return nil
	}
	a, b := p.Renew()
	p.A.serveAt(a)
	p.B.serveAt(b)
	errs = p.both(func(s *Side) error { return s.clean() })
	return errors.Join(errs[:]...)
}

func (p *Pair) both(f func(*Side) error) [2]error {
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = f(p.A) })
	wg.Go(func() { errs[1] = f(p.B) })
	wg.Wait()
	return errs
}

// Do sends one request to both services and compares. The tracker fills in
// generations and learns from A's answer.
func (p *Pair) Do(t *Tracker, r Request) Step {
	p.Requests++
	r.Body = t.Resolve(r.Body)
	x := Exchange{Request: r, pair: p}
	x.A, x.B = p.query(r)
	x.Differences = Compare(x.A, x.B)
	if limited(x) {
		x.Differences = p.compareLimited(x)
	}
	t.Observe(r, x.A)
	return p.judge(x)
}

func (p *Pair) query(r Request) (a, b Answer) {
	p.both(func(s *Side) error {
		if s == p.A {
			a = s.exchange(r)
		} else {
			b = s.exchange(r)
		}
		return nil
	})
	return a, b
}

func (p *Pair) judge(x Exchange) Step {
	s := Step{Exchange: x}
	if len(x.Differences) == 0 {
		return s
	}
	for i := range p.Excuses {
		if p.Excuses[i].Match(&x) {
			s.Excuse = &p.Excuses[i]
			p.Hits[s.Excuse.Name]++
			break
		}
	}
	return s
}

// Play resets the services and sends a sequence up to its first failure. The failure is nil if all
// answers were alike. The uuids on the wire are fresh ones, since a service may retain records that
// its API cannot remove.
func (p *Pair) Play(reqs []Request) (*Failure, error) {
	return p.play(reqs, "")
}

// play is Play, but skips failures of other groups than the given one as long as the services still
// have the same data.
func (p *Pair) play(reqs []Request, group string) (*Failure, error) {
	if err := p.Reset(); err != nil {
		return nil, err
	}
	p.plays++
	t := NewTracker()
	var changed []bool
	for i, r := range reqs {
		s := p.Do(t, r.renamed(p.plays))
		changed = append(changed, s.changed())
		f := &Failure{Sequence: reqs[:i+1], Step: s, changed: changed}
		if s.Failed() && (group == "" || f.Group() == group) {
			return f, nil
		}
		if s.Diverged() {
			return nil, nil
		}
	}
	return nil, nil
}

// A Failure is a sequence whose last request was answered differently.
type Failure struct {
	Seed     uint64 // of the random sequence it was found in
	Sequence []Request
	Step     Step

	changed []bool // for each request, whether it was a write that A accepted
}

// String renders the failure for a report; the sequence can be replayed from
// it.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Group())
	for _, d := range f.Step.Differences {
		fmt.Fprintf(&b, "  %v\n", d)
	}
	fmt.Fprintf(&b, "last request as sent:\n%s\nsequence (%d requests):\n%s", Format([]Request{f.Step.Request}),
		len(f.Sequence), Format(f.Sequence))
	return b.String()
}
