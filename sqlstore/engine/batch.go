package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// attempts is how often a transaction that collided with another program's is
// run in all, at least; on a server the time decides.
const attempts = 3

// errExited is the outcome of a function that ended its goroutine.
var errExited = errors.New("sqlstore: update left without returning")

// A job is an Update on its way, a request of a group, or a group's requests together.
// The function of an Update runs on the goroutine that called it, so that its panics and
// its runtime.Goexit end only that; the writing goroutine passes the transaction to it and waits
// until it is returned.
type job struct {
	ctx context.Context
	now time.Time
	fn  func(*sqlconn.Tx) error // of an Update

	group   *Group
	request any    // of the group
	members []*job // requests that are written together; the rest of them is as of one job

	// until is when the store gives up on a server that is unavailable or collides,
	// and waited how often the job met a lock that was not released in time.
	until  time.Time
	waited int

	state    atomic.Int32
	tx       chan *sqlconn.Tx // the transaction is passed to the job
	returned chan error       // and returned, with the error of fn
	result   chan error       // what the caller gets
	outcome  error            // what the caller will get if the commit succeeds
	broken   error            // what all members get then, unless nil
	onCommit []func()
	entry    any   // for the change log
	wants    []any // what it turned out to need, in all runs
}

// The states of a job: it waits until either the store or its caller decides.
const (
	waiting int32 = iota
	taken
	left
)

// Update runs fn in one serializable transaction, possibly more than once. A panic in fn
// is returned as an error. When ctx ends while the job waits, it leaves without having
// run; once it runs, its outcome is waited for. On a server it also leaves when it does not
// get the transaction within Options.RetryTime.
func (s *Engine) Update(ctx context.Context, now time.Time, fn func(*sqlconn.Tx) error) error {
	j := s.newJob(ctx, now)
	j.fn, j.tx, j.returned = fn, make(chan *sqlconn.Tx, 1), make(chan error, 1)
	return s.await(j)
}

// UpdateGroup is Update for a request of a group: its Write gets the request with all others of the group that wait.
func (s *Engine) UpdateGroup(ctx context.Context, now time.Time, g *Group, request any) error {
	j := s.newJob(ctx, now)
	j.group, j.request = g, request
	return s.await(j)
}

// Waiting returns how many Updates wait to be written.
func (s *Engine) Waiting() int { return s.queue.len() }

// await puts a job into the queue and follows it to its end.
func (s *Engine) await(j *job) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if err := s.queue.put(j); err != nil {
		if _, code := fault.Of(err); code == sqlconn.CodeBusy && s.opts.Metrics.QueueFull != nil {
			s.opts.Metrics.QueueFull()
		}
		return err
	}
	return s.follow(j)
}

// follow runs the job whenever it has the transaction and returns its result.
func (s *Engine) follow(j *job) error {
	gone := j.ctx.Done()
	var late <-chan time.Time
	if s.d.Shared {
		t := time.NewTimer(s.opts.RetryTime)
		defer t.Stop()
		late = t.C
	}
	for {
		select {
		case t := <-j.tx:
			j.run(t)
		case err := <-j.result:
			return err
		case <-gone:
			if j.state.CompareAndSwap(waiting, left) {
				return j.ctx.Err()
			}
			gone = nil
		case <-late:
			if j.state.CompareAndSwap(waiting, left) {
				return s.d.Translate("waiting to write", sqlconn.ErrSilent)
			}
			late = nil
		}
	}
}

