package engine

import (
	"context"

	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Open opens the database that the options name and begins to serve.
func (s *Engine[N]) Open(ctx context.Context) error {
	writer, readers, err := s.db.Open(ctx, wholeSchema(s.service.Schema, s.opts), s.opts.Readers)
	if err != nil {
		return err
	}
	s.d = s.db.Dialect()
	if s.d.Shared {
		s.table = logtable.New[N](s.d, s.service.Watched, s.Read)
	}
	s.start(writer, readers)
	return nil
}

// source is what a database is opened by.
func (o Options) source() sqlconn.Source {
	return sqlconn.Source{
		Path: o.Path, Server: o.Server, Empty: o.Empty, BusyTimeout: o.BusyTimeout, Logger: o.Logger, Step: o.Step,
		Connected: o.Metrics.Reconnected,
	}
}
