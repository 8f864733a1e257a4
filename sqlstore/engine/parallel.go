package engine

import "github.com/berthcloud/berth/sqlstore/sqlconn"

// A parallel reader is a second transaction that sees exactly what the first one sees, on a
// connection of its own, so that much can be read at twice the speed. Only files
// have them.
//
// The write lock of the file makes it sure, of which there is one. SQLite gives it to a transaction
// that has read only if that has seen the newest rows; and while the transaction has it, no other
// can change them, so that one that begins to read then sees the same. It is released when the
// transaction ends.

// parallel starts a parallel reader of a View's transaction, to be ended before that is, or false:
// then one connection has to do.
func (s *Engine[N]) parallel(t *sqlconn.Tx) (other *sqlconn.Tx, end func(), ok bool) {
	if s.service.WriteLock == "" || s.d.Shared || s.readers == s.Writer {
		return nil, nil, false
	}
	ses, ok := s.readers.BorrowIdle()
	if !ok {
		return nil, nil, false
	}
	if !t.Session().TakeWriteLock(s.service.WriteLock) || ses.Begin(t.Context(), s.d.BeginRead) != nil {
		s.readers.GiveBack(ses)
		return nil, nil, false
	}
	other = ses.Tx(t.Context()).Traced(s.opts.Trace)
	return other, func() {
		other.End()
		if ses.Do("ROLLBACK") != nil {
			ses.Discard()
		}
		s.readers.GiveBack(ses)
	}, true
}