// run calls the function and gives the transaction back, whatever the function does.
func (j *job) run(t *sqlconn.Tx) {
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

// write serves the queue until it is closed and empty. Meanwhile it keeps the change log
// of a server in bounds, and looks whether the files are there.
func (s *Engine) write() {
	defer close(s.idle)
	every := CleanLogInterval
	if !s.d.Shared {
		every = sqlconn.LookEvery
	}
	tend := time.NewTicker(every)
	defer tend.Stop()
	for {
		select {
		case <-s.queue.filled:
			for s.batch() {
			}
			if s.queue.ended() {
				s.leaveLog()
				return
			}
		case <-tend.C:
			if s.d.Shared {
				s.CleanLog()
			} else {
				_ = s.files.Check() // it logs what it finds
			}
		}
	}
}

// batch runs the jobs that wait in one transaction, once more those whose locks others
// held, and each alone when that does not work out. It reports false when none waited.
func (s *Engine) batch() bool {
	if !s.connected() {
		return false
	}
	members, err := s.transact(s.collect())
	if err != nil && len(members) > 1 && s.d.Locked(err) {
		members, err = s.transact(each(members))
	}
	switch {
	case err == nil:
	case len(members) == 1 && !s.again(err):
		members[0].end(s.d.Translate("committing", err))
	default:
		for _, j := range members {
			s.alone(j)
		}
	}
	return true
}

// connected waits until there is a connection to write on, while the jobs that wait are
// still free to leave, and gives up on those whose time is up. It reports false when none
// waits.
func (s *Engine) connected() bool {
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
		if !s.late(first) {
			_ = sleep(first.ctx, backoff(n))
		} else if first.state.CompareAndSwap(waiting, taken) {
			first.result <- s.d.Translate("connecting", err)
		}
	}
}

// late reports whether a job is not to be tried again.
func (s *Engine) late(j *job) bool {
	return s.isClosing() || time.Now().After(j.until) || j.waited >= maxLockWaits
}

// maxLockWaits is how often a job may delay all others because another transaction holds
// a lock that it needs.
const maxLockWaits = 2

// alone runs one job in a transaction of its own, again when it collides or the
// server is unavailable.
func (s *Engine) alone(j *job) {
	err := sqlconn.ErrSilent
	for n := range maxAttempts {
		if cut := j.pause(n); cut != nil {
			j.end(cut)
			return
		}
		if s.d.Shared && s.late(j) {
			break
		}
		one := j
		_, err = s.transact(func() *job {
			next := one
			one = nil
			return next
		})
		if err == nil {
			return
		}
		if !s.again(err) {
			break
		}
		if n+1 >= attempts && (!s.d.Shared || s.d.Orphan(err) || s.d.Duplicate(err)) {
			break // another transaction is not likely to be the cause
		}
	}
	j.end(s.d.Translate("committing", err))
}

// maxAttempts bounds what until bounds already.
const maxAttempts = 1000

// pause waits before the n-th further attempt; it returns early when the context of the
// caller ends.
func (j *job) pause(n int) error {
	if n == 0 {
		return j.ctx.Err()
	}
	return sleep(j.ctx, backoff(n))
}

// backoff is how long to wait before the n-th further attempt: a little longer
// each time, up to half a second, with a random part.
func backoff(n int) time.Duration {
	wait := min(10*time.Millisecond<<min(n, 10), 500*time.Millisecond)
	return wait/2 + rand.N(wait/2)
}

// sleep waits, or returns early with the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// collect returns a function that yields the jobs that wait in the queue, within the
// bounds of a batch, without waiting for any.
func (s *Engine) collect() func() *job {
	until := time.Now().Add(s.opts.MaxBatchTime)
	done := make(map[*Group]bool)
	n := 0
	return func() *job {
		if n >= s.opts.MaxBatch || n > 0 && time.Now().After(until) {
			return nil
		}
		n++
		return s.queue.take(done)
	}
}

// transact runs the jobs that next yields in one transaction, commits, and
// answers them. It returns those that were not answered, of which nothing is written: all
// when it fails, else those that need locks which others hold.
func (s *Engine) transact(next func() *job) ([]*job, error) {
	var first []*job
	if s.d.Shared {
		// A job that joined later could read a state from before it was
		// called: a node of a cluster waits for the others at the beginning only.
		first = gathered(next)
		next = each(first)
	}
	if err := s.files.Check(); err != nil {
		return gathered(next), err
	}
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	start := time.Now()
	r, err := s.runAll(ses, first, next)
	switch {
	case err == nil && r.keeps():
		s.written.Add(1)
		if err = s.commit(ses, r.members); err != nil {
			s.written.Add(-1)
			r.members[0].noteWait(s, err, start)
		}
	case err == nil && r.open:
		err = ses.Do("ROLLBACK")
	}
	if errors.Is(err, errUnsettled) {
		for _, m := range r.members {
			m.end(errUnknown(err))
		}
		return r.missed, r.cause
	}
	if err != nil {
		s.lost(ses, r.members, err)
		if s.d.Shared {
			// Those that were gathered and not reached wait too.
			r.members = append(r.members, gathered(next)...)
		}
		return append(r.members, r.missed...), err
	}
	s.answer(r.members, time.Since(start))
	return r.missed, r.cause
}

