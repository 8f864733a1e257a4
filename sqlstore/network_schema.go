package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// errNotNetwork says that a database has tables of something else.
var errNotNetwork = errors.New("it is not a database of Berth's network service")

// look refuses a database that this package cannot or may not work on.
func (s *NetworkStore) look(ctx context.Context, ses *session) error {
	_, err := s.stands(&reader{ses: ses, ctx: ctx})
	return err
}

// stands returns the version of the network's tables, 0 when they are to be made,
// and refuses those that this package cannot or may not work on. It only reads.
func (s *NetworkStore) stands(r *reader) (int, error) {
	at, err := s.version(r)
	switch {
	case err != nil:
		return 0, err
	case at > migrations.NetworkVersion:
		return 0, fmt.Errorf("its network tables are of version %d, newer than the %d of this program: upgrade all instances",
			at, migrations.NetworkVersion)
	case at == migrations.NetworkVersion:
		return at, checkNetwork(r)
	case at > 0 && !s.opts.Sync:
		return 0, fmt.Errorf("its network tables are of version %d, older than %d: allow the upgrade, while no older program runs",
			at, migrations.NetworkVersion)
	}
	return at, nil
}

// version returns the version of the network's tables, 0 when they are to be made.
// A database of something else is refused.
func (s *NetworkStore) version(r *reader) (int, error) {
	there, err := r.exists(s.d.hasTable, "berth_network")
	if err != nil {
		return 0, err
	}
	if !there {
		return 0, s.refuseForeign(r)
	}
	versions, err := list(r, integer, `SELECT version FROM berth_network`)
	switch {
	case err != nil || len(versions) == 0: // an interrupted beginning
		return 0, err
	case len(versions) > 1:
		return 0, fmt.Errorf("its table berth_network has %d rows where one belongs", len(versions))
	}
	return int(versions[0]), nil
}

// refuseForeign refuses a database that has tables.
func (s *NetworkStore) refuseForeign(r *reader) error {
	names, err := list(r, func(one *row) string { return one.text(0) }, s.d.tables)
	if err == nil && len(names) > 0 {
		return fmt.Errorf("%w: it has a table %s but no berth_network; name an empty database", errNotNetwork, names[0])
	}
	return err
}

// checkNetwork refuses a database that lacks what its version promises.
func checkNetwork(r *reader) error {
	for _, t := range networkTables {
		if err := t.check(r); err != nil {
			return err
		}
	}
	turn, err := r.exists(`SELECT turn FROM berth_turn`)
	if err == nil && !turn {
		err = errors.New("its table berth_turn has no row, so that instances would not wait for each other: INSERT INTO berth_turn (id, turn) VALUES (1, 0)")
	}
	return err
}

// prepare makes the network's tables, or brings them to the version that this
// package works on, in one transaction where the database can. What it refuses is
// left alone.
func (s *NetworkStore) prepare(ctx context.Context, ses *session) error {
	if s.d.enforce != "" {
		if err := ses.do(s.d.enforce); err != nil {
			return s.d.translate("preparing the schema", err)
		}
	}
	if err := ses.do(s.d.begin); err != nil {
		return s.d.translate("preparing the schema", err)
	}
	r := &reader{ses: ses, ctx: ctx}
	at, err := s.stands(r)
	if err == nil && at < migrations.NetworkVersion {
		err = s.upgrade(r, at)
	}
	if err == nil {
		err = s.d.translate("preparing the schema", ses.do("COMMIT"))
	}
	if err != nil {
		_ = ses.do("ROLLBACK")
	}
	return err
}

// upgrade runs the scripts that lead from a version to this package's.
func (s *NetworkStore) upgrade(r *reader, from int) error {
	collation, err := s.collation(r)
	if err != nil {
		return err
	}
	for version := from + 1; version <= migrations.NetworkVersion; version++ {
		if err := s.advance(r.ses, version, collation); err != nil {
			return fmt.Errorf("%w: version %d: %w", errCreating, version, s.d.translate("creating", err))
		}
	}
	s.opts.Logger.Info("network tables are ready", "from", from, "to", migrations.NetworkVersion)
	return nil
}

// advance brings the tables from the version before to this one.
func (s *NetworkStore) advance(ses *session, version int, collation string) error {
	script, err := migrations.NetworkScript(s.d.name, version, collation)
	if err != nil {
		return err
	}
	for _, statement := range script {
		if err := ses.do(statement); err != nil && !s.d.made(err) {
			return err
		}
	}
	note := `UPDATE berth_network SET version = ?`
	if version == 1 {
		note = `INSERT INTO berth_network (version) VALUES (?)`
	}
	_, err = ses.exec(note, version)
	return err
}

// collation returns the one of MySQL's tables: of those that compare bytes one that
// does not take "a" and "a " for the same, if there is any.
func (s *NetworkStore) collation(r *reader) (string, error) {
	if s.d.collations == "" {
		return "", nil
	}
	return first(r, func(one *row) string { return one.text(0) }, s.d.collations)
}
