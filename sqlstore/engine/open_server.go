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
	for n := 0; ; n++ {
		err := ses.Connect(ctx)
		if err == nil {
			return nil
		}
		if advice := s.d.Advice(err, s.service.Schema.Known); advice != "" {
			return fmt.Errorf("%w: %s", err, advice)
		}
		if ctx.Err() != nil || server.Retries >= 0 && n >= server.Retries {
			return err
		}
		s.opts.Logger.Warn("the database cannot be reached yet", "error", err.Error(), "again in", server.RetryInterval.String())
		if err := sleep(ctx, server.RetryInterval); err != nil {
			return err
		}
	}
}

// schemaTries is how often to look whether another instance, started at the same
// moment, has made the tables.
const schemaTries = 8

// prepareServer brings the tables of the store and Berth's own into order. Instances
// that start together may get into each other's way, so that a failure is looked
// at again before it counts.
func (s *Engine) prepareServer(ctx context.Context, ses *sqlconn.Session) error {
	var first, last error
	for n := range schemaTries {
		err := s.service.Schema.Prepare(ctx, ses)
		if err == nil {
			err = s.prepareOwn(ctx, ses)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		// What comes after the first may be anything: tables appear
		// meanwhile.
		kind, _ := fault.Of(err)
		rival := errors.Is(first, ErrCreating) || errors.As(first, new(Foreign)) || kind == fault.Unavailable
		if last = err; !rival || n == schemaTries-1 {
			break
		}
		if err := sleep(ctx, backoff(n+1)); err != nil {
			return err
		}
	}
	return last
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
		return fmt.Errorf("its berth_ tables are of version %d, this program knows %d: upgrade all instances, or run `berth db uninstall` while none runs",
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

func (s *Engine) createOwn(ses *sqlconn.Session) error {
	statements, err := migrations.OwnTables(s.d.Name)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if err := ses.Do(statement); err != nil {
			return err
		}
	}
	_, err = ses.Exec(`INSERT INTO berth_version (version) VALUES (?)`, migrations.OwnVersion)
	return err
}

// OwnVersion returns the version of the berth_ tables on a server (migrations.OwnVersion is the newest), 0 when there
// are none.
func OwnVersion(r *sqlconn.Tx) (int64, error) {
	there, err := r.HasTable("berth_version")
	if err != nil || !there {
		return 0, err
	}
	return sqlconn.First(r, sqlconn.Integer, `SELECT COALESCE(MAX(version), 0) FROM berth_version`)
}
