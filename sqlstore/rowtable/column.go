package rowtable

import (
	"encoding/json"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A column is one field of the rows of type T in the database. It is immutable, and safe for
// concurrent use as long as the row is not shared.
type column[T any] struct {
	name string
	// by is what rows are looked for by this column, empty for nothing.
	by rows.Field
	// sum is the amount that the column is, empty for none.
	sum rows.Field
	// time is what finds rows that are older than some moment by this column, empty for nothing.
	time rows.Field
	// stamp says that the column is a time.
	stamp bool
	// null says that the empty text is NULL.
	null bool
	// get returns what is written, set reads it back from the i-th value.
	get func(*T) any
	set func(r *T, one *sqlconn.Row, i int)
}

// text is a column of names, ids and the like. By says which field
// finds rows by it, if any does. NULL reads as the empty text.
func text[T any, S ~string](name string, at func(*T) *S, by ...rows.Field) column[T] {
	c := column[T]{
		name: name,
		get:  func(r *T) any { return string(*at(r)) },
		set:  func(r *T, one *sqlconn.Row, i int) { *at(r) = S(one.Text(i)) },
	}
	if len(by) > 0 {
		c.by = by[0]
	}
	return c
}

// optional is a text that names another row, or nothing. NULL is what makes a foreign key let it
// pass.
func optional[T any, S ~string](name string, at func(*T) *S, by ...rows.Field) column[T] {
	c := text(name, at, by...)
	c.null = true
	c.get = func(r *T) any {
		if *at(r) == "" {
			return nil
		}
		return string(*at(r))
	}
	return c
}

// number is a column of whole numbers. NULL reads as 0.
func number[T any, N ~int | ~int64](name string, at func(*T) *N) column[T] {
	return column[T]{
		name: name,
		get:  func(r *T) any { return int64(*at(r)) },
		set:  func(r *T, one *sqlconn.Row, i int) { *at(r) = N(one.Int(i)) },
	}
}

// amountOf is a column of an amount that is in another field of the row, whose sum is found by a
// field. It is written with the row and not read back.
func amountOf[T any](name string, amount func(*T) int64, sum rows.Field) column[T] {
	return column[T]{name: name, sum: sum, get: func(r *T) any { return amount(r) }, set: func(*T, *sqlconn.Row, int) {}}
}

// textOf is a column of a text that is in another field of the row. It is written with the row and
// not read back.
func textOf[T any](name string, text func(*T) string, by ...rows.Field) column[T] {
	c := column[T]{name: name, get: func(r *T) any { return text(r) }, set: func(*T, *sqlconn.Row, int) {}}
	if len(by) > 0 {
		c.by = by[0]
	}
	return c
}

// numberOr is a number that is NULL instead of one value.
func numberOr[T any](none int, name string, at func(*T) *int) column[T] {
	return column[T]{
		name: name,
		get: func(r *T) any {
			if *at(r) == none {
				return nil
			}
			return int64(*at(r))
		},
		set: func(r *T, one *sqlconn.Row, i int) {
			*at(r) = none
			if !one.Null(i) {
				*at(r) = int(one.Int(i))
			}
		},
	}
}

// flag is a column of 0 and 1. It is a number because MySQL has no type of its own for it.
func flag[T any](name string, at func(*T) *bool) column[T] {
	return column[T]{
		name: name,
		get: func(r *T) any {
			if *at(r) {
				return int64(1)
			}
			return int64(0)
		},
		set: func(r *T, one *sqlconn.Row, i int) { *at(r) = one.Int(i) != 0 },
	}
}

// real is a column of numbers with a fraction.
func real[T any](name string, at func(*T) *float64) column[T] {
	return column[T]{
		name: name,
		get:  func(r *T) any { return *at(r) },
		set:  func(r *T, one *sqlconn.Row, i int) { *at(r) = one.Float(i) },
	}
}

// pairs is a column of texts by names, as a JSON object; an empty one is nil.
func pairs[T any](name string, at func(*T) *map[string]string) column[T] {
	return column[T]{
		name: name,
		get: func(r *T) any {
			if len(*at(r)) == 0 {
				return "{}"
			}
			text, err := json.Marshal(*at(r))
			if err != nil {
				panic("sqlstore: " + err.Error()) // texts only
			}
			return string(text)
		},
		set: func(r *T, one *sqlconn.Row, i int) {
			*at(r) = nil
			text := one.Text(i)
			if text == "{}" || text == "" {
				return
			}
			if json.Unmarshal([]byte(text), at(r)) != nil {
				one.Bad(i, "an object of texts")
			}
		},
	}
}

// moment is a column of times, to the microsecond; the zero time is NULL.
func moment[T any](name string, at func(*T) *time.Time, older ...rows.Field) column[T] {
	c := column[T]{
		name: name, stamp: true,
		get: func(r *T) any {
			if at(r).IsZero() {
				return nil
			}
			return sqlconn.Stamp(*at(r))
		},
		set: func(r *T, one *sqlconn.Row, i int) { *at(r) = one.Time(i) },
	}
	if len(older) > 0 {
		c.time = older[0]
	}
	return c
}

// document is a column of JSON that is stored as it is. Nothing looks into it here: the service
// checks it before it writes. NULL and the empty text are nil.
func document[T any](name string, at func(*T) *[]byte) column[T] {
	return column[T]{
		name: name,
		get:  func(r *T) any { return string(*at(r)) },
		set: func(r *T, one *sqlconn.Row, i int) {
			*at(r) = nil
			if text := one.Text(i); text != "" {
				*at(r) = []byte(text)
			}
		},
	}
}

// texts is a column of texts in their order, as a JSON array.
func texts[T any, S ~string](name string, at func(*T) *[]S) column[T] {
	same := func(s S) S { return s }
	return listAs(name, at, same, same)
}

// emptyList is how a list without elements is stored.
const emptyList = "[]"

// listAs is a list of something that is stored as another type: one with names for
// JSON, which are not to change. An empty list reads as nil. Text that is no list ends the reading
// with an error (Row.Bad).
func listAs[T, E, S any](name string, at func(*T) *[]E, to func(E) S, from func(S) E) column[T] {
	return column[T]{
		name: name,
		get: func(r *T) any {
			stored := make([]S, len(*at(r)))
			for i, e := range *at(r) {
				stored[i] = to(e)
			}
			text, err := json.Marshal(stored)
			if err != nil {
				panic("sqlstore: " + err.Error()) // texts and numbers only
			}
			return string(text)
		},
		set: func(r *T, one *sqlconn.Row, i int) {
			*at(r) = nil
			text := one.Text(i)
			if text == emptyList || text == "" {
				return
			}
			var stored []S
			if json.Unmarshal([]byte(text), &stored) != nil {
				one.Bad(i, "a list")
			}
			for _, s := range stored {
				*at(r) = append(*at(r), from(s))
			}
		},
	}
}
