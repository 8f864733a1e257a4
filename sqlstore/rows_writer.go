package sqlstore

import (
	"fmt"

	"github.com/berthcloud/berth/rows"
)

// A rowReader is a reader of a service's rows.
type rowReader struct {
	tables []rowTable
	r      *reader
}

func (n rowReader) Read(into any, where ...rows.Match) error {
	t, err := n.table(into, rowTable.hasRows)
	if err != nil {
		return err
	}
	return t.read(n.r, into, where)
}

// A rowWriter is a writer of a service's rows.
type rowWriter struct {
	rowReader
	w *writer
}

func (n rowWriter) Insert(row any) error {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return err
	}
	return t.insert(n.w, row)
}

func (n rowWriter) Replace(row any) error {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return err
	}
	return t.replace(n.w, row)
}

func (n rowWriter) Remove(row any, where ...rows.Match) (int, error) {
	t, err := n.table(row, rowTable.hasRow)
	if err != nil {
		return 0, err
	}
	return t.remove(n.w, where)
}

// table returns the table that has what v points to.
func (n rowReader) table(v any, has func(rowTable, any) bool) (rowTable, error) {
	for _, t := range n.tables {
		if has(t, v) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("sqlstore: a %T does not point to a row, or to rows, of the service's", v)
}

// try runs a statement and returns how many rows it changed. When it meets a unique
// value that is ErrTaken, and the transaction goes on; guard says that this takes a
// savepoint. A reference without its row is a mistake of the caller's, which ends the
// transaction.
func (w *writer) try(guard bool, query string, args []any) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	end := w.trace.begin(w.ctx, query)
	n, err := w.guarded(guard, query, args)
	end(err)
	switch d := w.ses.d; {
	case err == nil:
		return n, nil
	case d.duplicate(err):
		return 0, w.taken(guard)
	case d.orphan(err):
		w.broken = fmt.Errorf("sqlstore: a row refers to one that is not there, or is referred to: %v", err)
		return 0, w.broken
	}
	return 0, w.fail(err)
}

func (w *writer) guarded(guard bool, query string, args []any) (int, error) {
	if guard {
		if err := w.ses.later("SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	result, err := w.ses.exec(query, args...)
	if err != nil {
		return 0, err
	}
	if guard {
		if err := w.ses.later("RELEASE SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// taken is the end of a statement that met a unique value.
func (w *writer) taken(guard bool) error {
	if guard {
		if err := w.ses.do("ROLLBACK TO SAVEPOINT one"); err != nil {
			return w.fail(err)
		}
		if err := w.ses.later("RELEASE SAVEPOINT one"); err != nil {
			return w.fail(err)
		}
	}
	return rows.ErrTaken
}
