package claims

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// client runs the cycles of one client, with its own connection.
func (p Plan) client(i int, begin time.Time) (r Result, err error) {
	conn, err := load.Dial(p.Addr, p.Headers...)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	seed := p.Seed + uint64(i)
	random := rand.New(rand.NewPCG(seed, seed)) // which candidates are claimed, and how consumers are called
	var allocated []string                      // paths of claims, the oldest first
	for n := 0; time.Since(begin) < p.Time; n++ {
		first := time.Now()
		for { // until a claim is accepted
			_, answer, err := timed(&r.Parts.Searches, conn, load.Request{Method: "GET", Path: p.Query(n)}, 200)
			if err != nil {
				return r, err
			}
			all := requests(answer)
			if len(all) == 0 {
				return r, nil
			}
			path := "/allocations/" + uuid(random)
			status, _, err := timed(&r.Parts.Claims, conn, load.Request{
				Method: "PUT", Path: path, Body: claim(all[random.IntN(len(all))], newestOwner),
			}, 204, 409)
			if err != nil {
				return r, err
			}
			if status == 204 {
				allocated = append(allocated, path)
				break
			}
			r.Refused++ // the candidate's capacity was claimed meanwhile
		}
		r.Claims++
		r.Took = append(r.Took, time.Since(first))
		if p.Keep >= 0 && len(allocated) > p.Keep {
			r.Releases++
			oldest := load.Request{Method: "DELETE", Path: allocated[0]}
			if _, _, err := timed(&r.Parts.Releases, conn, oldest, 204); err != nil {
				return r, err
			}
			allocated = allocated[1:]
		}
	}
	return r, nil
}

// timed sends a request, adds its time and expects one of some statuses.
func timed(times *load.Times, c *load.Conn, q load.Request, want ...int) (status int, answer []byte, err error) {
	begin := time.Now()
	status, answer, err = c.Fetch(q)
	if err == nil && bytes.HasPrefix(answer, []byte{0x1f, 0x8b}) {
		answer, err = gunzip(answer)
	}
	*times = append(*times, time.Since(begin))
	if err == nil && !slices.Contains(want, status) {
		err = fmt.Errorf("%s %s: status %d: %.300s", q.Method, q.Path, status, answer)
	}
	return status, answer, err
}

// gunzip is what a client does with a compressed answer.
func gunzip(answer []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(answer))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// uuid returns a random UUID for a consumer.
func uuid(random *rand.Rand) string {
	hi, lo := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0xfff, lo&0xffffffffffff)
}
