package dbtool

import (
	"context"
	"strings"

	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Standing is the position of a database in upstream's chain of revisions.
type Standing string

// The standings of databases.
const (
	StandsEmpty   Standing = "empty"   // it has no tables
	StandsOlder   Standing = "older"   // than the revision that Berth makes
	StandsCurrent Standing = "current" // at it
	StandsNewer   Standing = "newer"   // than it, and Berth knows it
	StandsUnknown Standing = "unknown" // Berth does not know it
)

// A Version describes a database.
type Version struct {
	Server   string // its name and version
	Revision string // what alembic_version says, empty when there is none
	Standing Standing
	Release  string // upstream's release with that revision, empty when unknown
	Own      int64  // the version of Berth's own tables, 0 when it has none
}

// releases are the releases of upstream that have added its revisions.
var releases = map[string]string{
	"b4ed3a175331":    "Stein (1.0)",
	"611cd6dffd7b":    "Train (2.0)",
	"b5c396305c25":    "Train (2.0)",
	migrations.Target: "Xena (6.0)",
	"a082b8bb98d0":    "later than Xena; duplicate indexes are removed",
}

// Release returns upstream's release that has added a revision, "" for an unknown one.
func Release(revision string) string { return releases[revision] }

// Version describes the database. The error is about tables of another program.
func (t *Tables) Version(ctx context.Context) (v Version, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) (err error) {
		if v.Server, err = serverVersion(r); err != nil {
			return err
		}
		if v.Revision, v.Standing, err = t.standing(r); err != nil {
			return err
		}
		v.Release = Release(v.Revision)
		v.Own, err = engine.OwnVersion(r)
		return err
	})
	return v, err
}

// serverVersion returns the name and version of the database system.
func serverVersion(r *sqlconn.Tx) (string, error) {
	text := func(one *sqlconn.Row) string { return one.Text(0) }
	switch r.Dialect() {
	case sqlconn.MySQLDialect:
		version, err := sqlconn.First(r, text, `SELECT VERSION()`)
		if strings.Contains(version, "MariaDB") {
			return "MariaDB " + version, err
		}
		return "MySQL " + version, err
	case sqlconn.PostgreSQLDialect:
		version, err := sqlconn.First(r, text, `SHOW server_version`)
		return "PostgreSQL " + version, err
	}
	version, err := sqlconn.First(r, text, `SELECT sqlite_version()`)
	return "SQLite " + version, err
}

// standing returns the revision, also an unknown one.
func (t *Tables) standing(r *sqlconn.Tx) (revision string, s Standing, err error) {
	versioned, err := r.HasTable("alembic_version")
	if err != nil {
		return "", "", err
	}
	if !versioned {
		at, err := t.schema.Unversioned(r)
		if err != nil || at == "" {
			return "", StandsEmpty, err
		}
		return "", StandsCurrent, nil
	}
	ids, err := sqlconn.List(r, func(one *sqlconn.Row) string { return one.Text(0) }, `
SELECT version_num
FROM alembic_version
ORDER BY version_num`)
	revision = strings.Join(ids, " and ")
	at, target := migrations.Index(revision), migrations.Index(migrations.Target)
	switch {
	case at < 0:
		return revision, StandsUnknown, err
	case at < target:
		return revision, StandsOlder, err
	case at > target:
		return revision, StandsNewer, err
	}
	return revision, StandsCurrent, err
}
