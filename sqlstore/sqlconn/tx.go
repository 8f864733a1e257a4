package sqlconn

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// A Tx is the transaction that its session is in, for the function of a View or an Update.
// After an error of the database it refuses everything. It is for one goroutine.
type Tx struct {
	session *Session
	ctx     context.Context // of the View or Update; fits in no parameter list
	trace   Trace
	broken  error  // what is answered from now on
	cause   error  // the driver's error behind it
	written string // the time of every row written, as text

	over     bool // its function returned
	hasLocks bool
	onRows   func(rows int)
	// startParallel begins another transaction that sees what this one sees. Nil in an Update.
	startParallel func(*Tx) (other *Tx, end func(), ok bool)
}

// Tx returns a transaction for the statements that follow: of one that was begun on the session, or
// outside of any.
func (s *Session) Tx(ctx context.Context) *Tx { return &Tx{session: s, ctx: ctx} }

// Session is the one that the transaction is on.
func (t *Tx) Session() *Session { return t.session }

// Dialect is what the database disagrees on with others.
func (t *Tx) Dialect() *Dialect { return t.session.dialect }

// Context is that of the View or Update.
func (t *Tx) Context() context.Context { return t.ctx }

// Written is the time that rows are written with, empty in a View.
func (t *Tx) Written() string { return t.written }

// Broken is the error that every further statement returns, nil while there is none. It is not
// that of a context which ended since the last statement (Usable).
func (t *Tx) Broken() error { return t.broken }

// Cause is the driver's error after which the transaction is broken, nil when none is.
func (t *Tx) Cause() error { return t.cause }

// Traced has every statement traced, and returns the transaction.
func (t *Tx) Traced(trace Trace) *Tx {
	t.trace = trace
	return t
}

// Stamped has rows written with a time (Stamp), and returns the transaction.
func (t *Tx) Stamped(written string) *Tx {
	t.written = written
	return t
}

// WithParallel sets what begins a parallel reader, and returns the transaction.
func (t *Tx) WithParallel(start func(*Tx) (other *Tx, end func(), ok bool)) *Tx {
	t.startParallel = start
	return t
}

// End has every further statement fail: the function of the transaction has returned.
func (t *Tx) End() { t.over = true }

// NoteLocks says that the transaction has locks, which other transactions may wait for. Statements
// that change rows say so themselves.
func (t *Tx) NoteLocks() { t.hasLocks = true }

// HasLocks reports whether the transaction has locks.
func (t *Tx) HasLocks() bool { return t.hasLocks }

// CountRows has fn called with numbers of rows as they are read; nil for nothing.
func (t *Tx) CountRows(fn func(rows int)) { t.onRows = fn }

// Usable returns the error of every further statement, or nil: an earlier error of the database,
// the end of the context, or the end of the transaction.
func (t *Tx) Usable() error {
	if t.over {
		return errOver
	}
	if t.broken == nil && t.ctx.Err() != nil {
		t.broken = t.ctx.Err()
	}
	return t.broken
}

// Fail notes a driver's error, after which Usable fails, and returns it translated.
func (t *Tx) Fail(err error) error {
	if err == nil {
		return nil
	}
	t.cause, t.broken = err, t.session.dialect.Translate("querying the database", err)
	return t.broken
}

// MySQLCode returns the number of the error of MariaDB or MySQL that Usable goes on failing with, 0
// for none.
func (t *Tx) MySQLCode() uint16 { return mysqlCode(t.cause) }

// Each runs a statement and calls fn with each row of the answer. The end of the Tx's context is
// noticed every thousand rows.
func (t *Tx) Each(fn func(*Row), query string, args ...any) error {
	if err := t.Usable(); err != nil {
		return err
	}
	var ended error // the caller's context ended
	end := t.trace.begin(t.ctx, query)
	err := t.session.query(func(rows *sql.Rows, w *watch) (err error) {
		ended, err = t.walk(rows, w, fn)
		return err
	}, query, args...)
	end(err)
	if err == nil && ended != nil {
		return ended
	}
	return t.Fail(err)
}

