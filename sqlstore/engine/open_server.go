package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// openServer connects, looks at the database before it changes anything in it,
// and begins to serve.
func (s *Engine) openServer(ctx context.Context) (err error) {
	s.d, s.dialer, err = sqlconn.NewDialer(*s.opts.Server)
	if err != nil {
		return err
	}
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
func (s *Engine) reach(ctx context.Context, ses *sqlconn.Session) error {
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
func (s *Engine) prepareServer(ctx context.Context, ses *sqlconn.Session) error {
	return amongRivals(ctx, func() error {
		if err := s.service.Schema.Prepare(ctx, ses); err != nil {
			return err
		}
		return s.prepareOwn(ctx, ses)
	})
}

// amongRivals prepares tables that other instances may be preparing at the same time. After an
// error that they can be the cause of it prepares again, schemaTries times at most, whatever error
// follows: tables appear meanwhile. It returns the last error.
func amongRivals(ctx context.Context, prepare func() error) error {
	rivals := false
	for n := 1; ; n++ {
		err := prepare()
		if err == nil {
			return nil
		}
		kind, _ := fault.Of(err)
		rivals = rivals || errors.Is(err, ErrCreating) || errors.As(err, new(Foreign)) || kind == fault.Unavailable
		if !rivals || n == schemaTries {
			return err
		}
		if err := sleep(ctx, backoff(n)); err != nil {
			return err
		}
	}
}

// ErrCreating says that a statement that makes tables failed, maybe because
// another instance was faster.
var ErrCreating = errors.New("the tables could not be made")

// A Foreign error says why a database is not one of the store's kind, unless its tables are
// being made right now.
type Foreign string

// Error is the reason.
func (f Foreign) Error() string { return string(f) }

// prepareOwn makes Berth's own tables, or the rest of those that another instance has
// begun: their version is what is written last.
func (s *Engine) prepareOwn(ctx context.Context, ses *sqlconn.Session) error {
	version, err := OwnVersion(&sqlconn.Tx{Session: ses, Context: ctx})
	switch {
	case err != nil || version == migrations.OwnVersion:
		return err
	case version > 0:
		return fmt.Errorf("its berth_ tables are of version %d, this program knows %d: upgrade all instances, or run "+
			"`berth db uninstall` while none runs",
			version, migrations.OwnVersion)
	}
	if err := s.createOwn(ses); err != nil {
		if advice := s.d.Advice(err, s.service.Schema.Known); advice != "" {
			return fmt.Errorf("the tables of Berth's own cannot be made: %w: %s", s.d.Translate("creating", err), advice)
		}
		return fmt.Errorf("%w: Berth's own tables: %w", ErrCreating, s.d.Translate("creating", err))
	}
	return nil
}

// createOwn runs the statements of migrations.OwnTables and writes the version last. A unique
// version lets one of several instances that run it together win; the others look again.
func (s *Engine) createOwn(ses *sqlconn.Session) error {
	statements, err := migrations.OwnTables(s.d.Name)
	if err != nil {
		return err
	}
	report := func(done int) {
		s.opts.Step(fmt.Sprintf("making Berth's own tables, %d of %d statements", done, len(statements)))
	}
	report(0)
	if err := ses.Script(statements, report); err != nil {
		return err
	}
	_, err = ses.Exec(`INSERT INTO berth_version (version) VALUES (?)`, migrations.OwnVersion)
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
