package sqlstore

import (
	"context"
	"database/sql"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// OnWriter lets a test use the connection that writes while no Update does.
func (s *Store) OnWriter(fn func(*sql.Conn) error) error {
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	return fn(ses.Conn())
}

// Count returns the number that a statement answers.
func (s *Store) Count(ctx context.Context, statement string) (n int64, err error) {
	err = s.View(ctx, func(r placement.Reader) (err error) {
		n, err = first(r.(*reader), sqlconn.Integer, statement)
		return err
	})
	return n, err
}
