package rowtable

import (
	"fmt"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A rowReader is a reader of a service's rows. It implements rows.Reader, for one transaction and
// one goroutine.
type rowReader struct {
	tables []rowTable
	tx     *sqlconn.Tx
}

func (n rowReader) Read(into any, where ...rows.Match) error {
	t, err := n.table(into, rowTable.hasRows)
	if err != nil {
		return err
	}
	return t.read(n.tx, into, where)
}

func (n rowReader) Count(row any, where ...rows.Match) (int64, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return 0, err
	}
	return t.count(n.tx, where)
}

func (n rowReader) CountEach(row any, field rows.Field, where ...rows.Match) (map[string]int64, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return nil, err
	}
	return t.countEach(n.tx, field, where)
}

func (n rowReader) Sum(row any, amount rows.Field, where ...rows.Match) (int64, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return 0, err
	}
	return t.sum(n.tx, amount, where)
}

func (n rowReader) Older(row any, at rows.Field, before time.Time, most int) ([]string, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return nil, err
	}
	return t.older(n.tx, at, before, most)
}

// A rowWriter is a writer of a service's rows. It implements rows.Writer, and reads what it wrote.
type rowWriter struct {
	rowReader
	notes rows.Notes
	wrote bool // so that the transaction has an entry in the change log, with the notes
}

func (n *rowWriter) Insert(row any) error {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return err
	}
	n.wrote = true
	return t.insert(n.tx, row)
}

func (n *rowWriter) Replace(row any) error {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return err
	}
	n.wrote = true
	return t.replace(n.tx, row)
}

func (n *rowWriter) Remove(row any, where ...rows.Match) (int, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return 0, err
	}
	n.wrote = true
	return t.remove(n.tx, where)
}

func (n *rowWriter) Note(notes rows.Notes) { n.notes.Merge(notes) }

// table returns the table that has what v points to.
func (n rowReader) table(v any, has func(rowTable, any) bool) (rowTable, error) {
	for _, t := range n.tables {
		if has(t, v) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("sqlstore: a %T does not point to a row, or to rows, of the service's", v)
}

// try runs a statement and returns how many rows it changed. When it meets a unique value that
// is ErrTaken, and the transaction goes on.
func try(t *sqlconn.Tx, guard bool, query string, args []any) (int, error) {
	n, clash, err := t.Try(guard, query, args)
	if clash {
		return 0, rows.ErrTaken
	}
	return n, err
}