// rowsBetween is how many rows are read between two looks at the clock.
const rowsBetween = 1024

// walk reads rows to their end. It looks at the context now and then, since an
// answer may be large, and returns apart from the driver's errors that it ended.
func (t *Tx) walk(rows *sql.Rows, w *watch, fn func(*Row)) (ended, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	one := newRow(columns, t.session.spare)
	t.session.spare = nil // fn may read another answer
	defer func() { t.session.spare = one }()
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(one.places...); err != nil {
			return nil, err
		}
		if fn(one); one.Err != nil {
			return nil, one.Err
		}
		if n%rowsBetween == rowsBetween-1 {
			w.heard()
			t.countRows(rowsBetween)
			if ended := t.Usable(); ended != nil {
				return ended, nil
			}
		}
	}
	t.countRows(n % rowsBetween)
	return nil, rows.Err()
}

// countRows reports the rows that were read since the last report.
func (t *Tx) countRows(rows int) {
	if t.onRows != nil {
		t.onRows(rows)
	}
}

// QueryAll runs several statements that only read, in one round trip where the database can.
func (t *Tx) QueryAll(questions []Question) error {
	if err := t.Usable(); err != nil {
		return err
	}
	end := t.Tracing(len(questions), func(i int) string { return questions[i].Query })
	err := t.session.queryAll(questions)
	end(err)
	return t.Fail(err)
}

// Answered runs statements that have a row each, in one round trip where the database can, and
// returns how many were answered before one that fails.
func (t *Tx) Answered(queries []string) (n int, err error) {
	questions := make([]Question, len(queries))
	for i, query := range queries {
		questions[i] = Question{Statement{Query: query}, func(*Row) { n = i + 1 }}
	}
	return n, t.QueryAll(questions)
}

