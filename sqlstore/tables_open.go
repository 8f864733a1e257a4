package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Tables are placement's database as rows and columns: what operators' tools work on,
// beside the services or while none runs. Opening them changes nothing, and any
// revision is good enough to look at. They are for one goroutine; Close them.
type Tables struct {
	*tool
	schema upstreamSchema
}

// OpenTables opens a database for tools. Of the options those count that say
// where it is, and Logger. A file that another berth has is ErrInUse, unless the
// access is Look; one that is not there is fs.ErrNotExist, unless it is Make.
func OpenTables(ctx context.Context, opts Options, access Access) (*Tables, error) {
	opts.Sync, opts.Empty = true, false
	kind := newUpstreamSchema(opts)
	t, err := openTool(ctx, opts, access, kind.hooks())
	if err != nil {
		return nil, err
	}
	return &Tables{t, kind}, nil
}

// makeTables makes upstream's tables, and the file that they are in. A part of a copy is
// good enough.
func (t *Tables) makeTables(ctx context.Context) error { return t.use(ctx, t.schema.prepare) }

// complete refuses a database whose tables are not those of the newest revisions,
// which alone can be read whole, and one that is a part of a copy.
func (t *Tables) complete(r *sqlconn.Tx) error {
	at, err := t.schema.revision(r)
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
		return cmp.Or(err, errPart)
	}
	return t.schema.checkTables(r)
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
