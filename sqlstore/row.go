package sqlstore

import (
	"fmt"
	"strconv"
	"time"
)

// A row is one row of an answer. NULL reads as the zero value, since upstream's
// columns allow it where its code never writes it.
type row struct {
	values []any
	places []any // pointers to values
	err    error // the first value that was not what it should be
}

func newRow(columns int) *row {
	r := &row{values: make([]any, columns), places: make([]any, columns)}
	for i := range r.values {
		r.places[i] = &r.values[i]
	}
	return r
}

// null reports whether a value is missing.
func (r *row) null(i int) bool { return r.values[i] == nil }

// bad notes a value of the wrong type.
func (r *row) bad(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d holds %T where %s belongs", i+1, r.values[i], want)
	}
}

func (r *row) text(i int) string {
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
	r.bad(i, "text")
	return ""
}

func (r *row) time(i int) time.Time {
	if v, ok := r.values[i].(time.Time); ok {
		return v.UTC()
	}
	text := r.text(i)
	if text == "" {
		return time.Time{}
	}
	t, ok := unstamp(text)
	if !ok {
		r.bad(i, "a time")
	}
	return t
}

// int reads a whole number. Sums come as text from databases that add up in
// decimals.
func (r *row) int(i int) int64 {
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
	n, err := strconv.ParseInt(r.text(i), 10, 64)
	if err != nil {
		r.bad(i, "a whole number")
	}
	return n
}

func (r *row) float(i int) float64 {
	switch v := r.values[i].(type) {
	case nil:
		return 0
	case int64:
		return float64(v)
	case float32: // a single's shortest text is what it was written as
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return f
	case float64:
		return v
	}
	f, err := strconv.ParseFloat(r.text(i), 64)
	if err != nil {
		r.bad(i, "a number")
	}
	return f
}
