package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// tableShapes are the columns that the statements of this package use.
var tableShapes = []struct{ table, columns string }{
	{"resource_providers", "created_at, updated_at, id, uuid, name, generation, root_provider_id, parent_provider_id"},
	{"inventories", "created_at, updated_at, id, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio"},
	{"allocations", "created_at, updated_at, id, resource_provider_id, consumer_id, resource_class_id, used"},
	{"consumers", "created_at, updated_at, id, uuid, project_id, user_id, generation, consumer_type_id"},
	{"consumer_types", "created_at, id, name"},
	{"projects", "created_at, id, external_id"},
	{"users", "created_at, id, external_id"},
	{"traits", "created_at, updated_at, id, name"},
	{"resource_classes", "created_at, updated_at, id, name"},
	{"resource_provider_traits", "created_at, trait_id, resource_provider_id"},
	{"placement_aggregates", "created_at, id, uuid"},
	{"resource_provider_aggregates", "created_at, resource_provider_id, aggregate_id"},
}

// refusePart refuses a database that `berth db copy` is not done with.
func (s *Store) refusePart(ctx context.Context, ses *session) error {
	begun, err := has(&reader{ses: ses, ctx: ctx}, "berth_copy")
	if begun {
		return errPart
	}
	return err
}

// prepareAll refuses a database that is half of one, and makes the tables.
func (s *Store) prepareAll(ctx context.Context, ses *session) error {
	if err := s.refusePart(ctx, ses); err != nil {
		return err
	}
	return s.prepareSchema(ctx, ses)
}

// look refuses a database that this package cannot or may not work on.
func (s *Store) look(ctx context.Context, ses *session) error {
	_, err := s.stepsFor(ctx, ses)
	return err
}

// prepareSchema brings the database to a revision that this package works on.
// All steps are one transaction.
func (s *Store) prepareSchema(ctx context.Context, ses *session) error {
	if err := ses.do(s.d.begin); err != nil {
		return s.d.translate("preparing the schema", err)
	}
	err := s.upgrade(ctx, ses)
	if err == nil {
		err = s.d.translate("preparing the schema", ses.do("COMMIT"))
	}
	if err != nil {
		_ = ses.do("ROLLBACK")
	}
	return err
}

func (s *Store) upgrade(ctx context.Context, ses *session) error {
	steps, err := s.stepsFor(ctx, ses)
	if err != nil || len(steps) == 0 {
		return err
	}
	w := &writer{reader: reader{ses: ses, ctx: ctx}}
	from, err := s.revision(&w.reader)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := s.step(w, step); err != nil {
			return err
		}
	}
	if err := noteRevision(w, from); err != nil {
		return fmt.Errorf("%w: noting the revision: %w", errCreating, err)
	}
	s.opts.Logger.Info("database schema is ready", "from", from, "to", migrations.Target)
	return nil
}

// noteRevision tells upstream's tool where the database is now.
func noteRevision(w *writer, from string) error {
	if from != "" {
		return w.change(`UPDATE alembic_version SET version_num = ? WHERE version_num = ?`, migrations.Target, from)
	}
	if _, err := w.exec(migrations.VersionTable); err != nil {
		return err
	}
	_, err := w.exec(`INSERT INTO alembic_version (version_num) VALUES (?)`, migrations.Target)
	return err
}

// step applies one revision, unless rows forbid it.
func (s *Store) step(w *writer, step migrations.Revision) error {
	if err := s.blocked(&w.reader, step); err != nil {
		return err
	}
	script, err := migrations.Script(s.d.name, step.ID)
	if err != nil {
		return err
	}
	for _, statement := range script {
		if _, err := w.exec(statement); err != nil {
			return fmt.Errorf("%w: upgrading to revision %s: %w", errCreating, step.ID, err)
		}
	}
	return nil
}

func (s *Store) blocked(r *reader, step migrations.Revision) error {
	if step.Blockers == "" {
		return nil
	}
	n, err := first(r, func(one *row) int64 { return one.int(0) }, step.Blockers)
	if err == nil && n > 0 {
		return fmt.Errorf("it cannot be upgraded to revision %s: it has %d %s", step.ID, n, step.Remedy)
	}
	return err
}

// stepsFor returns the steps that a database needs, and refuses those that this
// package cannot or may not work on. It only reads.
func (s *Store) stepsFor(ctx context.Context, ses *session) ([]migrations.Revision, error) {
	r := &reader{ses: ses, ctx: ctx}
	at, err := s.revision(r)
	if err != nil {
		return nil, err
	}
	steps := migrations.After(at)
	if len(steps) == 0 {
		return nil, s.checkTables(r)
	}
	if at == "" {
		return steps, nil
	}
	if !s.opts.Sync {
		return nil, fmt.Errorf("its schema is at revision %s, older than %s; allow the upgrade (sync_on_startup), or run `berth db sync` (or upstream's `placement-manage db sync`)",
			at, migrations.Target)
	}
	// Only what is there already can be checked before the first step; that
	// is all there is, since the steps that check come before those that
	// change.
	for _, step := range steps {
		if err := s.blocked(r, step); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// revision returns where upstream's tool says the database is, empty when the
// database is.
func (s *Store) revision(r *reader) (string, error) {
	versioned, err := r.exists(s.d.hasTable, "alembic_version")
	if err != nil {
		return "", err
	}
	if !versioned {
		return s.unversioned(r)
	}
	ids, err := list(r, func(one *row) string { return one.text(0) }, `SELECT version_num FROM alembic_version`)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 && s.d.rerun {
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

// errForeign says that a database has tables of something else, or such that
// are being made right now.
var errForeign = errors.New("it is not a Placement database")

// unversioned returns the revision of a database without alembic_version: none
// when it is empty, or its tables are and an interrupted beginning can be gone
// on with; and the one this package works on when it has the tables for it.
// Upstream's service runs on such a database too: it looks at the revision only
// when it is to upgrade. One that belongs to something else is refused.
func (s *Store) unversioned(r *reader) (string, error) {
	names, err := list(r, func(one *row) string { return one.text(0) }, s.d.tables)
	if err != nil || len(names) == 0 {
		return "", err
	}
	if s.d.rerun {
		begun, err := s.begun(r, names)
		if begun || err != nil {
			return "", err
		}
	}
	if s.checkTables(r) == nil {
		return migrations.Target, nil
	}
	return "", fmt.Errorf("%w: it has a table %s but no alembic_version", errForeign, names[0])
}

// begun reports whether a database has nothing but some of upstream's tables,
// and those empty.
func (s *Store) begun(r *reader, names []string) (bool, error) {
	for _, name := range names {
		if !slices.ContainsFunc(migrations.Tables, func(t migrations.Table) bool { return t.Name == name }) {
			return false, nil
		}
		// The name is one of ours.
		if filled, err := r.exists(`SELECT 1 FROM ` + name + ` LIMIT 1`); filled || err != nil {
			return false, err
		}
	}
	return true, nil
}

// checkTables refuses a database that lacks what its revision promises.
func (s *Store) checkTables(r *reader) error {
	for _, shape := range tableShapes {
		if _, err := r.exists(`SELECT ` + shape.columns + ` FROM ` + shape.table + ` WHERE 1 = 0`); err != nil {
			return fmt.Errorf("its table %s is not as the revision says: %w", shape.table, err)
		}
	}
	return nil
}
