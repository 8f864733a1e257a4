package engine

import (
	"fmt"
	"strings"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// VersionedTables are tables of Berth's design. Numbered scripts bring them from one version to the
// next, and the version is the one row of a table.
type VersionedTables struct {
	Name    string // for people: "network", "berth_"
	Table   string // the table that has the version
	First   int    // the version that empty databases begin at
	Version int    // of this program
	// Script returns the statements that lead to a version, as migrations.RowsScript.
	Script func(database string, version int) ([]string, error)
}

// Newer is the error about tables of a later program, with what to do about them.
func (v VersionedTables) Newer(at int, remedy string) error {
	return fmt.Errorf("its %s tables are of version %d, newer than the %d of this program: %s", v.Name, at, v.Version,
		remedy)
}

// Older is the same about tables of an earlier program that may not be upgraded.
func (v VersionedTables) Older(at int, remedy string) error {
	return fmt.Errorf("its %s tables are of version %d, older than %d: %s", v.Name, at, v.Version, remedy)
}

// OwnTables are Berth's own tables on servers.
func OwnTables() VersionedTables {
	return VersionedTables{
		Name: "berth_", Table: "berth_version", First: 1, Version: migrations.OwnVersion, Script: migrations.OwnScript,
	}
}

// Upgrade runs the scripts that lead from a version, 0 for a database without the tables, to the
// program's. Where statements commit by themselves (Dialect.Rerun), an upgrade that was interrupted
// goes on with the version that was not completed, and tables of version 0 are such until all is
// there: of instances that make them together one inserts the version. Elsewhere the caller begins
// and ends a transaction around an upgrade. A failing script is ErrCreating, unless the operator
// can do something about it.
func (v VersionedTables) Upgrade(t *sqlconn.Tx, from int, opts Options, known sqlconn.Naming) error {
	d := t.Dialect()
	var script []string
	for version := max(from+1, v.First); version <= v.Version; version++ {
		next, err := v.Script(d.Name, version)
		if err != nil {
			return err
		}
		if script = append(script, next...); from == 0 && version < v.Version {
			continue // new tables: all versions in one script, since each takes a round trip
		}
		err = v.advance(t.Session(), version, script, opts.Step)
		if err == nil && from > 0 {
			_, err = t.Session().Exec("UPDATE "+v.Table+" SET version = ? WHERE version = ?", version, version-1)
		}
		if err != nil {
			return v.failure(d, fmt.Sprintf("%s tables, version %d", v.Name, version), err, known)
		}
		script = nil
	}
	if from == 0 {
		if _, err := t.Session().Exec("INSERT INTO "+v.Table+" (version) VALUES (?)", v.Version); err != nil {
			return v.failure(d, v.Name+" tables", err, known)
		}
	}
	opts.Logger.Info(v.Name+" tables are ready", "from", from, "to", v.Version)
	return nil
}

// failure is the error of a driver with what an operator can do about it, and ErrCreating where
// that is nothing: another instance may have been faster.
func (v VersionedTables) failure(d *sqlconn.Dialect, what string, err error, known sqlconn.Naming) error {
	if d.Advice != nil {
		if advice := d.Advice(err, known); advice != "" {
			return fmt.Errorf("%s cannot be made: %w: %s", what, d.Translate("creating", err), advice)
		}
	}
	return fmt.Errorf("%w: %s: %w", ErrCreating, what, d.Translate("creating", err))
}

// advance brings the tables to a version. What an interrupted run has made is left as it is: a
// table, a column, an index, a row. Rows that a new unique index forbids are an error like that of
// a row that is there, and nothing was made.
func (v VersionedTables) advance(ses *sqlconn.Session, version int, script []string, step func(string)) error {
	report := func(done int) {
		step(fmt.Sprintf("making %s tables, version %d, %d of %d statements", v.Name, version, done, len(script)))
	}
	report(0)
	if ses.Pipelined() || !ses.Dialect().Rerun {
		if err := ses.Script(script, report); err == nil || !ses.Dialect().Rerun || ses.Dialect().Lost(err) {
			return err
		}
	}
	for i, statement := range script {
		err := ses.Do(statement)
		forbidden := ses.Dialect().Duplicate(err) && !strings.HasPrefix(statement, "INSERT")
		if err != nil && (forbidden || !ses.Dialect().Exists(err)) {
			return err
		}
		report(i + 1)
	}
	return nil
}
