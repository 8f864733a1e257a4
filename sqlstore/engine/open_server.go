package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// openServer connects, looks at the database before it changes anything in it,
// and begins to serve.
func (s *Engine[N]) openServer(ctx context.Context) (err error) {
	s.d, s.dialer, err = sqlconn.NewDialer(*s.opts.Server)
	if err != nil {
		return err
	}
	s.table = logtable.New[N](s.d, s.service.Watched, s.Read)
	writer := s.newSession(sqlconn.Writing)
	s.sessions = append(s.sessions, writer)
	if err := s.reach(ctx, writer); err != nil {
		return err
	}
	if err := s.prepareServer(ctx, writer); err != nil {
		return err
	}
	readers := make([]*sqlconn.Session, s.opts.Readers)
	for i := range readers {
		readers[i] = s.newSession(sqlconn.Reading)
	}
	s.sessions = append(s.sessions, readers...)
	s.start(writer, readers)
	return nil
}

// reach makes the first connection, again and again while no server answers. What
// will not change by itself is an error at once.
func (s *Engine[N]) reach(ctx context.Context, ses *sqlconn.Session) error {
	server := s.opts.Server
	s.opts.Step("connecting")
	for n := 0; ; n++ {
		err := ses.Connect(ctx)
		if err == nil {
			s.opts.Step("looking at its tables")
			return nil
		}
		if advice := s.d.Advice(err, s.service.Schema.Known); advice != "" {
			return fmt.Errorf("%w: %s", err, advice)
		}
		if ctx.Err() != nil || server.Retries >= 0 && n >= server.Retries {
			return err
		}
		s.opts.Step(fmt.Sprintf("connecting, after %d attempts without success, for which the log has the reasons", n+1))
		s.opts.Logger.Warn("the database cannot be reached yet", "error", err.Error(),
			"again in", server.RetryInterval.String())
		if err := sleep(ctx, server.RetryInterval); err != nil {
			return err
		}
	}
}

// schemaTries is how often to look whether another instance, started at the same
// moment, has made the tables.
const schemaTries = 8

// prepareServer brings the tables of the store and Berth's own into order.
func (s *Engine[N]) prepareServer(ctx context.Context, ses *sqlconn.Session) error {
	return amongRivals(ctx, func() error {
		version, err := s.ownVersion(ses.Tx(ctx))
		if err != nil {
			return err
		}
		if err := s.service.Schema.Prepare(ctx, ses); err != nil {
			return err
		}
		return s.prepareOwn(ctx, ses, version)
	})
}

// amongRivals prepares tables that other instances may be preparing at the same time. After an
// error that they can be the cause of it prepares again, schemaTries times at most, whatever error
// follows: tables appear meanwhile. It returns the last error.
func amongRivals(ctx context.Context, prepare func() error) error {
	rivals := false
	return retry(ctx, time.Hour, schemaTries, func() (again bool, err error) {
		err = prepare()
		kind, _ := fault.Of(err)
		rivals = rivals || errors.Is(err, ErrCreating) || errors.As(err, new(Foreign)) ||
			err != nil && kind == fault.Unavailable
		return err != nil && rivals, err
	})
}

// ErrCreating says that a statement that makes tables failed, maybe because
// another instance was faster.
var ErrCreating = errors.New("the tables could not be made")

// A Foreign error says why a database is not one of the store's kind, unless its tables are
// being made right now.
type Foreign string

// Error is the reason.
func (f Foreign) Error() string { return string(f) }

// ownVersion returns the version of Berth's own tables on a server, 0 when there are none or
// another instance has begun to make them: their version is what is written last. Tables of a newer
// program are an error, and those of an older one unless Options.Sync is set. It only reads.
func (s *Engine[N]) ownVersion(r *sqlconn.Tx) (int, error) {
	at, err := OwnVersion(r)
	tables, known := s.opts.OwnTables, s.service.Schema.Known
	switch {
	case err != nil:
		return 0, err
	case int(at) > tables.Version:
		return 0, tables.Newer(int(at), "upgrade all instances, or run `berth db uninstall` while none runs")
	case at > 0 && int(at) < tables.Version && !s.opts.Sync:
		return 0, tables.Older(int(at),
			"allow the upgrade ("+known.Allow+"); instances of an older program may run meanwhile")
	}
	return int(at), nil
}

// prepareOwn makes Berth's own tables, or upgrades them from a version. A unique version lets one
// of several instances that make them together win; the others look again.
func (s *Engine[N]) prepareOwn(ctx context.Context, ses *sqlconn.Session, version int) error {
	tables, known := s.opts.OwnTables, s.service.Schema.Known
	t := ses.Tx(ctx)
	if version == 0 {
		return tables.Upgrade(t, 0, s.opts, known) // no transaction: it would take two more round trips
	}
	if version == tables.Version {
		return nil
	}
	if err := ses.Do(s.d.Begin); err != nil {
		return s.d.Translate("upgrading the berth_ tables", err)
	}
	err := tables.Upgrade(t, version, s.opts, known)
	if err == nil {
		err = s.d.Translate("upgrading the berth_ tables", ses.Do("COMMIT"))
	}
	if err != nil {
		_ = ses.Do("ROLLBACK")
	}
	return err
}

// OwnVersion returns the version of the berth_ tables on a server (migrations.OwnVersion is the
// newest), 0 when there are none.
func OwnVersion(r *sqlconn.Tx) (int64, error) {
	existing, err := r.HasTable("berth_version")
	if err != nil || !existing {
		return 0, err
	}
	return sqlconn.First(r, sqlconn.Integer, `SELECT COALESCE(MAX(version), 0) FROM berth_version`)
}
