package cloudapi

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A limiter counts requests, and delays them so that no more than a number are sent in a second.
type limiter struct {
	next http.RoundTripper
	rate float64 // requests in a second, 0 for no bound
	sent atomic.Int64

	mu  sync.Mutex
	due time.Time // of the next request
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
	return l.next.RoundTrip(r)
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
