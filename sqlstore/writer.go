package sqlstore

import (
	"database/sql"

	"github.com/berthcloud/berth/placement"
)

// A writer is a reader that may change rows.
type writer struct {
	reader
	stamp string // the time of every row written
}

var _ placement.Writer = (*writer)(nil)

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(query string, args ...any) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	result, err := w.run(query, args...)
	if err != nil {
		return 0, w.fail(err)
	}
	n, err := result.RowsAffected()
	return int(n), w.fail(err)
}

// change is exec for a statement that must find its row.
func (w *writer) change(query string, args ...any) error {
	n, err := w.exec(query, args...)
	if err == nil && n == 0 {
		return placement.ErrNoRow
	}
	return err
}

// insert adds a row and returns its id, or that a unique value in it is taken,
// which leaves the transaction usable on every database.
func (w *writer) insert(query string, args ...any) (id int64, clash bool, err error) {
	if err := w.usable(); err != nil {
		return 0, false, err
	}
	result, err := w.run(query+w.ses.d.onConflict, args...)
	if err != nil && w.ses.d.duplicate(err) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, w.fail(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, err == nil, w.fail(err)
	}
	id, err = w.ses.d.insertedID(w.ses, result)
	return id, false, w.fail(err)
}

func (w *writer) run(query string, args ...any) (sql.Result, error) {
	st, err := w.ses.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.Exec(args...)
}
