package sqlstore

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
func (s *engine) twin(t *tx) (other *tx, end func(), ok bool) {
	if s.still == "" || s.d.server || s.readers == s.writer {
		return nil, nil, false
	}
	ses, ok := s.readers.borrowIdle()
	if !ok {
		return nil, nil, false
	}
	if !t.ses.keepStill(s.still) || s.begin(t.ctx, ses, s.d.beginRead) != nil {
		s.readers.giveBack(ses)
		return nil, nil, false
	}
	other = &tx{ses: ses, ctx: t.ctx, trace: t.trace}
	return other, func() {
		other.over = true
		if ses.do("ROLLBACK") != nil {
			ses.dead = true
		}
		s.readers.giveBack(ses)
	}, true
}
