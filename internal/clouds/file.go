package clouds

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// Save writes the cloud into a new SQLite database in the file, for berth to open. It fails when
// the file exists. It takes much less time than restoring a dump, and leaves a corrupt file when
// the machine stops meanwhile.
func (w *Cloud) Save(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("saving a cloud: %w: %s", os.ErrExist, file)
	}
	err := w.fillFile(ctx, file)
	if err != nil {
		_ = os.Remove(file)
		return fmt.Errorf("saving a cloud in %s: %w", file, err)
	}
	return nil
}

// hasty are the settings of a connection that creates a file without other users.
var hasty = []string{
	"PRAGMA journal_mode = OFF",
	"PRAGMA synchronous = OFF",
	"PRAGMA locking_mode = EXCLUSIVE",
	"PRAGMA cache_size = -1000000", // kilobytes
}

func (w *Cloud) fillFile(ctx context.Context, file string) (err error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tables, indexes, err := schema()
	if err != nil {
		return err
	}
	if err := run(ctx, conn, append(append(hasty[:len(hasty):len(hasty)], "BEGIN"), tables...)...); err != nil {
		return err
	}
	for _, table := range migrations.Tables {
		if err := w.fill(ctx, conn, table); err != nil {
			return fmt.Errorf("filling %s: %w", table.Name, err)
		}
	}
	return run(ctx, conn, append(indexes, "COMMIT")...)
}

// schema returns the statements that create the tables and mark them as those of their revision,
// and those that create the indexes, which is faster after all rows are inserted.
func schema() (tables, indexes []string, err error) {
	text, err := migrations.Schema("sqlite")
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.Contains(statement, "CREATE INDEX") {
			indexes = append(indexes, statement)
		} else {
			tables = append(tables, statement)
		}
	}
	return append(tables, "INSERT INTO alembic_version VALUES ('"+migrations.Target+"')"), indexes, err
}

func run(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// insertRows is how many rows an INSERT has.
const insertRows = 100

// fill inserts the rows of a table.
func (w *Cloud) fill(ctx context.Context, conn *sql.Conn, table migrations.Table) error {
	many, err := conn.PrepareContext(ctx, insert(table, insertRows))
	if err != nil {
		return err
	}
	defer many.Close()
	args := make([]any, 0, insertRows*len(table.Columns))
	for row := range w.rows(table.Name) {
		for _, v := range row {
			args = append(args, stamped(v))
		}
		if len(args) < cap(args) {
			continue
		}
		if _, err := many.ExecContext(ctx, args...); err != nil {
			return err
		}
		args = args[:0]
	}
	if len(args) == 0 {
		return nil
	}
	_, err = conn.ExecContext(ctx, insert(table, len(args)/len(table.Columns)), args...)
	return err
}

func insert(table migrations.Table, rows int) string {
	names := columns(table)
	text := "(" + strings.Repeat("?,", len(names)-1) + "?)"
	return "INSERT INTO " + table.Name + " (" + strings.Join(names, ",") + ") VALUES " +
		strings.Repeat(text+",", rows-1) + text
}

// stamped converts a time to the store's format.
func stamped(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.Format("2006-01-02 15:04:05.000000")
	}
	return v
}
