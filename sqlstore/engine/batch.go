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
func (s *Engine) writes(j *job) bool {
	return j.outcome == nil && (j.entry != nil || !s.service.WritesHaveEntries)
}

// answer ends the jobs of a transaction that is durable, or has written nothing.
func answer(members []*job) {
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
type round struct {
	open    bool   // members are behind savepoints: there is something to keep
	members []*job // that ran
	missed  []*job // that were rolled back, because others hold locks that they need
	cause   error  // why the last of those was
}

// runAll runs what next yields in one transaction, which begins with the locks
// that the first ones are known to need. A job whose lock is taken by another program is rolled
// back to its savepoint, and the jobs behind it go on.
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

// noteWait counts that waiting for a lock delayed all others. Waits that were short, as with
// NOWAIT, do not count.
func (j *job) noteWait(s *Engine, cause error, began time.Time) {
	if cause != nil && s.blocked(cause) && time.Since(began) >= sqlconn.LockWait/2 {
		j.waited++
	}
}

// blocked reports whether an error is a lock of another program's that one job needs, and
// the jobs behind it may not. With a LockStatement all jobs wait for the same row, so that no job
// of the transaction could go on either.
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
// returns nil only when it is. An error that leaves open whether the commit took place is settled
// first, on a new connection: errUnsettled is what is left when that fails as well.
func (s *Engine) commit(ses *sqlconn.Session, members []*job) error {
	var noted []any
	for _, m := range members {
		if m.outcome == nil && m.entry != nil {
			noted = append(noted, m.entry)
		}
	}
	if !s.d.Shared {
		if err := ses.Do("COMMIT"); err != nil {
			return err
		}
		if err := s.files.Check(); errors.Is(err, sqlconn.ErrFileLost) {
			return err // what was committed may be in a file that cannot be opened again
		}
		if s.service.Watched {
			if body, _ := s.service.Encode(noted); strings.Contains(body, "\n") {
				s.memory.Append(body, time.Now())
			}
		}
		if s.files.Tight() {
			s.checkpoint(ses)
		}
		return nil
	}
	body, own := s.service.Encode(noted)
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
func (s *Engine) lost(ses *sqlconn.Session, members []*job, cause error) {
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
func (s *Engine) member(ses *sqlconn.Session, j *job, open bool) (bool, error) {
	if err := s.beginMember(ses, open); err != nil {
		return open, err
	}
	t := &sqlconn.Tx{
		Session: ses, Context: j.ctx, Trace: s.opts.Trace, Written: sqlconn.Stamp(j.now.Truncate(s.d.Precision)),
		HoldsLocks: open,
	}
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
	if t.Cause != nil && (s.again(t.Cause) || s.d.Full(t.Cause)) {
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

// beginMember begins the transaction, or sets a savepoint in the open one. Both are put off until
// the next statement where the connection sends several at once.
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

// endMember keeps or takes back what a member wrote. A savepoint of the same name may be set again
// for the next member.
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

// sizeOf is how many Updates some jobs are.
func sizeOf(jobs []*job) (n int) {
	for _, j := range jobs {
		n += j.size()
	}
	return n
}
