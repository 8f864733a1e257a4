package load

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Plan describes the requests, and their duration.
type Plan struct {
	Addr    string        // of the server, host:port
	Headers []string      // of every request
	Conns   int           // connections at a time, 1 when it is 0
	Time    time.Duration // no request begins later, except the first of each connection
	Want    int           // the status of every answer; another is an error

	// Next returns the i-th request of a connection, counted from 0. It is
	// called from several goroutines.
	Next func(conn, i int) Request
}

// A Result is the result of a plan.
type Result struct {
	Requests int
	Elapsed  time.Duration
}

// Rate returns requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Run executes a plan. An error of one connection ends it, after the others have finished.
func Run(p Plan) (Result, error) {
	conns := max(1, p.Conns)
	requests, errs := make([]int, conns), make([]error, conns)
	begin := time.Now()
	var running sync.WaitGroup
	for i := range conns {
		running.Go(func() { requests[i], errs[i] = p.loop(i, begin) })
	}
	running.Wait()
	sum := Result{Elapsed: time.Since(begin)}
	for _, n := range requests {
		sum.Requests += n
	}
	return sum, errors.Join(errs...)
}

// loop sends the requests of one connection and returns their number.
func (p Plan) loop(conn int, begin time.Time) (requests int, err error) {
	c, err := Dial(p.Addr, p.Headers...)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for ; requests == 0 || time.Since(begin) < p.Time; requests++ {
		q := p.Next(conn, requests)
		status, err := c.Drop(q)
		if err != nil {
			return requests, err
		}
		if status != p.Want {
			return requests, fmt.Errorf("%s %s: status %d, want %d", q.Method, q.Path, status, p.Want)
		}
	}
	return requests, nil
}
