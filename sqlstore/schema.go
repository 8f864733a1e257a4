package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Schema is how a database gets upstream's tables, by the steps of upstream's own migrations.
type Schema struct {
	// sync is [placement_database]sync_on_startup, or an operator's command that upgrades.
	sync bool // older ones may be upgraded
	log  *slog.Logger
	step func(string)
}

// NewSchema returns the schema for a store with these options, of which Sync, Logger and Step
// count.
func NewSchema(opts engine.Options) Schema {
	opts = opts.WithDefaults()
	return Schema{opts.Sync, opts.Logger, opts.Step}
}

// Hooks are what the engine opens a database with.
func (s Schema) Hooks() sqlconn.Schema {
	return sqlconn.Schema{
		Look: s.look, Prepare: s.prepareWhole,
		Known: sqlconn.Naming{
			Section: "placement_database", Database: "placement", Allow: "sync_on_startup, or `berth db sync`",
		},
	}
}

// look refuses a database that this package cannot or may not work on.
func (s Schema) look(ctx context.Context, ses *sqlconn.Session) error {
	_, err := s.StepsFor(ses.Tx(ctx))
	return err
}

// prepareWhole refuses a database that is half of one, and makes the tables.
func (s Schema) prepareWhole(ctx context.Context, ses *sqlconn.Session) error {
	begun, err := ses.Tx(ctx).HasTable("berth_copy")
	if begun {
		return ErrPart
	}
	if err != nil {
		return err
	}
	return s.Prepare(ctx, ses)
}

// ErrPart says that a database is not whole.
var ErrPart = errors.New("a copy into it was interrupted: go on with `berth db copy --resume`, " +
	"or drop the database and make it again")

// Prepare brings the database to a revision that this package works on.
// All steps are one transaction.
func (s Schema) Prepare(ctx context.Context, ses *sqlconn.Session) error {
	d := ses.Dialect()
	if err := ses.Do(d.Begin); err != nil {
		return d.Translate("preparing the schema", err)
	}
	err := s.upgrade(ses.Tx(ctx))
	if err == nil {
		err = d.Translate("preparing the schema", ses.Do("COMMIT"))
	}
	if err != nil {
		_ = ses.Do("ROLLBACK")
	}
	return err
}

// upgrade runs the steps that a database lacks and writes the revision once, at the end. On MySQL
// each statement commits by itself, so that an interrupted upgrade begins again from the old
// revision; its scripts allow that.
func (s Schema) upgrade(t *sqlconn.Tx) error {
	steps, err := s.StepsFor(t)
	if err != nil || len(steps) == 0 {
		return err
	}
	from, err := s.Revision(t)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := s.apply(t, step); err != nil {
			return err
		}
	}
	if err := noteRevision(t, from); err != nil {
		return fmt.Errorf("%w: noting the revision: %w", engine.ErrCreating, err)
	}
	s.log.Info("database schema is ready", "from", from, "to", migrations.Target)
	return nil
}

