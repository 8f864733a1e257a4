package rowtable

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// look refuses a database that this package cannot or may not work on.
func (s *rowStore) look(ctx context.Context, ses *sqlconn.Session) error {
	_, err := s.stands(ses.Tx(ctx))
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
		return 0, s.versioned("").Newer(at, "upgrade all instances")
	case at == s.version:
		return at, s.check(t)
	case at > 0 && at < migrations.RowsFirst[s.service]:
		return 0, fmt.Errorf(
			"its %s tables are of version %d, which no release had and this program does not upgrade: name an empty database",
			s.service, at)
	case at > 0 && !s.Options().Sync:
		return 0, s.versioned("").Older(at, "allow the upgrade, while no older program runs")
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
	t := ses.Tx(ctx)
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

// upgrade brings the tables from a version to this package's.
func (s *rowStore) upgrade(t *sqlconn.Tx, from int) error {
	collation, err := s.collation(t)
	if err != nil {
		return err
	}
	return s.versioned(collation).Upgrade(t, from, s.Options(), s.known())
}

// collation returns the one of MySQL's tables: of those that compare bytes one that
// does not take "a" and "a " for the same, if there is any.
func (s *rowStore) collation(t *sqlconn.Tx) (string, error) {
	if s.Dialect().Collations == "" {
		return "", nil
	}
	return sqlconn.First(t, func(one *sqlconn.Row) string { return one.Text(0) }, s.Dialect().Collations)
}
