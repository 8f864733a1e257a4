package engine

import (
	"context"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Update runs fn in one serializable transaction, possibly more than once. A panic in fn
// is returned as an error. When ctx ends while the job waits, it leaves without having
// run; once it runs, its outcome is waited for. On a server it also leaves when it does not
// get the transaction within Options.RetryTime.
func (s *Engine[N]) Update(ctx context.Context, now time.Time, fn func(*Tx[N]) error) error {
	j := s.newJob(ctx, now)
	j.fn, j.tx, j.returned = fn, make(chan *Tx[N], 1), make(chan error, 1)
	return s.await(j)
}

// Group returns what is Update for requests that are written together: when some of them wait at
// the same time, the join of each is called and then write, all on the writing goroutine. Write
// returns the error of each, in that order, nil for those that it wrote, and must not wait for the
// store.
func (s *Engine[N]) Group(write func(*Tx[N]) []error) func(ctx context.Context, now time.Time, join func()) error {
	g := &group[N]{write}
	return func(ctx context.Context, now time.Time, join func()) error {
		j := s.newJob(ctx, now)
		j.group, j.join = g, join
		return s.await(j)
	}
}

// Waiting returns how many Updates wait to be written.
func (s *Engine[N]) Waiting() int { return s.queue.len() }

// await puts a job into the queue, runs it whenever it gets a transaction, and returns its result.
// A job that was taken is waited for whatever happens to ctx: its caller must learn whether it was
// committed.
func (s *Engine[N]) await(j *job[N]) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if err := s.queue.put(j); err != nil {
		if _, code := fault.Of(err); code == sqlconn.CodeBusy && s.opts.Metrics.QueueFull != nil {
			s.opts.Metrics.QueueFull()
		}
		return err
	}
	ended := j.ctx.Done()
	var expired <-chan time.Time
	if s.d.Shared {
		t := time.NewTimer(s.opts.RetryTime)
		defer t.Stop()
		expired = t.C
	}
	for {
		select {
		case t := <-j.tx:
			j.run(t)
		case err := <-j.result:
			return err
		case <-ended:
			if j.state.CompareAndSwap(waiting, left) {
				return j.ctx.Err()
			}
			ended = nil
		case <-expired:
			if j.state.CompareAndSwap(waiting, left) {
				return s.d.Translate("waiting to write", sqlconn.ErrSilent)
			}
			expired = nil
		}
	}
}

// write serves the queue until it is closed and empty. Meanwhile it keeps the change log
// of a server in bounds, and looks whether the files are there.
func (s *Engine[N]) write() {
	defer close(s.idle)
	every := logtable.CleanInterval
	if !s.d.Shared {
		every = sqlconn.LookEvery
	}
	maintenance, probe := time.NewTicker(every), time.NewTicker(probeInterval)
	defer maintenance.Stop()
	defer probe.Stop()
	for {
		select {
		case <-s.queue.filled:
			for s.batch() {
			}
			if s.queue.ended() {
				s.leaveLog()
				return
			}
		case <-maintenance.C:
			if s.d.Shared {
				s.CleanLog()
			} else {
				_ = s.db.Files().Check() // it logs what it finds
			}
		case <-probe.C:
			if s.Writable() != nil {
				s.probe()
			}
		}
	}
}

// batch runs the jobs that wait in one transaction, once more those whose locks others
// held, and each alone when that does not work out. It reports false when none waited. Jobs run
// alone in the order they came in.
func (s *Engine[N]) batch() bool {
	if !s.connected() {
		return false
	}
	members, err := s.transact(s.collect())
	if err != nil && len(members) > 1 && s.d.Locked(err) {
		members, err = s.transact(each(members))
	}
	switch {
	case err == nil:
	case len(members) == 1 && !s.retryable(err) && !s.d.Full(err):
		members[0].end(s.d.Translate("committing", err))
	default:
		for _, j := range members {
			s.runSingle(j)
		}
	}
	return true
}

// connected waits until there is a connection to write on, while the jobs that wait are
// still free to leave, and gives up on those whose time is up. It reports false when none
// waits.
func (s *Engine[N]) connected() bool {
	if !s.d.Shared {
		return s.queue.first() != nil
	}
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	for n := 1; ; n++ {
		first := s.queue.first()
		if first == nil {
			return false
		}
		err := ses.Connect(context.Background())
		if err == nil {
			return true
		}
		s.noteUnwritable(err)
		if !s.expired(first) {
			_ = sleep(first.ctx, backoff(n))
		} else if first.state.CompareAndSwap(waiting, taken) {
			first.result <- s.d.Translate("connecting", err)
		}
	}
}

// maxLockWaits is how often a job may delay all others because another transaction holds
// a lock that it needs.
const maxLockWaits = 2

// expired reports whether a job is not to be tried again.
func (s *Engine[N]) expired(j *job[N]) bool {
	return s.isClosing() || time.Now().After(j.until) || j.waited >= maxLockWaits
}

// runSingle runs one job in a transaction of its own, again while mayRetry says so.
func (s *Engine[N]) runSingle(j *job[N]) {
	err := sqlconn.ErrSilent
	for n := range maxAttempts {
		if cut := j.pause(n); cut != nil {
			j.end(cut)
			return
		}
		if s.d.Shared && s.expired(j) {
			break
		}
		if _, err = s.transact(each([]*job[N]{j})); err == nil {
			return
		}
		if !s.mayRetry(err, n+1) {
			break
		}
	}
	j.end(s.d.Translate("committing", err))
}

// mayRetry reports whether a job that failed n times by itself may run again after an error. One
// that a file had no room for has had its second run then, for which room was made. A file is tried
// a few times only: there is no other server to wait for, and BusyTimeout has been waited for
// already. Nor is another transaction likely to be the cause of the same violated key again and
// again.
func (s *Engine[N]) mayRetry(err error, n int) bool {
	if !s.retryable(err) {
		return false
	}
	return n < attempts || s.d.Shared && !s.d.Orphan(err) && !s.d.Duplicate(err)
}

// collect returns a function that yields the jobs that wait in the queue, within the
// bounds of a batch, without waiting for any.
func (s *Engine[N]) collect() func() *job[N] {
	until := time.Now().Add(s.opts.MaxBatchTime)
	done := make(map[*group[N]]bool)
	n := 0
	return func() *job[N] {
		if n >= s.opts.MaxBatch || n > 0 && time.Now().After(until) {
			return nil
		}
		n++
		return s.queue.take(done)
	}
}

// start begins to serve on the given sessions. Without readers, Views share the
// writer. It is called once, at the end of Open; the goroutine it starts ends with Close.
func (s *Engine[N]) start(writer *sqlconn.Session, readers []*sqlconn.Session) {
	s.queue = newQueue[N](s.opts.MaxQueue)
	s.closing, s.idle, s.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.Writer = sqlconn.NewPool([]*sqlconn.Session{writer}, 1, 0, s.closing)
	s.readers = s.Writer
	switch {
	case s.d.Shared:
		s.readers = sqlconn.NewPool(readers, s.opts.IdleReaders, s.opts.ReaderWait, s.closing)
	case len(readers) > 0:
		s.readers = sqlconn.NewPool(readers, len(readers), 0, s.closing)
	}
	go s.write()
}

// newJob is a job that has the given time to be written on a server.
func (s *Engine[N]) newJob(ctx context.Context, now time.Time) *job[N] {
	return &job[N]{ctx: ctx, now: now, until: time.Now().Add(s.opts.RetryTime), result: make(chan error, 1)}
}
