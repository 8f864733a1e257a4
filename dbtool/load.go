package dbtool

import (
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// loadRows is how many rows one INSERT has: few enough for SQLite's number of
// values and MySQL's size of a packet.
const loadRows = 500

// load inserts rows of a table as they are, but for references to rows of the
// same table that come later: those stay NULL until mend.
func load(w *sqlconn.Tx, table migrations.Table, rows []tuple) error {
	head := `
INSERT INTO ` + table.Name + ` (` + strings.Join(names(table), ", ") + `)
VALUES `
	for part := range slices.Chunk(rows, loadRows) {
		args := make([]any, 0, len(part)*len(table.Columns))
		for _, row := range part {
			args = append(args, bound(w.Session.Dialect, held(table, row))...)
		}
		if _, err := w.Exec(head+sqlconn.Tuples(len(part), len(table.Columns)), args...); err != nil {
			return err
		}
	}
	return nil
}

// held returns a row without its references to later rows, and the row itself
// when it has none.
func held(table migrations.Table, row tuple) tuple {
	if !early(table, row) {
		return row
	}
	row = slices.Clone(row)
	for _, column := range table.Self {
		row[position(table, column)] = nil
	}
	return row
}

// early reports whether a row refers to one of its table that comes later.
func early(table migrations.Table, row tuple) bool {
	for _, column := range table.Self {
		to, ok := row[position(table, column)].(int64)
		if ok && to > keyOf(table, row)[0] {
			return true
		}
	}
	return false
}

// mend gives rows that were loaded too early their references.
func mend(w *sqlconn.Tx, table migrations.Table, rows []tuple) error {
	for _, row := range rows {
		var args []any
		for _, column := range table.Self {
			args = append(args, row[position(table, column)])
		}
		if err := w.Change(`
UPDATE `+table.Name+`
SET `+strings.Join(table.Self, " = ?, ")+` = ?
WHERE `+table.Key[0]+` = ?`, append(args, keyOf(table, row)[0])...); err != nil {
			return err
		}
	}
	return nil
}

// bound returns the values of a row as they are sent. What MySQL does not keep of
// a time is cut off: MySQL would round it, and MariaDB not.
func bound(d *sqlconn.Dialect, row tuple) []any {
	args := make([]any, len(row))
	for i, v := range row {
		args[i] = v
		if t, ok := v.(time.Time); ok {
			args[i] = sqlconn.Stamp(t)
			if d == sqlconn.MySQLDialect {
				args[i] = t.UTC().Format(secondLayout)
			}
		}
	}
	return args
}

// sequences make ids go on behind the highest one loaded, which PostgreSQL has to
// be told.
func sequences(w *sqlconn.Tx) error {
	if w.Session.Dialect != sqlconn.PostgreSQLDialect {
		return nil
	}
	for _, table := range migrations.Tables {
		if !table.Serial {
			continue
		}
		_, err := w.Exists(`
SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('` + table.Name + `', 'id'), GREATEST(MAX(id), 1), MAX(id) IS NOT NULL)
FROM ` + table.Name)
		if err != nil {
			return err
		}
	}
	return nil
}
