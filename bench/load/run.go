package load

import (
	"errors"
	"fmt"
	"slices"
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
	Bytes    int64 // of the bodies
	Elapsed  time.Duration
	Took     Times // each request
}

// Rate returns requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Run executes a plan. An error of one connection ends it, after the others have finished.
func Run(p Plan) (Result, error) {
	conns := max(1, p.Conns)
	parts, errs := make([]Result, conns), make([]error, conns)
	begin := time.Now()
	var running sync.WaitGroup
	for i := range conns {
		running.Go(func() { parts[i], errs[i] = p.loop(i, begin) })
	}
	running.Wait()
	sum := Result{Elapsed: time.Since(begin)}
	for _, part := range parts {
		sum.Requests += part.Requests
		sum.Bytes += part.Bytes
		sum.Took = append(sum.Took, part.Took...)
	}
	slices.Sort(sum.Took)
	return sum, errors.Join(errs...)
}

func (p Plan) loop(conn int, start time.Time) (r Result, err error) {
	c, err := Dial(p.Addr, p.Headers...)
	if err != nil {
		return r, err
	}
	defer c.Close()
	for i := 0; i == 0 || time.Since(start) < p.Time; i++ {
		q := p.Next(conn, i)
		begin := time.Now()
		status, size, err := c.Drop(q)
		if err != nil {
			return r, err
		}
		if status != p.Want {
			return r, fmt.Errorf("%s %s: status %d, want %d", q.Method, q.Path, status, p.Want)
		}
		r.Took = append(r.Took, time.Since(begin))
		r.Requests++
		r.Bytes += size
	}
	return r, nil
}
