package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// transact runs the jobs that next yields in one transaction, commits, and
// answers them. It returns those that were not answered, of which nothing is written: all
// when it fails, else those that need locks which others hold. A cause with jobs that were not
// answered says why they have to run again; nil means that all were answered.
func (s *Engine[N]) transact(next func() *job[N]) ([]*job[N], error) {
	var first []*job[N]
	if s.d.Shared {
		// A job that joined later could read a state from before it was
		// called: a node of a cluster waits for the others at the beginning only.
		first = gathered(next)
		next = each(first)
	}
	if err := s.db.Files().Check(); err != nil {
		return gathered(next), err
	}
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	start := time.Now()
	r, err := s.runAll(ses, first, next)
	commits := slices.ContainsFunc(r.members, s.writes)
	switch {
	case err == nil && commits:
		if err = s.commit(ses, r.members); err != nil {
			r.members[0].noteWait(s, err, start)
		}
	case err == nil && r.open:
		err = s.endMember(ses, false, false)
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
	if s.opts.Metrics.Committed != nil && len(r.members) > 0 && (commits || !s.service.WritesHaveEntries) {
		s.opts.Metrics.Committed(sizeOf(r.members), time.Since(start))
	}
	answer(r.members)
	return r.missed, r.cause
}

// writes reports whether a job has something to commit.
func (s *Engine[N]) writes(j *job[N]) bool {
	return j.outcome == nil && (j.note != nil || !s.service.WritesHaveEntries)
}

// answer ends the jobs of a transaction that is durable, or has written nothing.
func answer[N any](members []*job[N]) {
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

// A round is what becomes of jobs in a transaction. It belongs to the writing goroutine and ends
// with the transaction.
type round[N any] struct {
	open    bool      // members are behind savepoints: there is something to keep
	members []*job[N] // that ran
	missed  []*job[N] // that were rolled back, because others hold locks that they need
	cause   error     // why the last of those was
}

// runAll runs what next yields in one transaction, which begins with the locks
// that the first ones are known to need. A job whose lock is taken by another program is rolled
// back to its savepoint, and the jobs behind it go on.
func (s *Engine[N]) runAll(ses *sqlconn.Session, first []*job[N], next func() *job[N]) (r round[N], err error) {
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
func (s *Engine[N]) beginWanted(ses *sqlconn.Session, jobs []*job[N]) (bool, error) {
	var all Locks
	for _, j := range jobs {
		all.Add(j.locks)
	}
	if s.service.TakeLocks == nil || all.Empty() {
		return false, nil
	}
	if err := s.beginMember(ses, false); err != nil {
		return false, err
	}
	t := ses.Tx(context.Background()).Traced(s.opts.Trace)
	began := time.Now()
	s.service.TakeLocks(t, all)
	for _, j := range jobs {
		j.noteWait(s, t.Cause(), began)
	}
	return true, t.Cause()
}

// noteWait counts that waiting for a lock delayed all others. Waits that were short, as with
// NOWAIT, do not count.
func (j *job[N]) noteWait(s *Engine[N], cause error, began time.Time) {
	if cause != nil && s.blocked(cause) && time.Since(began) >= sqlconn.LockWait/2 {
		j.waited++
	}
}

// blocked reports whether an error is a lock of another program's that one job needs, and
// the jobs behind it may not. With a LockStatement all jobs wait for the same row, so that no job
// of the transaction could go on either.
func (s *Engine[N]) blocked(err error) bool { return s.service.LockStatement == "" && s.d.Locked(err) }

// gathered calls next until it has all.
func gathered[N any](next func() *job[N]) []*job[N] {
	var all []*job[N]
	for j := next(); j != nil; j = next() {
		all = append(all, j)
	}
	return all
}

// each yields the jobs of a list.
func each[N any](all []*job[N]) func() *job[N] {
	return func() *job[N] {
		if len(all) == 0 {
			return nil
		}
		j := all[0]
		all = all[1:]
		return j
	}
}

// commit appends to the change log what succeeded and makes it durable. It
// returns nil only when it is. An error that leaves open whether the commit took place is settled
// first, on a new connection: errUnsettled is what is left when that fails as well.
func (s *Engine[N]) commit(ses *sqlconn.Session, members []*job[N]) error {
	var notes []N
	for _, m := range members {
		if m.outcome == nil && m.note != nil {
			notes = append(notes, *m.note)
		}
	}
	if !s.d.Shared {
		if err := ses.Do("COMMIT"); err != nil {
			return err
		}
		if err := s.db.Files().Check(); errors.Is(err, sqlconn.ErrFileLost) {
			return err // what was committed may be in a file that cannot be opened again
		}
		if s.service.Watched {
			if body, _ := s.service.Encode(notes); strings.Contains(body, "\n") {
				s.memory.Append(body, time.Now())
			}
		}
		if s.db.Files().Tight() {
			s.checkpoint(ses)
		}
		return nil
	}
	body, own := s.service.Encode(notes)
	entry, err := s.table.Commit(ses, sqlconn.Stamp(members[0].now.Truncate(s.d.Precision)), body, own)
	if err == nil || s.table.RolledBack(err) {
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
func (s *Engine[N]) lost(ses *sqlconn.Session, members []*job[N], cause error) {
	// The failure may have ended the transaction already; then there is
	// nothing to roll back and the error says just that.
	ses.Forget()
	_ = ses.Do("ROLLBACK")
	if s.noteUnwritable(cause); s.d.Full(cause) && !s.d.Shared {
		s.checkpoint(ses)
	}
	s.opts.Logger.Warn("a transaction was lost", "updates", sizeOf(members), "error", cause.Error())
	if s.opts.Metrics.CommitFailed != nil {
		s.opts.Metrics.CommitFailed(sizeOf(members))
	}
}

// member runs one job and notes its outcome: behind a savepoint when the open
// transaction has something to keep, else in one that begins with it. It returns
// whether there is something to keep now. An error says that the whole
// transaction is lost.
func (s *Engine[N]) member(ses *sqlconn.Session, j *job[N], open bool) (bool, error) {
	if err := s.beginMember(ses, open); err != nil {
		return open, err
	}
	written := sqlconn.Stamp(j.now.Truncate(s.d.Precision))
	t := &Tx[N]{Tx: ses.Tx(j.ctx).Traced(s.opts.Trace).Stamped(written)}
	if open {
		t.NoteLocks()
	}
	began := time.Now()
	if j.members != nil {
		j.broken = nil // by an earlier attempt
		j.run(t)
	} else {
		j.tx <- t
	}
	j.outcome = <-j.returned
	t.End()
	j.locks.Add(t.locks)
	if t.Cause() != nil && (s.retryable(t.Cause()) || s.d.Full(t.Cause())) {
		j.noteWait(s, t.Cause(), began)
		return open, t.Cause()
	}
	j.note, j.onCommit = t.note, t.afterCommit
	if j.outcome == nil {
		// The function overlooked an error after which the transaction
		// is not what it believes.
		j.outcome, j.broken = t.Broken(), t.Broken()
	}
	if err := s.endMember(ses, open, j.outcome == nil); err != nil {
		// What went wrong ended the whole transaction, with its
		// savepoints: a full disk does.
		return open, cmp.Or(t.Cause(), err)
	}
	return open || j.outcome == nil, nil
}

// beginMember begins the transaction, or sets a savepoint in the open one. Both are put off until
// the next statement where the connection sends several at once.
func (s *Engine[N]) beginMember(ses *sqlconn.Session, open bool) error {
	if open {
		return ses.Later("SAVEPOINT member")
	}
	if err := ses.BeginLater(context.Background(), s.d.Begin); err != nil {
		return err
	}
	if s.service.LockStatement == "" {
		return nil
	}
	return ses.Later(s.service.LockStatement)
}

// endMember keeps or takes back what a member wrote. A savepoint of the same name may be set again
// for the next member.
func (s *Engine[N]) endMember(ses *sqlconn.Session, open, keep bool) error {
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

// sizeOf is how many Updates some jobs are.
func sizeOf[N any](jobs []*job[N]) (n int) {
	for _, j := range jobs {
		n += j.size()
	}
	return n
}
