package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// errOver is what a transaction answers after its function returned.
var errOver = errors.New("sqlstore: used after its transaction")

// errNoRow says that a statement did not find the row that it is about.
var errNoRow = errors.New("sqlstore: no such row")

// A tx is the transaction that its session is in, for the function of a View or an Update.
// After an error of the database it refuses everything. It is for one goroutine.
type tx struct {
	ses    *session
	ctx    context.Context // of the View or Update; fits in no parameter list
	trace  Trace
	over   bool
	broken error // what is answered from now on
	cause  error // the driver's error behind it

	stamp string // the time of every row written, as text
	// holding says that others may be waiting for the transaction.
	holding bool
	// entry, when not nil, is what the change log is to say of the Update, and wants what
	// it is to begin with should it run again. The engine knows neither.
	entry, wants any
	// onCommit is called when what the Update wrote is durable.
	onCommit []func()
	// heard, when not nil, is told of rows as they come.
	heard func(rows int)
	// second begins another transaction that sees what this one sees. Nil in an Update.
	second func(*tx) (other *tx, end func(), ok bool)
}

// usable returns why nothing can be asked any more, or nil.
func (t *tx) usable() error {
	if t.over {
		return errOver
	}
	if t.broken == nil && t.ctx.Err() != nil {
		t.broken = t.ctx.Err()
	}
	return t.broken
}

// fail notes a driver's error and returns what may leave the package.
func (t *tx) fail(err error) error {
	if err == nil {
		return nil
	}
	t.cause, t.broken = err, t.ses.d.translate("asking the database", err)
	return t.broken
}

// each calls fn with each row of the answer.
func (t *tx) each(fn func(*row), query string, args ...any) error {
	if err := t.usable(); err != nil {
		return err
	}
	var left error // the caller's context ended
	end := t.trace.begin(t.ctx, query)
	err := t.ses.query(func(rows *sql.Rows, w *watch) (err error) {
		left, err = t.walk(rows, w, fn)
		return err
	}, query, args...)
	end(err)
	if err == nil && left != nil {
		return left
	}
	return t.fail(err)
}

// rowsBetween is how many rows are read between two looks at the clock.
const rowsBetween = 1024

// walk reads rows to their end. It looks at the context now and then, since an
// answer may be large, and returns apart from the driver's errors that it ended.
func (t *tx) walk(rows *sql.Rows, w *watch, fn func(*row)) (left, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	one := newRow(len(columns))
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(one.places...); err != nil {
			return nil, err
		}
		if fn(one); one.err != nil {
			return nil, one.err
		}
		if n%rowsBetween == rowsBetween-1 {
			w.heard()
			t.tell(rowsBetween)
			if left := t.usable(); left != nil {
				return left, nil
			}
		}
	}
	t.tell(n % rowsBetween)
	return nil, rows.Err()
}

func (t *tx) tell(rows int) {
	if t.heard != nil {
		t.heard(rows)
	}
}

// ask asks several questions at once.
func (t *tx) ask(questions []question) error {
	if err := t.usable(); err != nil {
		return err
	}
	end := t.tracing(len(questions), func(i int) string { return questions[i].query })
	err := t.ses.ask(questions)
	end(err)
	return t.fail(err)
}

// tracing begins to trace so many statements that run together.
func (t *tx) tracing(n int, query func(int) string) (end func(error)) {
	if t.trace == nil {
		return func(error) {}
	}
	ends := make([]func(error), n)
	for i := range ends {
		ends[i] = t.trace(t.ctx, query(i))
	}
	return func(err error) {
		for _, end := range slices.Backward(ends) {
			end(err)
		}
	}
}

// list collects the rows of an answer.
func list[T any](t *tx, read func(*row) T, query string, args ...any) ([]T, error) {
	var all []T
	err := t.each(func(one *row) { all = append(all, read(one)) }, query, args...)
	return all, err
}

