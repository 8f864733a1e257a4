package rowtable

import (
	"context"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A rowStore keeps the rows of a service in a database of their own. It implements
// rows.Store.
type rowStore struct {
	*engine.Engine[rows.Notes]
	rowKind
}

// A rowKind is what differs from service to service.
type rowKind struct {
	service string // "network"
	tables  []rowTable
	version int // of the tables, which is the one row of its table
	// script returns the statements that lead to a version, as migrations.RowsScript.
	script func(service, database string, version int, collation string) ([]string, error)
}

// versions is the table that has the version. A database with it is the service's.
func (k rowKind) versions() string { return "berth_" + k.service }

// known is how operators know the database.
func (k rowKind) known() sqlconn.Naming {
	return sqlconn.Naming{Section: "database", Database: k.versions(), Allow: "[database] sync_on_startup"}
}

// versioned are the tables with the collation that those of MySQL have.
func (k rowKind) versioned(collation string) engine.VersionedTables {
	return engine.VersionedTables{
		Name: k.service, Table: k.versions(), First: migrations.RowsFirst[k.service], Version: k.version,
		Script: func(database string, version int) ([]string, error) {
			return k.script(k.service, database, version, collation)
		},
	}
}

// lockStatement takes the write lock, a row, at the beginning of every transaction that writes to a
// server. Only one transaction that has changed the row runs at a time: on one server others wait
// for the row; of transactions on two nodes of a cluster the second is rolled back. Programs of
// different versions must lock the same row, so its name stays.
const lockStatement = "UPDATE berth_turn SET turn = turn + 1"

// newRowStore returns a store that is not open. Without a server there is no LockStatement: a file
// has one writer at a time.
func newRowStore(kind rowKind, opts engine.Options) *rowStore {
	if opts.Server != nil {
		opts.Server = opts.Server.Named("berth-" + kind.service)
	}
	s := &rowStore{rowKind: kind}
	cur := engine.Service[rows.Notes]{
		Schema: sqlconn.Schema{Look: s.look, Prepare: s.prepare, Known: kind.known()},
		Encode: encodeNotes, Decode: decodeNotes, WritesHaveEntries: true,
	}
	if opts.Server != nil {
		cur.LockStatement = lockStatement
	}
	s.Engine = engine.New(opts, cur)
	return s
}

// View runs fn against one consistent state of the rows. A panic in fn goes through
// to the caller.
func (s *rowStore) View(ctx context.Context, fn func(rows.Reader) error) error {
	return s.Engine.View(ctx, func(t *sqlconn.Tx) error {
		if err := s.refuseDemoted(t); err != nil {
			return err
		}
		return fn(rowReader{s.tables, t})
	})
}

// refuseDemoted keeps a View from a server that answers with what was true when it
// was the primary. The engine makes connections again, to another one, before the next try.
func (s *rowStore) refuseDemoted(t *sqlconn.Tx) error {
	demotedIs := s.Dialect().Demoted
	if demotedIs == "" {
		return nil
	}
	demoted, err := sqlconn.First(t, sqlconn.Integer, "SELECT "+demotedIs)
	if err == nil && demoted != 0 {
		err = t.Fail(sqlconn.ErrDemoted)
	}
	return err
}

// Update runs fn in a transaction that runs by itself, possibly more than
// once. A panic in fn is returned as an error. When ctx ends while it waits, it
// leaves without having run; once it runs, its outcome is waited for. On a server it
// also leaves when it does not run within Options.RetryTime.
func (s *rowStore) Update(ctx context.Context, now time.Time, fn func(rows.Writer) error) error {
	return s.Engine.Update(ctx, now, func(t *engine.Tx[rows.Notes]) error {
		w := &rowWriter{rowReader: rowReader{s.tables, t.Tx}}
		err := fn(w)
		if w.wrote {
			t.Note(w.notes)
		}
		return err
	})
}
