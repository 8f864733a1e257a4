package cloudapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A limiter counts and measures requests, and delays them so that no more than a number are sent in
// a second.
type limiter struct {
	next http.RoundTripper
	rate float64 // requests in a second, 0 for no bound
	sent atomic.Int64

	mu  sync.Mutex
	due time.Time // of the next request

	names    map[string]string // of services, by the URLs that theirs begin with
	measured map[string]*Measured
}

// Bounds are those of the times of [Measured], in seconds: from 1 ms to 33 s, each the double of
// the one before.
var Bounds = func() (bounds []float64) {
	for b := 0.001; b < 60; b *= 2 {
		bounds = append(bounds, b)
	}
	return bounds
}()

// A Measured is what a client has measured of its requests to a service.
type Measured struct {
	Service string
	// Statuses count the answers by their status; 0 is no answer.
	Statuses map[int]int64
	// Within counts the requests whose answers began within each of the Bounds.
	Within []int64
}

// Measured returns what was measured since the client was made, by the services' names.
func (c *Client) Measured() (list []Measured) {
	l := c.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.measured)) {
		m := l.measured[name]
		list = append(list, Measured{name, maps.Clone(m.Statuses), slices.Clone(m.Within)})
	}
	return list
}

// name notes that a service's URLs begin with one.
func (l *limiter) name(url, service string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]string{}
	}
	l.names[url] = service
}

// measure notes how a request was answered, and after what time.
func (l *limiter) measure(url string, status int, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	service, length := "other", 0
	for prefix, name := range l.names {
		if len(prefix) > length && strings.HasPrefix(url, prefix) {
			service, length = name, len(prefix)
		}
	}
	m := l.measured[service]
	if m == nil {
		m = &Measured{Statuses: map[int]int64{}, Within: make([]int64, len(Bounds))}
		if l.measured == nil {
			l.measured = map[string]*Measured{}
		}
		l.measured[service] = m
	}
	m.Statuses[status]++
	for i, bound := range Bounds {
		if took.Seconds() <= bound {
			m.Within[i]++
		}
	}
}

// RoundTrip sends a request when it is its turn, or returns the error of its context.
func (l *limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	if wait := l.turn(time.Now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	l.sent.Add(1)
	begin, status := time.Now(), 0
	res, err := l.next.RoundTrip(r)
	if err == nil {
		status = res.StatusCode
	}
	l.measure(r.URL.String(), status, time.Since(begin))
	return res, err
}

// turn returns how long the next request waits. Time in which nothing was sent is not made up for.
func (l *limiter) turn(now time.Time) time.Duration {
	if l.rate <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due.Before(now) {
		l.due = now
	}
	wait := l.due.Sub(now)
	l.due = l.due.Add(time.Duration(float64(time.Second) / l.rate))
	return wait
}
