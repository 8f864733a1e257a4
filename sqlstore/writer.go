package sqlstore

import (
	"database/sql"

	"github.com/berthcloud/berth/placement"
)

// A writer is a reader that may change rows.
type writer struct {
	reader
	stamp   string // the time of every row written
	changed placement.Changes
	memory  *ownerMemory
	named   ownerIDs // that Claimants found

	// wants are the providers that this Update asked to hold; holding says that
	// others may be waiting for its transaction (holds.go).
	wants   wants
	holding bool
}

var _ placement.Writer = (*writer)(nil)

// Changed notes what the change log is to say of this Update.
func (w *writer) Changed(c placement.Changes) { w.changed.Add(c) }

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(query string, args ...any) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	w.holding = true
	end := w.trace.begin(w.ctx, query)
	result, err := w.ses.exec(query, args...)
	end(err)
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

// insert adds a row to a table with an id and returns it, or that a unique
// value in it is taken, which leaves the transaction usable on every database.
func (w *writer) insert(query string, args ...any) (id int64, clash bool, err error) {
	if err := w.usable(); err != nil {
		return 0, false, err
	}
	w.holding = true
	query += w.ses.d.onConflict
	end := w.trace.begin(w.ctx, query)
	if w.ses.d.returning {
		id, clash, err = w.insertReturning(query, args...)
	} else {
		id, err = w.insertCounting(query, args...)
	}
	end(err)
	if err != nil && w.ses.d.duplicate(err) {
		return 0, true, nil
	}
	return id, clash, w.fail(err)
}

// insertReturning gets the id as a row, which a clash does not have.
func (w *writer) insertReturning(query string, args ...any) (id int64, clash bool, err error) {
	clash = true
	err = w.ses.query(func(rows *sql.Rows, _ *watch) error {
		for rows.Next() {
			clash = false
			if err := rows.Scan(&id); err != nil {
				return err
			}
		}
		return rows.Err()
	}, query+`
RETURNING id`, args...)
	return id, clash, err
}

// insertCounting gets the id from the driver.
func (w *writer) insertCounting(query string, args ...any) (int64, error) {
	result, err := w.ses.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
