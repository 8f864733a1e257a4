// Package dbtool has the operators' tools for placement's database: the commands of "berth db"
// without the flags. It checks, copies, dumps, restores, upgrades and migrates a database of
// Berth's or of upstream's service, while services run or while none does. It reads and writes rows
// as they are, and does not know the rules of placement.
//
// [OpenTables] opens a database with the access that a tool needs; the methods of [Tables] are the
// tools, a file for each. Tools that move rows share rows.go, which reads tables in pages of their
// primary key and writes rows in a form that does not depend on the kind of database; load.go
// inserts them.
//
//	check.go, check_rows.go   upstream's upgrade checks, and Berth's own
//	sync.go, version.go       the revision of the schema
//	migrate.go                upstream's online data migrations
//	dump.go, dump_read.go     all rows as lines of JSON, and the reader of them
//	restore.go, copy.go       an empty database is filled from a dump or from another database
//	uninstall.go              Berth's own tables are dropped
package dbtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Access is what a tool does to a database: [Look] reads while services run, [Hold] reads a
// database that no service may use meanwhile, [Change] writes to existing tables, [Make] may also
// create tables and the file. A SQLite file is locked for all but Look.
type Access = engine.Access

// The values of Access.
const (
	Look   = engine.Look
	Hold   = engine.ReadAlone
	Change = engine.Change
	Make   = engine.Make
)

// Tables are an open database as rows and columns. Opening changes nothing, and accepts every
// revision of the schema; methods that need the newest one return an error at others. They are for
// one goroutine and have to be closed.
type Tables struct {
	*engine.Tool
	schema sqlstore.Schema
}

// OpenTables opens a database for a tool. Of the options only those of the location and Logger have
// an effect. The error is [sqlstore.ErrInUse] for a file that another process has locked, unless
// the access is Look, and fs.ErrNotExist for a file that does not exist, unless it is Make.
func OpenTables(ctx context.Context, opts engine.Options, access Access) (*Tables, error) {
	opts.Sync, opts.Empty = true, false
	kind := sqlstore.NewSchema(opts)
	t, err := engine.OpenTool(ctx, opts, access, kind.Hooks())
	if err != nil {
		return nil, err
	}
	return &Tables{t, kind}, nil
}

// makeTables creates upstream's tables, and the file. Tables that an interrupted copy has created
// are accepted.
func (t *Tables) makeTables(ctx context.Context) error { return t.Use(ctx, t.schema.Prepare) }

// complete returns an error unless the database has all tables at the newest revision, since the
// columns are those of that revision, and is not the target of an interrupted copy.
func (t *Tables) complete(r *sqlconn.Tx) error {
	at, err := t.schema.Revision(r)
	if err != nil {
		return err
	}
	if at == "" {
		return errNothing
	}
	if steps := migrations.After(at); len(steps) > 0 {
		return fmt.Errorf("its schema is at revision %s: bring it to %s with `berth db sync` first", at, migrations.Target)
	}
	if begun, err := r.HasTable("berth_copy"); err != nil || begun {
		return cmp.Or(err, sqlstore.ErrPart)
	}
	return t.schema.CheckTables(r)
}

// errNothing is the error about a database without tables.
var errNothing = errors.New("it is empty: make the tables with `berth db sync`")

// filled returns the first of upstream's tables that has rows, "" when there is none. Missing
// tables count as empty.
func (t *Tables) filled(r *sqlconn.Tx) (string, error) {
	for _, table := range migrations.Tables {
		existing, err := r.HasTable(table.Name)
		if err == nil && existing {
			existing, err = r.Exists(`SELECT 1 FROM ` + table.Name + ` LIMIT 1`)
		}
		if err != nil || existing {
			return table.Name, err
		}
	}
	return "", nil
}
