package keystone

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// How long nobody asks after a failure. It doubles with each, up to a bound that
// is also how soon a Keystone that is back is noticed. One that refuses the
// service's own credentials is asked less often: Keystone locks accounts that
// are tried too often, and somebody has to mend the settings first.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 4 * time.Second
	refusedPause = 30 * time.Second
)

// lateLimit is after how many different questions without an answer in time, and none with one
// between them, Keystone as a whole is taken to hang: one may be hard for it, and many are not.
const lateLimit = 3

// A circuit keeps requests from queueing for a Keystone that is away: after a
// failure they are turned away at once, but for one at a time that finds out
// whether it is back. A time-out of one question is no failure; those of several are.
//
//	closed ──failure──▶ open ──pause is over──▶ one asks ──success──▶ closed
//	                     ▲                          │
//	                     └────────failure───────────┘
type circuit struct {
	log    *slog.Logger
	away   func(bool)
	effect string // of an open circuit, for the log

	mu       sync.Mutex   // guards what follows
	failures int          // in a row
	until    time.Time    // nobody asks before
	probing  bool         // one is finding out
	reason   error        // of the last failure
	late     map[key]bool // questions that timed out since Keystone last answered
}

// enter lets a question through, or says why not. The caller tells done what
// came of it. A probe is the one question of an open circuit.
func (c *circuit) enter(k key) (done func(error), probe bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures == 0 {
		return func(err error) { c.leave(k, err) }, false, nil
	}
	if c.probing || time.Now().Before(c.until) {
		return nil, false, fmt.Errorf("not asked again yet: %w", c.reason)
	}
	c.probing = true
	return func(err error) {
		c.leave(k, err)
		c.mu.Lock()
		c.probing = false
		c.mu.Unlock()
	}, true, nil
}

// leave notes what came of a question.
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

// hangs notes that a question timed out, and reports whether that is true of so many that
// Keystone as a whole hangs.
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

func (c *circuit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures > 0 {
		c.log.Info("Keystone answers again")
		c.away(false)
	}
	c.failures, c.reason, c.until, c.late = 0, nil, time.Time{}, nil
}

// open begins or prolongs the pause. Questions that were under way when it began
// fail too, and do not count.
func (c *circuit) open(f *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = f
	if time.Now().Before(c.until) {
		return
	}
	if c.failures == 0 {
		c.log.Error("Keystone is unavailable: "+c.effect, "error", f)
		c.away(true)
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