// noteRevision writes the revision of the database where upstream's tool reads it.
func noteRevision(t *sqlconn.Tx, from string) error {
	if from != "" {
		return t.Change(`UPDATE alembic_version SET version_num = ? WHERE version_num = ?`, migrations.Target, from)
	}
	if _, err := t.Exec(migrations.VersionTable); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO alembic_version (version_num) VALUES (?)`, migrations.Target)
	return err
}

// apply applies one revision, unless rows forbid it.
func (s Schema) apply(t *sqlconn.Tx, step migrations.Revision) error {
	if err := s.blocked(t, step); err != nil {
		return err
	}
	script, err := migrations.Script(t.Dialect().Name, step.ID)
	if err != nil {
		return err
	}
	if len(script) == 0 {
		return nil
	}
	report := func(done int) {
		s.step(fmt.Sprintf("making its tables, revision %s, %d of %d statements", step.ID, done, len(script)))
	}
	report(0)
	t.NoteLocks()
	if err := t.Fail(t.Session().Script(script, report)); err != nil {
		return fmt.Errorf("%w: upgrading to revision %s: %w", engine.ErrCreating, step.ID, err)
	}
	return nil
}

// blocked refuses a step while there are rows that forbid it, as upstream's migration of that
// revision does: it says how many and what to run first.
func (s Schema) blocked(t *sqlconn.Tx, step migrations.Revision) error {
	if step.Blockers == "" {
		return nil
	}
	n, err := sqlconn.First(t, func(one *sqlconn.Row) int64 { return one.Int(0) }, step.Blockers)
	if err == nil && n > 0 {
		return fmt.Errorf("it cannot be upgraded to revision %s: it has %d %s", step.ID, n, step.Remedy)
	}
	return err
}

// StepsFor returns the steps that a database needs, and refuses those that this
// package cannot or may not work on. It only reads.
func (s Schema) StepsFor(t *sqlconn.Tx) ([]migrations.Revision, error) {
	at, err := s.Revision(t)
	if err != nil {
		return nil, err
	}
	steps := migrations.After(at)
	if len(steps) == 0 {
		return nil, s.CheckTables(t)
	}
	if at == "" {
		return steps, nil
	}
	if !s.sync {
		return nil, fmt.Errorf("its schema is at revision %s, older than %s; allow the upgrade (sync_on_startup), or run "+
			"`berth db sync` (or upstream's `placement-manage db sync`)",
			at, migrations.Target)
	}
	// Only what is there already can be checked before the first step; that
	// is all there is, since the steps that check come before those that
	// change.
	for _, step := range steps {
		if err := s.blocked(t, step); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// Revision returns where upstream's tool says the database is, empty when the
// database is.
func (s Schema) Revision(t *sqlconn.Tx) (string, error) {
	versioned, err := t.HasTable("alembic_version")
	if err != nil {
		return "", err
	}
	if !versioned {
		return s.Unversioned(t)
	}
	ids, err := sqlconn.List(t, func(one *sqlconn.Row) string { return one.Text(0) },
		`SELECT version_num FROM alembic_version`)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 && t.Dialect().Rerun {
		return "", nil // an interrupted beginning
	}
	if len(ids) == 0 {
		return "", errors.New("its table alembic_version names no revision")
	}
	if len(ids) != 1 || migrations.Index(ids[0]) < 0 {
		return "", fmt.Errorf("its schema is at an unknown revision (%s); known are %s",
			strings.Join(ids, " and "), strings.Join(migrations.Known(), ", "))
	}
	return ids[0], nil
}

// Unversioned returns the revision of a database without alembic_version: none
// when it is empty, or its tables are and an interrupted beginning can be
// continued; and the one this package works on when it has the tables for it.
// Upstream's service runs on such a database too: it looks at the revision only
// when it is to upgrade. One that belongs to something else is refused.
func (s Schema) Unversioned(t *sqlconn.Tx) (string, error) {
	names, err := sqlconn.List(t, func(one *sqlconn.Row) string { return one.Text(0) }, t.Dialect().Tables)
	if err != nil || len(names) == 0 {
		return "", err
	}
	if t.Dialect().Rerun {
		begun, err := s.begun(t, names)
		if begun || err != nil {
			return "", err
		}
	}
	if s.CheckTables(t) == nil {
		return migrations.Target, nil
	}
	return "", engine.Foreign("it is not a Placement database: it has a table " + names[0] + " but no alembic_version")
}

// begun reports whether a database has nothing but some of upstream's tables,
// and those empty.
func (s Schema) begun(t *sqlconn.Tx, names []string) (bool, error) {
	for _, name := range names {
		if !slices.ContainsFunc(migrations.Tables, func(t migrations.Table) bool { return t.Name == name }) {
			return false, nil
		}
		// The name is one of ours.
		if filled, err := t.Exists(`SELECT 1 FROM ` + name + ` LIMIT 1`); filled || err != nil {
			return false, err
		}
	}
	return true, nil
}

// CheckTables refuses a database that lacks what its revision promises.
func (s Schema) CheckTables(t *sqlconn.Tx) error {
	tables := migrations.Tables
	queries := make([]string, len(tables))
	for i, table := range tables {
		names := make([]string, len(table.Columns))
		for j, column := range table.Columns {
			names[j] = column.Name
		}
		queries[i] = `SELECT COUNT(*) FROM (SELECT ` + strings.Join(names, ", ") + ` FROM ` + table.Name + ` WHERE 1 = 0) x`
	}
	if n, err := t.Answered(queries); err != nil {
		return fmt.Errorf("its table %s is not as the revision says: %w", tables[min(n, len(tables)-1)].Name, err)
	}
	return nil
}