// answer ends the jobs of a transaction that is durable.
func (s *Engine) answer(members []*job, took time.Duration) {
	if len(members) > 0 && s.opts.Metrics.Committed != nil {
		s.opts.Metrics.Committed(sizeOf(members), took)
	}
	for _, j := range members {
		if j.outcome == nil {
			for _, fn := range j.onCommit {
				fn()
			}
		}
	}
	for _, j := range members {
		if j.members == nil {
			j.result <- j.outcome
		}
		for _, m := range j.members {
			m.result <- cmp.Or(j.broken, m.outcome)
		}
	}
}

// A round is what becomes of jobs in a transaction.
type round struct {
	open    bool   // members are behind savepoints: there is something to keep
	members []*job // that ran
	missed  []*job // that were rolled back, because others hold locks that they need
	cause   error  // why the last of those was
}

// keeps reports whether there is anything to commit.
func (r *round) keeps() bool {
	return slices.ContainsFunc(r.members, func(j *job) bool { return j.outcome == nil })
}

// runAll runs what next yields in one transaction, which begins with the locks
// that the first ones are known to need.
func (s *Engine) runAll(ses *sqlconn.Session, first []*job, next func() *job) (r round, err error) {
	if r.open, err = s.beginWanted(ses, first); err != nil {
		return r, err
	}
	for j := next(); j != nil; j = next() {
		r.members = append(r.members, j)
		r.open, err = s.member(ses, j, r.open)
		if err != nil && s.blocked(err) {
			r.members, r.missed, r.cause = r.members[:len(r.members)-1], append(r.missed, j), err
			err = s.endMember(ses, r.open, false)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// beginWanted begins a transaction with what jobs are known to want, and reports whether there
// was anything.
func (s *Engine) beginWanted(ses *sqlconn.Session, jobs []*job) (bool, error) {
	var all []any
	for _, j := range jobs {
		all = append(all, j.wants...)
	}
	if s.service.First == nil || len(all) == 0 {
		return false, nil
	}
	if err := s.beginMember(ses, false); err != nil {
		return false, err
	}
	t := &sqlconn.Tx{Session: ses, Context: context.Background(), Trace: s.opts.Trace}
	began := time.Now()
	s.service.First(t, all)
	for _, j := range jobs {
		j.noteWait(s, t.Cause, began)
	}
	return true, t.Cause
}

// noteWait counts that waiting for a lock delayed all others.
func (j *job) noteWait(s *Engine, cause error, began time.Time) {
	if cause != nil && s.blocked(cause) && time.Since(began) >= sqlconn.LockWait/2 {
		j.waited++
	}
}

// blocked reports whether an error is a lock of another program's that one job needs, and
// the jobs behind it may not.
func (s *Engine) blocked(err error) bool { return s.service.LockStatement == "" && s.d.Locked(err) }

// gathered calls next until it has all.
func gathered(next func() *job) []*job {
	var all []*job
	for j := next(); j != nil; j = next() {
		all = append(all, j)
	}
	return all
}

// each yields the jobs of a list.
func each(all []*job) func() *job {
	return func() *job {
		if len(all) == 0 {
			return nil
		}
		j := all[0]
		all = all[1:]
		return j
	}
}

// commit appends to the change log what succeeded and makes it durable. It
// returns nil only when it is.
func (s *Engine) commit(ses *sqlconn.Session, members []*job) error {
	if !s.d.Shared {
		if err := ses.Do("COMMIT"); err != nil {
			return err
		}
		if err := s.files.Check(); errors.Is(err, sqlconn.ErrFileLost) {
			return err // what was committed may be in a file that nobody can open
		}
		return nil
	}
	var noted []any
	for _, m := range members {
		if m.outcome == nil && m.entry != nil {
			noted = append(noted, m.entry)
		}
	}
	body, own := s.service.Encode(noted)
	entry, err := s.log.commit(ses, sqlconn.Stamp(members[0].now.Truncate(s.d.Precision)), body, own)
	if err == nil || s.log.rolledBack(ses.Dialect, err) {
		return err
	}
	// The locks of the old connection must be released.
	ses.Close()
	committed, unsettled := s.settle(entry, members)
	switch {
	case unsettled != nil:
		return unsettled
	case !committed:
		return err
	}
	return nil // under an id that is not used again
}

// lost cleans up after a transaction that failed.
func (s *Engine) lost(ses *sqlconn.Session, members []*job, cause error) {
	// The failure may have ended the transaction already; then there is
	// nothing to roll back and the error says just that.
	ses.Forget()
	_ = ses.Do("ROLLBACK")
	s.opts.Logger.Warn("a transaction was lost", "updates", sizeOf(members), "error", cause.Error())
	if s.opts.Metrics.CommitFailed != nil {
		s.opts.Metrics.CommitFailed(sizeOf(members))
	}
}

// member runs one job and notes its outcome: behind a savepoint when the open
// transaction has something to keep, else in one that begins with it. It returns
// whether there is something to keep now. An error says that the whole
// transaction is lost.
func (s *Engine) member(ses *sqlconn.Session, j *job, open bool) (bool, error) {
	if err := s.beginMember(ses, open); err != nil {
		return open, err
	}
	t := &sqlconn.Tx{Session: ses, Context: j.ctx, Trace: s.opts.Trace, Written: sqlconn.Stamp(j.now.Truncate(s.d.Precision)), HoldsLocks: open}
	began := time.Now()
	if j.members != nil {
		j.broken = nil // by an earlier attempt
		j.run(t)
	} else {
		j.tx <- t
	}
	j.outcome = <-j.returned
	t.Over = true
	if t.Wants != nil {
		j.wants = append(j.wants, t.Wants)
	}
	if t.Cause != nil && s.again(t.Cause) {
		j.noteWait(s, t.Cause, began)
		return open, t.Cause
	}
	j.entry, j.onCommit = t.Entry, t.OnCommit
	if j.outcome == nil {
		// The function overlooked an error after which the transaction
		// is not what it believes.
		j.outcome, j.broken = t.Broken, t.Broken
	}
	if err := s.endMember(ses, open, j.outcome == nil); err != nil {
		// What went wrong ended the whole transaction, with its
		// savepoints: a full disk does.
		return open, cmp.Or(t.Cause, err)
	}
	return open || j.outcome == nil, nil
}

func (s *Engine) beginMember(ses *sqlconn.Session, open bool) error {
	if open {
		return ses.Later("SAVEPOINT member")
	}
	if err := ses.Connect(context.Background()); err != nil {
		return err
	}
	if ses.Pipelined() {
		ses.BeginLater(s.d.Begin)
	} else if err := s.begin(context.Background(), ses, s.d.Begin); err != nil {
		return err
	}
	if s.service.LockStatement == "" {
		return nil
	}
	return ses.Later(s.service.LockStatement)
}

// endMember keeps or takes back what a member wrote.
func (s *Engine) endMember(ses *sqlconn.Session, open, keep bool) error {
	switch {
	case !open && keep:
		return nil
	case !open && ses.Untouched():
		ses.Forget()
		return nil
	case !open:
		return ses.Do("ROLLBACK")
	case !keep:
		if err := ses.Do("ROLLBACK TO SAVEPOINT member"); err != nil {
			return err
		}
	}
	return ses.Later("RELEASE SAVEPOINT member")
}