// Tracing calls Trace for n statements that run together. The returned function ends all of them.
func (t *Tx) Tracing(n int, query func(int) string) (end func(error)) {
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

// List collects the rows of an answer.
func List[T any](t *Tx, read func(*Row) T, query string, args ...any) ([]T, error) {
	var all []T
	err := t.Each(func(one *Row) { all = append(all, read(one)) }, query, args...)
	return all, err
}

// First returns the first row of an answer, ErrNoRow when there is none.
func First[T any](t *Tx, read func(*Row) T, query string, args ...any) (T, error) {
	all, err := List(t, read, query, args...)
	if err == nil && len(all) == 0 {
		err = ErrNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// Exists reports whether an answer has a row.
func (t *Tx) Exists(query string, args ...any) (bool, error) {
	found := false
	err := t.Each(func(*Row) { found = true }, query, args...)
	return found, err
}

// HasTable reports whether there is a table of that name.
func (t *Tx) HasTable(name string) (bool, error) { return t.Exists(t.session.dialect.hasTable, name) }

// Integer reads the first column of a row.
func Integer(one *Row) int64 { return one.Int(0) }

// Exec runs a statement and returns how many rows it changed or, on every database, found to be as
// wanted already.
func (t *Tx) Exec(query string, args ...any) (int, error) {
	if err := t.Usable(); err != nil {
		return 0, err
	}
	t.hasLocks = true
	end := t.trace.begin(t.ctx, query)
	result, err := t.session.Exec(query, args...)
	end(err)
	if err != nil {
		return 0, t.Fail(err)
	}
	n, err := result.RowsAffected()
	return int(n), t.Fail(err)
}

// Change is Exec for a statement that must change a row: it returns ErrNoRow when it changes none.
func (t *Tx) Change(query string, args ...any) error {
	n, err := t.Exec(query, args...)
	if err == nil && n == 0 {
		return ErrNoRow
	}
	return err
}

// Insert adds a row to a table with an id and returns it, or that a unique
// value in it is taken, which leaves the transaction usable on every database.
func (t *Tx) Insert(query string, args ...any) (id int64, clash bool, err error) {
	if err := t.Usable(); err != nil {
		return 0, false, err
	}
	t.hasLocks = true
	query += t.session.dialect.OnConflict
	end := t.trace.begin(t.ctx, query)
	if t.session.dialect.returning {
		id, clash, err = t.insertReturning(query, args...)
	} else {
		id, err = t.insertCounting(query, args...)
	}
	end(err)
	if err != nil && t.session.dialect.Duplicate(err) {
		return 0, true, nil
	}
	return id, clash, t.Fail(err)
}

// insertReturning gets the id as a row, which a clash does not have.
func (t *Tx) insertReturning(query string, args ...any) (id int64, clash bool, err error) {
	clash = true
	err = t.session.query(func(rows *sql.Rows, _ *watch) error {
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

// insertCounting gets the id from the driver. A unique value that is taken is an error here, which
// SQLite and MySQL survive: only PostgreSQL makes the transaction unusable.
func (t *Tx) insertCounting(query string, args ...any) (int64, error) {
	result, err := t.session.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// Try runs a statement and returns how many rows it changed. When it meets a unique
// value it reports a clash, and the transaction goes on; guard says that this takes a
// savepoint. A reference without its row is a mistake of the caller's, which ends the
// transaction.
func (t *Tx) Try(guard bool, query string, args []any) (n int, clash bool, err error) {
	if err := t.Usable(); err != nil {
		return 0, false, err
	}
	end := t.trace.begin(t.ctx, query)
	n, err = t.guarded(guard, query, args)
	end(err)
	switch d := t.session.dialect; {
	case err == nil:
		return n, false, nil
	case d.Duplicate(err):
		err = t.taken(guard)
		return 0, err == nil, err
	case d.Orphan(err):
		t.broken = fmt.Errorf("sqlstore: a row refers to one that is not there, or is referred to: %v", err)
		return 0, false, t.broken
	}
	return 0, false, t.Fail(err)
}

// guarded runs a statement behind a savepoint when guard says so. The savepoint goes in the round
// trip of the statement, its release in that of the next.
func (t *Tx) guarded(guard bool, query string, args []any) (int, error) {
	if guard {
		if err := t.session.Later("SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	result, err := t.session.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	if guard {
		if err := t.session.Later("RELEASE SAVEPOINT one"); err != nil {
			return 0, err
		}
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// taken goes on behind a statement that met a unique value.
func (t *Tx) taken(guard bool) error {
	if guard {
		if err := t.session.Do("ROLLBACK TO SAVEPOINT one"); err != nil {
			return t.Fail(err)
		}
		if err := t.session.Later("RELEASE SAVEPOINT one"); err != nil {
			return t.Fail(err)
		}
	}
	return nil
}

// Parallel begins another transaction that sees what this one sees, to be ended before this one
// is. It returns false when there cannot be one now: then one connection has to do.
func (t *Tx) Parallel() (other *Tx, end func(), ok bool) {
	if t.startParallel == nil {
		return nil, nil, false
	}
	return t.startParallel(t)
}

// Sequentially runs two functions one after the other.
func (t *Tx) Sequentially(one, other func(*Tx) error) error {
	if err := one(t); err != nil {
		return err
	}
	return other(t)
}

// Concurrently runs one function on the transaction and the other on a parallel reader at the same
// time, or one after the other when there is none. Each must keep to the transaction it is given.
func (t *Tx) Concurrently(one, other func(*Tx) error) error {
	second, end, ok := t.Parallel()
	if !ok {
		return t.Sequentially(one, other)
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
		o.err = other(second)
	}()
	err := one(t)
	o := <-ended
	if o.panicked != nil {
		panic(o.panicked)
	}
	if err == nil && o.err != nil {
		t.cause, t.broken, err = second.cause, second.broken, o.err
	}
	return err
}
