package sqlstore

import "database/sql"

// OnWriter lets a test use the connection that writes while no Update does.
func (s *Store) OnWriter(fn func(*sql.Conn) error) error {
	ses := <-s.writer
	defer func() { s.writer <- ses }()
	return fn(ses.conn)
}

// Waiting returns how many Updates are in the queue.
func (s *Store) Waiting() int { return len(s.queue) }
