package sqlconn

import (
	"fmt"
	"strconv"
	"time"
)

// A Row is one row of an answer. Columns are counted from 0. NULL reads as the zero value, since
// upstream's columns allow it where its code never writes it; so does a value of the wrong type,
// which ends the reading with an error (Err). A Row is good until the next one is read.
type Row struct {
	// Columns are the names of the columns. Answers of SHOW have others in each release.
	Columns []string
	values  []any
	places  []any // pointers to values
	Err     error // the first value that was not what it should be
}

// newRow returns a row with these columns, into which database/sql scans, in the memory of an old
// one unless that is nil.
func newRow(columns []string, old *Row) *Row {
	r := old
	if r == nil {
		r = new(Row)
	}
	if cap(r.values) < len(columns) {
		r.values, r.places = make([]any, len(columns)), make([]any, len(columns))
		for i := range r.values {
			r.places[i] = &r.values[i]
		}
	}
	r.Columns, r.values, r.places, r.Err = columns, r.values[:len(columns)], r.places[:len(columns)], nil
	return r
}

// Null reports whether a value is missing.
func (r *Row) Null(i int) bool { return r.values[i] == nil }

// Bad notes a value of the wrong type.
func (r *Row) Bad(i int, want string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("column %d holds %T where %s belongs", i+1, r.values[i], want)
	}
}

// Text reads a text, "" for NULL.
func (r *Row) Text(i int) string {
	switch v := r.values[i].(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int64: // SQLite keeps what it was given, whatever the column says
		return fmt.Sprint(v)
	}
	r.Bad(i, "text")
	return ""
}

// Time reads a time in UTC, the zero time for NULL. SQLite has times as text (Unstamp).
func (r *Row) Time(i int) time.Time {
	if v, ok := r.values[i].(time.Time); ok {
		return v.UTC()
	}
	text := r.Text(i)
	if text == "" {
		return time.Time{}
	}
	t, ok := Unstamp(text)
	if !ok {
		r.Bad(i, "a time")
	}
	return t
}

// Int reads a whole number. Sums come as text from databases that add up in
// decimals.
func (r *Row) Int(i int) int64 {
	switch v := r.values[i].(type) {
	case nil:
		return 0
	case int64:
		return v
	case int32:
		return int64(v)
	case float64:
		return int64(v)
	}
	n, err := strconv.ParseInt(r.Text(i), 10, 64)
	if err != nil {
		r.Bad(i, "a whole number")
	}
	return n
}

// Float reads a number, 0 for NULL.
func (r *Row) Float(i int) float64 {
	switch v := r.values[i].(type) {
	case nil:
		return 0
	case int64:
		return float64(v)
	case uint64: // MariaDB's seconds that a replica is behind
		return float64(v)
	case float32: // a single's shortest text is what it was written as
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return f
	case float64:
		return v
	}
	f, err := strconv.ParseFloat(r.Text(i), 64)
	if err != nil {
		r.Bad(i, "a number")
	}
	return f
}
