package dbtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A tuple is a row of one of upstream's tables with all its columns. A value is nil, or an int64, a
// float64, a string or a time.Time by the kind of the column.
type tuple []any

// pageRows is the number of rows in memory at a time. Only tests change it.
var pageRows = 2000

// names lists the columns of a table.
func names(table migrations.Table) []string {
	all := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		all[i] = c.Name
	}
	return all
}

// position returns the index of a column in tuples of the table.
func position(table migrations.Table, column string) int {
	for i, c := range table.Columns {
		if c.Name == column {
			return i
		}
	}
	panic("sqlstore: " + table.Name + " has no column " + column)
}

// keyOf returns the primary key of a row.
func keyOf(table migrations.Table, row tuple) []int64 {
	key := make([]int64, len(table.Key))
	for i, column := range table.Key {
		key[i], _ = row[position(table, column)].(int64)
	}
	return key
}

// pages calls fn with the rows of a table whose keys are greater than after, in the order of the
// keys and in pages; nil reads from the first row. A page is read completely before fn is called,
// so that a slow fn keeps no statement open.
func pages(r *sqlconn.Tx, table migrations.Table, after []int64, fn func([]tuple) error) error {
	for {
		rows, err := page(r, table, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := fn(rows); err != nil {
			return err
		}
		if len(rows) < pageRows {
			return nil
		}
		after = keyOf(table, rows[len(rows)-1])
	}
}

// page reads the rows of one page. A value that is not of its column's kind, which SQLite allows,
// is an error that names the row before it, since its own key may be the bad value.
func page(r *sqlconn.Tx, table migrations.Table, after []int64) (rows []tuple, err error) {
	where, args := lagging(table.Key, after)
	var bad error
	err = r.Each(func(one *sqlconn.Row) {
		t, err := toTuple(r.Dialect(), table, one)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s, the row behind %v: %w", table.Name, after, err)
		}
		rows, after = append(rows, t), keyOf(table, t)
	}, `
SELECT `+selected(r.Dialect(), table)+`
FROM `+table.Name+where+`
ORDER BY `+strings.Join(table.Key, ", ")+`
LIMIT `+strconv.Itoa(pageRows), args...)
	if err == nil {
		err = bad
	}
	return rows, err
}

// selected lists the columns for a SELECT. MySQL prints six digits of a FLOAT, but all digits of
// the DOUBLE that the addition makes of it.
func selected(d *sqlconn.Dialect, table migrations.Table) string {
	all := names(table)
	for i, c := range table.Columns {
		if c.Kind == migrations.Float && d == sqlconn.MySQLDialect {
			all[i] += " + 0.0E0"
		}
	}
	return strings.Join(all, ", ")
}

// lagging is the condition for rows whose key is greater, in a form that every database uses an
// index for: row comparisons are not.
func lagging(key []string, after []int64) (where string, args []any) {
	if after == nil {
		return "", nil
	}
	if len(key) == 1 {
		return `
WHERE ` + key[0] + ` > ?`, []any{after[0]}
	}
	return `
WHERE ` + key[0] + ` >= ? AND (` + key[0] + ` > ? OR ` + key[1] + ` > ?)`, []any{after[0], after[0], after[1]}
}

