package engine

import "github.com/berthcloud/berth/sqlstore/sqlconn"

// A twin is a second transaction that sees exactly what the first one sees, on a
// connection of its own, so that much can be read at twice the speed. Only files
// have twins.
//
// What makes it sure is the right to write, of which there is one. Who gets it in
// the middle of reading has seen the newest rows, or SQLite refuses it; and while
// it is kept nobody can change them, so that who begins to read sees the same. The
// reader keeps it until its transaction ends.

// twin returns a twin of a View's transaction, to be ended before that is, or false:
// then one connection has to do.
func (s *Engine) twin(t *sqlconn.Tx) (other *sqlconn.Tx, end func(), ok bool) {
	if s.service.Still == "" || s.d.Shared || s.readers == s.Writer {
		return nil, nil, false
	}
	ses, ok := s.readers.BorrowIdle()
	if !ok {
		return nil, nil, false
	}
	if !t.Session.KeepStill(s.service.Still) || s.begin(t.Context, ses, s.d.BeginRead) != nil {
		s.readers.GiveBack(ses)
		return nil, nil, false
	}
	other = &sqlconn.Tx{Session: ses, Context: t.Context, Trace: t.Trace}
	return other, func() {
		other.Over = true
		if ses.Do("ROLLBACK") != nil {
			ses.Dead = true
		}
		s.readers.GiveBack(ses)
	}, true
}
