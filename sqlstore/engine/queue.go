package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A queue has the jobs that wait for the writing goroutine, in the order they came. It
// is safe for concurrent use.
type queue[N any] struct {
	// most is Options.MaxQueue. It counts requests of a group one by one.
	most   int           // more are refused
	filled chan struct{} // has an item when jobs may be waiting or the queue was closed

	mu     sync.Mutex
	jobs   []*job[N]
	closed bool
}

// newQueue returns an empty queue that takes so many jobs.
func newQueue[N any](most int) *queue[N] {
	return &queue[N]{most: most, filled: make(chan struct{}, 1)}
}

// put adds a job. It fails as unavailable when the queue is full or closed: a caller
// that would wait longer than that should try again.
func (q *queue[N]) put(j *job[N]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return sqlconn.ClosedError()
	case len(q.jobs) >= q.most:
		return fault.New(fault.Unavailable, sqlconn.CodeBusy, "Too many changes are waiting to be written. Please try again.")
	}
	q.jobs = append(q.jobs, j)
	q.signal()
	return nil
}

// signal wakes the writing goroutine.
func (q *queue[N]) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// close refuses what comes from now on.
func (q *queue[N]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// ended reports whether the queue is closed and empty.
func (q *queue[N]) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && len(q.jobs) == 0
}

// len is how many jobs wait.
func (q *queue[N]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

// first returns the job that came first of those whose callers wait, nil when there is none.
func (q *queue[N]) first() *job[N] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = slices.DeleteFunc(q.jobs, func(j *job[N]) bool { return j.state.Load() != waiting })
	if len(q.jobs) == 0 {
		return nil
	}
	return q.jobs[0]
}

// A group is a kind of requests that are written together. Write returns the error of each, nil
// for those that it wrote. It runs on the writing goroutine and must not wait for the store.
type group[N any] struct {
	write func(*Tx[N]) []error
}

// maxGroup is how many requests of a group are written together. It bounds the length of the
// statements of a group, and how long the locks of its providers are held.
const maxGroup = 64

// take removes the first job that waits, nil when there is none. A request of a group
// comes with all others of its group that wait, as one job. Those of the groups in done,
// to which that group is added, stay: they would have to see what the transaction of the
// others has not committed.
func (q *queue[N]) take(done map[*group[N]]bool) *job[N] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := 0; i < len(q.jobs); {
		first := q.jobs[i]
		if first.group != nil && done[first.group] {
			i++
			continue
		}
		if first.group != nil {
			if together := q.takeGroup(first.group); together != nil {
				done[first.group] = true
				return together
			}
			continue
		}
		q.jobs = slices.Delete(q.jobs, i, i+1)
		if first.state.CompareAndSwap(waiting, taken) {
			return first
		}
	}
	return nil
}

// takeGroup removes up to maxGroup requests of a group and returns the job that writes
// them; nil when the callers of all of them have left.
func (q *queue[N]) takeGroup(g *group[N]) *job[N] {
	var members []*job[N]
	q.jobs = slices.DeleteFunc(q.jobs, func(j *job[N]) bool {
		if j.group != g || len(members) == maxGroup {
			return false
		}
		if j.state.CompareAndSwap(waiting, taken) {
			members = append(members, j)
		}
		return true
	})
	if len(members) == 0 {
		return nil
	}
	first := members[0]
	// The end of one caller's context does not end the others'.
	ctx := context.WithoutCancel(first.ctx)
	return &job[N]{ctx: ctx, now: first.now, until: first.until, group: g, members: members, returned: make(chan error, 1)}
}

// runGroup writes the requests of a group, and keeps the error of each. It returns nil when any
// request was written, so that the transaction is committed: requests that Write refuses have
// written nothing.
func (j *job[N]) runGroup(t *Tx[N]) error {
	for _, m := range j.members {
		m.join()
	}
	errs := j.group.write(t)
	for i, m := range j.members {
		m.outcome = errs[i]
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}

// end answers the callers of a job with err. Nothing of it was written, or it is not known; the
// channels have space, so that this never waits for a caller that left.
func (j *job[N]) end(err error) {
	if j.members == nil {
		j.result <- err
	}
	for _, m := range j.members {
		m.result <- err
	}
}

// size is how many Updates a job is.
func (j *job[N]) size() int { return max(1, len(j.members)) }

// errExited is the outcome of a function that ended its goroutine.
var errExited = errors.New("sqlstore: update left without returning")

// A job is an Update on its way, a request of a group, or a group's requests together.
// The function of an Update runs on the goroutine that called it, so that its panics and
// its runtime.Goexit end only that; the writing goroutine passes the transaction to it and waits
// until it is returned.
type job[N any] struct {
	ctx context.Context
	now time.Time
	fn  func(*Tx[N]) error // of an Update

	group   *group[N]
	join    func()    // adds the request to those that the group writes
	members []*job[N] // requests that are written together; the rest of them is as of one job

	// until is when the store gives up on a server that is unavailable or collides,
	// and waited how often the job met a lock that was not released in time.
	until  time.Time
	waited int

	state    atomic.Int32
	tx       chan *Tx[N] // the transaction is passed to the job
	returned chan error  // and returned, with the error of fn
	result   chan error  // what the caller gets
	outcome  error       // what the caller will get if the commit succeeds
	broken   error       // what all members get then, unless nil
	onCommit []func()
	note     *N    // for the change log, nil without a part in it
	locks    Locks // what it turned out to need, in all runs
}

// The states of a job: it waits until either the store or its caller decides.
const (
	// waiting becomes taken by the writing goroutine, or left by the caller: once, by
	// compare-and-swap.
	waiting int32 = iota
	taken
	left
)

// run calls the function and gives the transaction back, whatever the function does.
func (j *job[N]) run(t *Tx[N]) {
	err := errExited
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqlstore: update panicked: %v\n%s", p, debug.Stack())
			j.broken = err
		}
		j.returned <- err
	}()
	if j.members != nil {
		err = j.runGroup(t)
	} else {
		err = j.fn(t)
	}
}

// pause waits before the n-th further attempt; it returns early when the context of the
// caller ends.
func (j *job[N]) pause(n int) error {
	if n == 0 {
		return j.ctx.Err()
	}
	return sleep(j.ctx, backoff(n))
}