// firstRow returns the first row of an answer, errNoRow when there is none.
func firstRow[T any](t *tx, read func(*row) T, query string, args ...any) (T, error) {
	all, err := list(t, read, query, args...)
	if err == nil && len(all) == 0 {
		err = errNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// exists reports whether an answer has a row.
func (t *tx) exists(query string, args ...any) (bool, error) {
	found := false
	err := t.each(func(*row) { found = true }, query, args...)
	return found, err
}

// hasTable reports whether there is a table of that name.
func (t *tx) hasTable(name string) (bool, error) { return t.exists(t.ses.d.hasTable, name) }

// integer reads the first column of a row.
func integer(one *row) int64 { return one.int(0) }

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	t.holding = true
	end := t.trace.begin(t.ctx, query)
	result, err := t.ses.exec(query, args...)
	end(err)
	if err != nil {
		return 0, t.fail(err)
	}
	n, err := result.RowsAffected()
	return int(n), t.fail(err)
}

// change is exec for a statement that must find its row.
func (t *tx) change(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n == 0 {
		return errNoRow
	}
	return err
}

// insert adds a row to a table with an id and returns it, or that a unique
// value in it is taken, which leaves the transaction usable on every database.
func (t *tx) insert(query string, args ...any) (id int64, clash bool, err error) {
	if err := t.usable(); err != nil {
		return 0, false, err
	}
	t.holding = true
	query += t.ses.d.onConflict
	end := t.trace.begin(t.ctx, query)
	if t.ses.d.returning {
		id, clash, err = t.insertReturning(query, args...)
	} else {
		id, err = t.insertCounting(query, args...)
	}
	end(err)
	if err != nil && t.ses.d.duplicate(err) {
		return 0, true, nil
	}
	return id, clash, t.fail(err)
}

// insertReturning gets the id as a row, which a clash does not have.
func (t *tx) insertReturning(query string, args ...any) (id int64, clash bool, err error) {
	clash = true
	err = t.ses.query(func(rows *sql.Rows, _ *watch) error {
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
func (t *tx) insertCounting(query string, args ...any) (int64, error) {
	result, err := t.ses.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// try runs a statement and returns how many rows it changed. When it meets a unique
// value that is ErrTaken, and the transaction goes on; guard says that this takes a
// savepoint. A reference without its row is a mistake of the caller's, which ends the
// transaction.
func (t *tx) try(guard bool, query string, args []any) (n int, clash bool, err error) {
	if err := t.usable(); err != nil {
		return 0, false, err
	}
	end := t.trace.begin(t.ctx, query)
	n, err = t.guarded(guard, query, args)
	end(err)
	switch d := t.ses.d; {
	case err == nil:
		return n, false, nil
	case d.duplicate(err):
		err = t.taken(guard)
		return 0, err == nil, err
	case d.orphan(err):
		t.broken = fmt.Errorf("sqlstore: a row refers to one that is not there, or is referred to: %v", err)
		return 0, false, t.broken
	}
	return 0, false, t.fail(err)
}

func (t *tx) guarded(guard bool, query string, args []any) (int, error) {
	if guard {
		if err := t.ses.later("SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	result, err := t.ses.exec(query, args...)
	if err != nil {
		return 0, err
	}
	if guard {
		if err := t.ses.later("RELEASE SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// taken goes on behind a statement that met a unique value.
func (t *tx) taken(guard bool) error {
	if guard {
		if err := t.ses.do("ROLLBACK TO SAVEPOINT one"); err != nil {
			return t.fail(err)
		}
		if err := t.ses.later("RELEASE SAVEPOINT one"); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// twin begins another transaction that sees what this one sees, to be ended before this one
// is. It returns false when there cannot be one now: then one connection has to do.
func (t *tx) twin() (other *tx, end func(), ok bool) {
	if t.second == nil {
		return nil, nil, false
	}
	return t.second(t)
}

// inTurn runs two functions one after the other.
func (t *tx) inTurn(one, other func(*tx) error) error {
	if err := one(t); err != nil {
		return err
	}
	return other(t)
}

// beside runs one function on the transaction and the other on a twin at the same time,
// or both in turn when there is none. Each must keep to the transaction it is given.
func (t *tx) beside(one, other func(*tx) error) error {
	twin, end, ok := t.twin()
	if !ok {
		return t.inTurn(one, other)
	}
	defer end()
	type outcome struct {
		err      error
		panicked any
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			ended <- o
		}()
		o.err = other(twin)
	}()
	err := one(t)
	o := <-ended
	if o.panicked != nil {
		panic(o.panicked)
	}
	if err == nil && o.err != nil {
		t.cause, t.broken, err = twin.cause, twin.broken, o.err
	}
	return err
}
