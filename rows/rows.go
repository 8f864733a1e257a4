// Package rows is the contract between a service that has flat rows and its store: how rows are
// found, written and removed, and the guarantees of a transaction. The services define the types of
// rows, their keys and unique values. Placement has a store of its own, which is designed for
// searches.
//
// A row is a struct without lists of other rows. Rows of a type are found by equality of some of
// their fields; other filters run in memory, so that they do not differ between databases.
package rows

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// A Store stores rows. It may be used concurrently.
type Store interface {
	// View runs fn against one consistent state of the rows. It may run more than once. A View that
	// begins after an Update has returned, in any instance on the same database, sees its changes.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn in a transaction and commits when it returns nil. Transactions on a database
	// are serialized, so that what fn has read is valid until the commit. fn may run more than once
	// and must not retain results of an earlier run. The error of fn is returned as it is. now is
	// the time of the change; times in rows are written as they are. An Update that writes no row
	// changes nothing in the database.
	Update(ctx context.Context, now time.Time, fn func(Writer) error) error

	// Follow returns a Follower at the beginning.
	Follow() Follower
}

// A Follower reads what the Updates of other instances on the same database have noted (Writer). It
// is for one goroutine.
type Follower interface {
	// Notes returns what was noted since the last call that returned no error. It has the Updates
	// that returned before this call. The first call, and one that may miss some of it, returns
	// All.
	Notes(ctx context.Context) (Notes, error)
}

// A Reader reads rows. It is valid until its function returns, for one goroutine.
type Reader interface {
	// Read appends to rows, which must point to a slice of one of the service's
	// types, all rows that match every condition, in the order of their keys.
	Read(rows any, where ...Match) error

	// Count returns the number of rows that match every condition, as the database counts them:
	// none is read. The row is a pointer to any value of the type.
	Count(row any, where ...Match) (int64, error)

	// CountEach is Count for the values of a field that are not empty, each with its number of
	// rows.
	CountEach(row any, field Field, where ...Match) (map[string]int64, error)

	// Sum is Count for the sum of an amount, a field of some types.
	Sum(row any, amount Field, where ...Match) (int64, error)

	// Older returns the keys of rows whose time, a field of some types, is before a moment, in no
	// order and not more than most of them. Rows without that time are not among them.
	Older(row any, time Field, before time.Time, most int) ([]string, error)
}

// A Writer is a Reader that changes rows, given as pointers to one of the service's
// types.
type Writer interface {
	Reader

	// Insert adds a row. It returns ErrTaken, and adds nothing, when its key or another value that
	// must be unique is taken. One that refers to a missing row is a programming error that ends
	// the Update.
	Insert(row any) error

	// Replace writes all fields of the row with the same key. It returns ErrNoRow when there is
	// none, ErrTaken when a unique value is taken.
	Replace(row any) error

	// Remove removes all rows that match every condition, of which there must be one at least, and
	// returns their number. The row is a pointer to any value of the type. There is no cascade:
	// removing rows that others refer to is a programming error, as in Insert.
	Remove(row any, where ...Match) (int, error)

	// Note notifies other instances of keys when the Update is committed. What an Update notes
	// without writing a row is lost.
	Note(Notes)
}

// The errors of a Writer after which its transaction can continue.
var (
	ErrNoRow = errors.New("rows: no such row")
	ErrTaken = errors.New("rows: the value is taken")
)

// A Match is a condition: the field has one of the values, which are texts.
type Match struct {
	Field  Field
	Values []any
}

// A Field is a field that conditions on rows may use. Each type has some of them.
type Field string

// Where returns the condition that a field has one of the values.
func Where[T any](f Field, values ...T) Match {
	m := Match{Field: f, Values: make([]any, len(values))}
	for i, v := range values {
		m.Values[i] = v
	}
	return m
}

// All returns all rows of a type that match every condition.
func All[T any](r Reader, where ...Match) ([]T, error) {
	var rows []T
	err := r.Read(&rows, where...)
	return rows, err
}

// Count returns how many rows of a type match every condition.
func Count[T any](r Reader, where ...Match) (int64, error) { return r.Count(new(T), where...) }

// One returns the row of a type that matches every condition, ErrNoRow when there is none.
func One[T any](r Reader, where ...Match) (T, error) {
	rows, err := All[T](r, where...)
	if err == nil && len(rows) == 0 {
		err = ErrNoRow
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

// OneOr is One, with the error absent when there is none.
func OneOr[T any](r Reader, absent error, where ...Match) (T, error) {
	row, err := One[T](r, where...)
	if errors.Is(err, ErrNoRow) {
		err = absent
	}
	return row, err
}

// NewID returns a random UUID for a row.
func NewID() string { return uuid.NewString() }