// toTuple reads a row, each value by the kind of its column.
func toTuple(d *sqlconn.Dialect, table migrations.Table, one *sqlconn.Row) (tuple, error) {
	t := make(tuple, len(table.Columns))
	for i, c := range table.Columns {
		if one.Null(i) {
			continue
		}
		switch c.Kind {
		case migrations.Int:
			t[i] = one.Int(i)
		case migrations.Float:
			t[i] = toFloat(d, one.Float(i))
		case migrations.Text:
			t[i] = one.Text(i)
		case migrations.Time:
			t[i] = one.Time(i)
		}
		if err := one.Err; err != nil {
			one.Err = nil
			return t, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return t, nil
}

// toFloat returns a number that MySQL stores in single precision as the decimal that it was written
// as.
func toFloat(d *sqlconn.Dialect, f float64) float64 {
	if d == sqlconn.MySQLDialect {
		f, _ = strconv.ParseFloat(single(f), 64) // the text is of a number
	}
	return f
}

// single formats a number with the digits of single precision.
func single(f float64) string { return strconv.FormatFloat(float64(float32(f)), 'f', -1, 32) }

// secondLayout is the precision in which MySQL stores times.
const secondLayout = "2006-01-02 15:04:05"

// line formats a row as a JSON array, the same for every kind of database: times to the second and
// numbers in single precision, which is what each of them stores.
func (t tuple) line() ([]byte, error) {
	out := []byte{'['}
	for i, v := range t {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendValue(out, v); err != nil {
			return nil, err
		}
	}
	return append(out, ']', '\n'), nil
}

// appendValue appends the JSON of a value, and refuses numbers that single precision does not
// have.
func appendValue(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(float64(float32(v)), 0) {
			return nil, fmt.Errorf("%v is no number that every database can keep", v)
		}
		return append(out, single(v)...), nil
	case time.Time:
		return v.UTC().AppendFormat(out, `"`+secondLayout+`"`), nil
	case string:
		return appendText(out, v)
	}
	return nil, fmt.Errorf("there is no form for a %T", v)
}

// appendText appends a text as JSON. encoding/json would replace what is not UTF-8, so that
// different rows had the same line.
func appendText(out []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%q is not UTF-8", text)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...), err
}

// errLine is the error about a line that is not a row of its table.
var errLine = errors.New("it is not a row of its table")

// parseLine reads what line has written.
func parseLine(table migrations.Table, text []byte) (tuple, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values []any
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("%w: %v", errLine, err)
	}
	if len(values) != len(table.Columns) {
		return nil, fmt.Errorf("%w: it has %d values, %s has %d columns", errLine, len(values), table.Name,
			len(table.Columns))
	}
	t := make(tuple, len(values))
	for i, v := range values {
		var ok bool
		if t[i], ok = parseValue(table.Columns[i].Kind, v); !ok {
			return nil, fmt.Errorf("%w: column %s is %v", errLine, table.Columns[i].Name, v)
		}
	}
	return t, nil
}

// parseValue returns the value of a column from the JSON of a dump, and false for one that the
// column's kind does not have.
func parseValue(kind migrations.Kind, v any) (value any, ok bool) {
	if v == nil {
		return nil, true
	}
	var err error
	switch v := v.(type) {
	case json.Number:
		switch kind {
		case migrations.Int:
			value, err = v.Int64()
			return value, err == nil
		case migrations.Float:
			value, err = v.Float64()
			return value, err == nil
		}
	case string:
		switch kind {
		case migrations.Text:
			return v, true
		case migrations.Time:
			value, err = time.Parse(secondLayout, v)
			return value, err == nil
		}
	}
	return nil, false
}

// A digest is the number of rows and the SHA-256 of their lines, which is the same on every kind of
// database.
type digest struct {
	rows int64
	sum  hash.Hash
}

// add takes a row in.
func (d *digest) add(t tuple) error {
	line, err := t.line()
	if err == nil {
		d.rows++
		d.sum.Write(line)
	}
	return err
}

// A Progress is called from time to time with the number of rows of the task that are done, in the
// table of the given name, and their total. It may be nil.
type Progress func(table string, rows, row int64)

// A meter counts rows for a Progress.
type meter struct {
	progress Progress
	rows, of int64
}

func (m *meter) add(table string, rows int) {
	m.rows += int64(rows)
	if m.progress != nil {
		m.progress(table, m.rows, m.of)
	}
}

// A TableCount is the number of rows of a table, in results, in dumps and in the JSON of "berth
// db".
type TableCount struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// count counts the rows of all tables, in their order.
func count(r *sqlconn.Tx) (all []TableCount, total int64, err error) {
	for _, table := range migrations.Tables {
		n, err := sqlconn.First(r, sqlconn.Integer, `SELECT COUNT(*) FROM `+table.Name)
		if err != nil {
			return nil, 0, err
		}
		all, total = append(all, TableCount{table.Name, n}), total+n
	}
	return all, total, nil
}
