package rowtable

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// Tables are the names of the tables with their columns.
func (s *rowStore) Tables() map[string][]string {
	all := make(map[string][]string)
	for _, t := range s.tables {
		if isProjection(t) {
			continue // the table has more
		}
		name, columns := t.(interface{ described() (string, []string) }).described()
		all[name] = columns
	}
	return all
}

func isProjection(t rowTable) bool {
	_, cur := t.(interface{ refusal() error })
	return cur
}

func (t *table[T]) described() (name string, columns []string) {
	for _, c := range t.columns {
		columns = append(columns, c.name)
	}
	return t.name, columns
}

// Searchable are the columns that rows are looked for by, as table.column.
func (s *rowStore) Searchable() (all []string) {
	for _, t := range s.tables {
		all = append(all, t.(interface{ searchable() []string }).searchable()...)
	}
	return all
}

func (t *table[T]) searchable() (all []string) {
	for _, c := range t.columns {
		if c.by != "" {
			all = append(all, t.name+"."+c.name)
		}
	}
	return all
}

// Empty removes all rows.
func (s *rowStore) Empty(ctx context.Context) error {
	return s.Engine.Update(ctx, time.Now(), func(w *engine.Tx[rows.Notes]) error {
		for _, t := range slices.Backward(s.tables) {
			if isProjection(t) {
				continue
			}
			name, _ := t.(interface{ described() (string, []string) }).described()
			if _, err := w.Exec("DELETE FROM " + name); err != nil {
				return fmt.Errorf("emptying %s: %w", name, err)
			}
		}
		w.Note(rows.Notes{All: true})
		return nil
	})
}

// OnWriter lets a test use the connection that writes while no Update does.
func (s *rowStore) OnWriter(fn func(*sql.Conn) error) error {
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	return fn(ses.Conn())
}

// OpenLaterNetwork opens a database of the network service as a later program does, which has these
// scripts for the versions after migrations.NetworkVersion.
func OpenLaterNetwork(ctx context.Context, opts engine.Options, later ...[]string) (*NetworkStore, error) {
	script := func(service, database string, version int, collation string) ([]string, error) {
		if n := version - migrations.NetworkVersion; n > 0 {
			return later[n-1], nil
		}
		return migrations.RowsScript(service, database, version, collation)
	}
	s := &NetworkStore{
		newRowStore(rowKind{"network", networkTables, migrations.NetworkVersion + len(later), script}, opts),
	}
	return s, s.Open(ctx)
}
