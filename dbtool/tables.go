// Package dbtool works on placement's database for operators: it checks, copies, dumps, restores, upgrades and
// cleans it (berth db), beside the services or while none runs. It reads and writes rows as they are, and knows
// no rules.
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

// Access says what is going to be done with Tables.
type Access = engine.Access

// The values of Access.
const (
	Look   = engine.Look
	Hold   = engine.Hold
	Change = engine.Change
	Make   = engine.Make
)

// Tables are placement's database as rows and columns: what operators' tools work on,
// beside the services or while none runs. Opening them changes nothing, and any
// revision is good enough to look at. They are for one goroutine; Close them.
type Tables struct {
	*engine.Tool
	schema sqlstore.Schema
}

// OpenTables opens a database for tools. Of the options those count that say
// where it is, and Logger. A file that another berth has is ErrInUse, unless the
// access is Look; one that is not there is fs.ErrNotExist, unless it is Make.
func OpenTables(ctx context.Context, opts engine.Options, access Access) (*Tables, error) {
	opts.Sync, opts.Empty = true, false
	kind := sqlstore.NewSchema(opts)
	t, err := engine.OpenTool(ctx, opts, access, kind.Hooks())
	if err != nil {
		return nil, err
	}
	return &Tables{t, kind}, nil
}

// makeTables makes upstream's tables, and the file that they are in. A part of a copy is
// good enough.
func (t *Tables) makeTables(ctx context.Context) error { return t.Use(ctx, t.schema.Prepare) }

// complete refuses a database whose tables are not those of the newest revisions,
// which alone can be read whole, and one that is a part of a copy.
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

// errNothing says that a database has no tables.
var errNothing = errors.New("it is empty: make the tables with `berth db sync`")

// filled returns the first of upstream's tables that has rows, empty when none
// has. The tables need not be there.
func (t *Tables) filled(r *sqlconn.Tx) (string, error) {
	for _, table := range migrations.Tables {
		there, err := r.HasTable(table.Name)
		if err == nil && there {
			there, err = r.Exists(`SELECT 1 FROM ` + table.Name + ` LIMIT 1`)
		}
		if err != nil || there {
			return table.Name, err
		}
	}
	return "", nil
}
