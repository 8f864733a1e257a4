package dbtool

import (
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// loadRows is the number of rows in one INSERT, within SQLite's bound of values and MySQL's bound
// of a packet.
const loadRows = 500

// load inserts rows with their ids. References to rows of the same table with greater ids are
// inserted as NULL, since the referenced rows do not exist yet; setReferences sets them later.
func load(w *sqlconn.Tx, table migrations.Table, rows []tuple) error {
	head := `
INSERT INTO ` + table.Name + ` (` + strings.Join(names(table), ", ") + `)
VALUES `
	for part := range slices.Chunk(rows, loadRows) {
		args := make([]any, 0, len(part)*len(table.Columns))
		for _, row := range part {
			args = append(args, bound(w.Dialect(), withoutReferences(table, row))...)
		}
		if _, err := w.Exec(head+sqlconn.Tuples(len(part), len(table.Columns)), args...); err != nil {
			return err
		}
	}
	return nil
}

// withoutReferences returns a row without its references to rows with greater ids, and the row
// itself when it has none.
func withoutReferences(table migrations.Table, row tuple) tuple {
	if !refersAhead(table, row) {
		return row
	}
	row = slices.Clone(row)
	for _, column := range table.Self {
		row[position(table, column)] = nil
	}
	return row
}

// refersAhead reports whether a row refers to a row of its table with a greater id.
func refersAhead(table migrations.Table, row tuple) bool {
	for _, column := range table.Self {
		to, ok := row[position(table, column)].(int64)
		if ok && to > keyOf(table, row)[0] {
			return true
		}
	}
	return false
}

// setReferences sets the references that load has left out.
func setReferences(w *sqlconn.Tx, table migrations.Table, rows []tuple) error {
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

// bound returns the values of a row as parameters. Fractions of seconds are cut off for MySQL,
// which would round them, where MariaDB would not.
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

// sequences sets PostgreSQL's sequences, so that ids continue after the greatest one that was
// loaded. The other databases do that themselves.
func sequences(w *sqlconn.Tx) error {
	if w.Dialect() != sqlconn.PostgreSQLDialect {
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
