package claims

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/bench/load"
)

// A Plan describes claims and their releases.
type Plan struct {
	Addr    string
	Headers []string
	Clients int
	Time    time.Duration      // no cycle begins later
	Keep    int                // bound of a client's claims, the oldest beyond it are released; negative: none
	Query   func(n int) string // the n-th question of a client
	Seed    uint64             // of the first client; the others have the next ones
}

// A Result is the result of a plan.
type Result struct {
	Claims   int // that were accepted
	Refused  int // that were not
	Releases int
	Elapsed  time.Duration
	Took     load.Times // from the first question to the claim that was accepted
	Parts    Parts
}

// Parts are the times of single requests, refused claims among them.
type Parts struct {
	Searches, Claims, Releases load.Times
}

// And returns the times of both.
func (p Parts) And(o Parts) Parts {
	return Parts{joined(p.Searches, o.Searches), joined(p.Claims, o.Claims), joined(p.Releases, o.Releases)}
}

// joined returns the times of both in ascending order.
func joined(a, b load.Times) load.Times {
	return slices.Sorted(slices.Values(append(slices.Clone(a), b...)))
}

// Rate returns cycles per second: claims that were accepted.
func (r Result) Rate() float64 { return float64(r.Claims) / r.Elapsed.Seconds() }

// Writes returns the rate of requests that have written something.
func (r Result) Writes() float64 { return float64(r.Claims+r.Releases) / r.Elapsed.Seconds() }

// Run executes a plan. A client ends when its time is over or when there is no candidate left.
func Run(p Plan) (Result, error) {
	parts, errs := make([]Result, p.Clients), make([]error, p.Clients)
	begin := time.Now()
	var running sync.WaitGroup
	for i := range p.Clients {
		running.Go(func() { parts[i], errs[i] = p.client(i, begin) })
	}
	running.Wait()
	sum := Result{Elapsed: time.Since(begin)}
	for _, part := range parts {
		sum.Claims += part.Claims
		sum.Refused += part.Refused
		sum.Releases += part.Releases
		sum.Took = append(sum.Took, part.Took...)
		sum.Parts = sum.Parts.And(part.Parts)
	}
	slices.Sort(sum.Took)
	return sum, errors.Join(errs...)
}

func (p Plan) client(i int, begin time.Time) (r Result, err error) {
	c, err := Dial(p.Addr, p.Headers, p.Seed+uint64(i))
	if err != nil {
		return r, err
	}
	defer c.Close()
	for n := 0; time.Since(begin) < p.Time; n++ {
		more, err := p.cycle(c, &r, n)
		if err != nil {
			return r, err
		}
		if !more {
			break
		}
	}
	r.Parts = c.parts
	return r, nil
}

// cycle makes a claim and releases one, and reports whether there was a candidate left to claim.
func (p Plan) cycle(c *Client, r *Result, n int) (more bool, err error) {
	begin := time.Now()
	outcome := Refused
	for outcome == Refused {
		if outcome, err = c.Claim(p.Query(n)); err != nil {
			return false, err
		}
		if outcome == Refused {
			r.Refused++
		}
	}
	if outcome == NoneLeft {
		return false, nil
	}
	r.Claims++
	r.Took = append(r.Took, time.Since(begin))
	if p.Keep >= 0 && c.Allocated() > p.Keep {
		r.Releases++
		return true, c.Release()
	}
	return true, nil
}
