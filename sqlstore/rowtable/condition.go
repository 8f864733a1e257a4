package rowtable

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A condition is that a column has one of some values. All columns that rows are
// looked for by are texts.
type condition struct {
	column string
	null   bool // the empty text is NULL
	values []string
}

// in is the condition with the marks for some of its values, which args are. The empty text has to
// be requested as NULL where the column is NULL instead: no IN finds that.
func (c condition) in(marks string, args []any) string {
	if c.null && slices.Contains(args, any("")) {
		return "(" + c.column + " IN (" + marks + ") OR " + c.column + " IS NULL)"
	}
	return c.column + " IN (" + marks + ")"
}

// whereEach runs fn with the text of a WHERE, and its values, for each part of
// what matches all conditions: lists that are too long for one statement are
// taken apart. No row is in two parts.
func whereEach(conditions []condition, fn func(where string, args []any) error) error {
	return whereRest(conditions, "", nil, fn)
}

// whereRest adds the first of the rest to the text, once for each part of its values, and goes on
// with the others.
func whereRest(rest []condition, where string, args []any, fn func(string, []any) error) error {
	if len(rest) == 0 {
		return fn(where, args)
	}
	word := "\nWHERE "
	if where != "" {
		word = " AND "
	}
	c := rest[0]
	return sqlconn.InList(c.values, func(marks string, some []any) error {
		return whereRest(rest[1:], where+word+c.in(marks, some), slices.Concat(args, some), fn)
	})
}

// conditions turns matches into conditions on columns. A field that rows of the
// type are not looked for by is an error, and so is a value that is not text.
func (t *table[T]) conditions(where []rows.Match) ([]condition, error) {
	all := make([]condition, len(where))
	for i, m := range where {
		at := slices.IndexFunc(t.columns, func(c column[T]) bool { return c.by != "" && c.by == m.Field })
		if at < 0 {
			return nil, fmt.Errorf("sqlstore: %s are not looked for by %q", t.name, m.Field)
		}
		all[i] = condition{column: t.columns[at].name, null: t.columns[at].null, values: make([]string, len(m.Values))}
		for n, v := range m.Values {
			text := reflect.ValueOf(v)
			if text.Kind() != reflect.String {
				return nil, fmt.Errorf("sqlstore: %s are looked for by a %T in %q, which is text", t.name, v, m.Field)
			}
			all[i].values[n] = text.String()
		}
	}
	return all, nil
}
