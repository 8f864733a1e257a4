package keystone

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// The pause after a failure. It doubles with each failure, up to a bound, which is also the longest
// delay until a recovered Keystone is used. The bound is larger when Keystone refuses the service's
// own credentials: it locks accounts after repeated failures, and an operator has to correct the
// settings first.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 4 * time.Second
	refusedPause = 30 * time.Second
)

// lateLimit is the number of different questions that have to time out, without an answer to any
// question between them, before Keystone as a whole counts as hanging: a single token may be slow
// to check, many are not. No further ones are noted, which bounds the memory.
const lateLimit = 3

// A circuit keeps requests from queueing for an unavailable Keystone: after a failure they are
// refused at once, except for one at a time that probes whether Keystone has recovered. The
// time-out of one question is not a failure; those of several are.
//
//	closed ──failure──▶ open ──pause is over──▶ one request ──success──▶ closed
//	                     ▲                          │
//	                     └────────failure───────────┘
type circuit struct {
	log         *slog.Logger
	unavailable func(bool)
	effect      string // of an open circuit, for the log

	mu       sync.Mutex   // guards what follows
	failures int          // in a row
	until    time.Time    // no requests before
	probing  bool         // one is finding out
	reason   error        // of the last failure
	late     map[key]bool // questions that timed out since Keystone last answered
}

// enter admits a question, or returns why it is refused. The caller passes the outcome to done. A
// probe is the one question that an open circuit admits.
func (c *circuit) enter(k key) (done func(error), probe bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures == 0 {
		return func(err error) { c.leave(k, err) }, false, nil
	}
	if c.probing || time.Now().Before(c.until) {
		return nil, false, fmt.Errorf("not queried again yet: %w", c.reason)
	}
	c.probing = true
	return func(err error) {
		c.leave(k, err)
		c.mu.Lock()
		c.probing = false
		c.mu.Unlock()
	}, true, nil
}

// leave records the outcome of a question.
func (c *circuit) leave(k key, err error) {
	var f *failure
	var l *lateAnswer
	switch {
	case errors.As(err, &f):
		c.open(f)
	case errors.As(err, &l):
		if c.hangs(k) {
			c.open(&failure{err: err})
		}
	default:
		c.close()
	}
}

// hangs records that a question timed out, and reports whether so many have that Keystone as a
// whole hangs.
func (c *circuit) hangs(k key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late == nil {
		c.late = make(map[key]bool, lateLimit)
	}
	if len(c.late) < lateLimit {
		c.late[k] = true
	}
	return len(c.late) >= lateLimit
}

// close notes that Keystone has answered, be it with a refusal of a token. Earlier failures and
// time-outs do not count from then on.
func (c *circuit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures > 0 {
		c.log.Info("Keystone answers again")
		c.unavailable(false)
	}
	c.failures, c.reason, c.until, c.late = 0, nil, time.Time{}, nil
}

// open begins or prolongs the pause. Failures of questions that were under way when it began do not
// prolong it. A failure is logged, and reported to unavailable, once until Keystone answers again.
func (c *circuit) open(f *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = f
	if time.Now().Before(c.until) {
		return
	}
	if c.failures == 0 {
		c.log.Error("Keystone is unavailable: "+c.effect, "error", f)
		c.unavailable(true)
	}
	c.failures++
	pause := firstPause << min(c.failures-1, 10)
	if f.refused {
		pause = min(4*pause, refusedPause)
	} else {
		pause = min(pause, longestPause)
	}
	c.until = time.Now().Add(pause)
}
