package sqlstore

// A twin is a second reader that sees exactly what the first one sees, on a
// connection of its own, so that much can be read at twice the speed. Only files
// have twins.
//
// What makes it sure is the right to write, of which there is one. Who gets it in
// the middle of reading has seen the newest rows, or SQLite refuses it; and while
// it is kept nobody can change them, so that who begins to read sees the same. The
// reader keeps it until its transaction ends.

// twin returns a twin of the reader, to be ended before the reader is, or false:
// then one connection has to do.
func (r *reader) twin() (other *reader, end func(), ok bool) {
	s := r.store
	if s == nil || s.d.server || s.readers == s.writer {
		return nil, nil, false
	}
	ses, ok := s.readers.borrowIdle()
	if !ok {
		return nil, nil, false
	}
	if !r.ses.keepStill() || s.begin(r.ctx, ses, s.d.beginRead) != nil {
		s.readers.giveBack(ses)
		return nil, nil, false
	}
	other = &reader{ses: ses, ctx: r.ctx, trace: r.trace}
	return other, func() {
		other.over = true
		if ses.do("ROLLBACK") != nil {
			ses.dead = true
		}
		s.readers.giveBack(ses)
	}, true
}

// keepStill takes the right to write for the transaction under way, with a
// statement that writes nothing. It returns false when there is something newer
// than what was read, or somebody else writes.
func (s *session) keepStill() bool {
	if s.do("PRAGMA query_only(0)") != nil {
		return false
	}
	err := s.do("UPDATE alembic_version SET version_num = version_num WHERE 0")
	if s.do("PRAGMA query_only(1)") != nil {
		s.dead = true
	}
	return err == nil
}

// inTurn runs two functions one after the other.
func inTurn(r *reader, one, other func(*reader) error) error {
	if err := one(r); err != nil {
		return err
	}
	return other(r)
}

// beside runs one function on the reader and the other on a twin at the same time,
// or both in turn when there is none. Each must keep to the reader it is given.
func (r *reader) beside(one, other func(*reader) error) error {
	twin, end, ok := r.twin()
	if !ok {
		return inTurn(r, one, other)
	}
	defer end()
	type outcome struct {
		err      error
		panicked any
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			ended <- o
		}()
		o.err = other(twin)
	}()
	err := one(r)
	o := <-ended
	if o.panicked != nil {
		panic(o.panicked)
	}
	if err == nil && o.err != nil {
		r.cause, r.broken, err = twin.cause, twin.broken, o.err
	}
	return err
}
