package rowtable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// look refuses a database that this package cannot or may not work on.
func (s *rowStore) look(ctx context.Context, ses *sqlconn.Session) error {
	_, err := s.stands(&sqlconn.Tx{Session: ses, Context: ctx})
	return err
}

// stands returns the version of the service's tables, 0 when they are to be made,
// and refuses those that this package cannot or may not work on. It only reads.
func (s *rowStore) stands(t *sqlconn.Tx) (int, error) {
	at, err := s.found(t)
	switch {
	case err != nil:
		return 0, err
	case at > s.version:
		return 0, fmt.Errorf("its %s tables are of version %d, newer than the %d of this program: upgrade all instances",
			s.service, at, s.version)
	case at == s.version:
		return at, s.check(t)
	case at > 0 && at < migrations.RowsFirst[s.service]:
		return 0, fmt.Errorf(
			"its %s tables are of version %d, which no release had and this program does not upgrade: name an empty database",
			s.service, at)
	case at > 0 && !s.Options().Sync:
		return 0, fmt.Errorf("its %s tables are of version %d, older than %d: allow the upgrade, while no older program runs",
			s.service, at, s.version)
	}
	return at, nil
}

// found returns the version of the service's tables, 0 when they are to be made. A database of
// something else is refused: one that has tables, but not that of the versions. The others are read
// first, since another instance may make all of them between the two statements.
func (s *rowStore) found(t *sqlconn.Tx) (int, error) {
	names, err := sqlconn.List(t, func(one *sqlconn.Row) string { return one.Text(0) }, s.Dialect().Tables)
	if err != nil {
		return 0, err
	}
	existing, err := t.HasTable(s.versions())
	switch {
	case err != nil:
		return 0, err
	case !existing && len(names) > 0:
		return 0, fmt.Errorf(
			"it is not a database of Berth's %s service: it has a table %s but no %s; name an empty database", s.service,
			names[0], s.versions())
	case !existing:
		return 0, nil
	}
	versions, err := sqlconn.List(t, sqlconn.Integer, "SELECT version FROM "+s.versions())
	switch {
	case err != nil || len(versions) == 0: // an interrupted beginning
		return 0, err
	case len(versions) > 1:
		return 0, fmt.Errorf("its table %s has %d rows where one belongs", s.versions(), len(versions))
	}
	return int(versions[0]), nil
}

// check refuses a database that lacks what its version promises.
func (s *rowStore) check(t *sqlconn.Tx) error {
	queries := make([]string, len(s.tables))
	for i, table := range s.tables {
		queries[i] = table.checking()
	}
	if n, err := t.Answered(queries); err != nil {
		name := s.tables[min(n, len(s.tables)-1)].tableName()
		return fmt.Errorf("its table %s is not as the version says: %w", name, err)
	}
	lock, err := t.Exists(`SELECT turn FROM berth_turn`)
	if err == nil && !lock {
		err = errors.New("its table berth_turn has no row, so that instances would not wait for each other: " +
			"INSERT INTO berth_turn (id, turn) VALUES (1, 0)")
	}
	return err
}

// prepare makes the service's tables, or brings them to the version that this
// package works on, in one transaction where the database can. What it refuses is
// left alone.
func (s *rowStore) prepare(ctx context.Context, ses *sqlconn.Session) error {
	if s.Dialect().Enforce != "" {
		if err := ses.Do(s.Dialect().Enforce); err != nil {
			return s.Dialect().Translate("preparing the schema", err)
		}
	}
	if err := ses.Do(s.Dialect().Begin); err != nil {
		return s.Dialect().Translate("preparing the schema", err)
	}
	t := &sqlconn.Tx{Session: ses, Context: ctx}
	at, err := s.stands(t)
	if err == nil && at < s.version {
		err = s.upgrade(t, at)
	}
	if err == nil {
		err = s.Dialect().Translate("preparing the schema", ses.Do("COMMIT"))
	}
	if err != nil {
		_ = ses.Do("ROLLBACK") // err is the one to report
	}
	return err
}

// upgrade runs the scripts that lead from a version to this package's. Where statements
// commit by themselves, an upgrade that was interrupted goes on with the version that was
// not completed, and tables of version 0 are such until all is there: of instances that
// make them together one notes the version.
func (s *rowStore) upgrade(t *sqlconn.Tx, from int) error {
	collation, err := s.collation(t)
	if err != nil {
		return err
	}
	var script []string
	for version := max(from+1, migrations.RowsFirst[s.service]); version <= s.version; version++ {
		next, err := s.script(s.service, s.Dialect().Name, version, collation)
		if err != nil {
			return err
		}
		if script = append(script, next...); from == 0 && version < s.version {
			continue // new tables: all versions in one script, since each takes a round trip
		}
		err = s.advance(t.Session, version, script)
		if err == nil && from > 0 {
			_, err = t.Session.Exec("UPDATE "+s.versions()+" SET version = ? WHERE version = ?", version, version-1)
		}
		if err != nil {
			return fmt.Errorf("%w: version %d: %w", engine.ErrCreating, version, s.Dialect().Translate("creating", err))
		}
		script = nil
	}
	if from == 0 {
		if _, err := t.Session.Exec("INSERT INTO "+s.versions()+" (version) VALUES (?)", s.version); err != nil {
			return fmt.Errorf("%w: %w", engine.ErrCreating, s.Dialect().Translate("creating", err))
		}
	}
	s.Options().Logger.Info(s.service+" tables are ready", "from", from, "to", s.version)
	return nil
}

// advance brings the tables to a version. What an interrupted run has made is left as it is: a
// table, a column, an index, a row. Rows that a new unique index forbids are an error like that of
// a row that is there, and nothing was made.
func (s *rowStore) advance(ses *sqlconn.Session, version int, script []string) error {
	report := func(done int) {
		s.Options().Step(fmt.Sprintf("making its tables, version %d, %d of %d statements", version, done, len(script)))
	}
	report(0)
	if ses.Pipelined() || !s.Dialect().Rerun {
		if err := ses.Script(script, report); err == nil || !s.Dialect().Rerun || s.Dialect().Lost(err) {
			return err
		}
	}
	for i, statement := range script {
		err := ses.Do(statement)
		forbidden := s.Dialect().Duplicate(err) && !strings.HasPrefix(statement, "INSERT")
		if err != nil && (forbidden || !s.Dialect().Exists(err)) {
			return err
		}
		report(i + 1)
	}
	return nil
}

// collation returns the one of MySQL's tables: of those that compare bytes one that
// does not take "a" and "a " for the same, if there is any.
func (s *rowStore) collation(t *sqlconn.Tx) (string, error) {
	if s.Dialect().Collations == "" {
		return "", nil
	}
	return sqlconn.First(t, func(one *sqlconn.Row) string { return one.Text(0) }, s.Dialect().Collations)
}
