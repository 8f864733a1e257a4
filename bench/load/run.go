package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Plan says what is asked, and for how long.
type Plan struct {
	Addr    string        // of the server, host:port
	Headers []string      // of every request
	Conns   int           // connections at a time, 1 when it is 0
	Time    time.Duration // no request begins later, but for the first of each connection
	Want    int           // the status of every answer; another is an error

	// Pace is how many requests a second all connections together send, 0 for as
	// many as there can be. The time of a request then counts from when it was
	// due, so that one slow answer does not hide that others waited for it.
	Pace float64

	// Next returns the i-th request of a connection, counted from 0. It is
	// called from several goroutines.
	Next func(conn, i int) Request
}

// A Result is what came of a plan.
type Result struct {
	Requests int
	Bytes    int64 // of the bodies
	Elapsed  time.Duration
	Took     Times // each request
}

// Rate returns requests per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Run carries a plan out. An error of one connection ends it, once the others
// are through.
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

// due waits for the turn of a request when there is a pace, and returns from when
// on its time counts: from now, or from its turn when that was while the
// connection was busy. That the timer wakes it late is not the server's fault.
func (p Plan) due(start time.Time, conn, i int) time.Time {
	if p.Pace == 0 {
		return time.Now()
	}
	turn := start.Add(time.Duration(float64(i*max(1, p.Conns)+conn) / p.Pace * float64(time.Second)))
	if late := time.Until(turn); late > 0 {
		time.Sleep(late)
		return time.Now()
	}
	return turn
}

func (p Plan) loop(conn int, start time.Time) (r Result, err error) {
	c, err := Dial(p.Addr, p.Headers...)
	if err != nil {
		return r, err
	}
	defer c.Close()
	for i := 0; i == 0 || time.Since(start) < p.Time; i++ {
		q := p.Next(conn, i)
		begin := p.due(start, conn, i)
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
