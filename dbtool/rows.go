package dbtool

import (
	"bytes"
	"crypto/sha256"
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

// A tuple is a row of one of upstream's tables with all its columns: nil, an
// int64, a float64, a string or a time.Time each.
type tuple []any

// pageRows is how many rows are in memory at a time; tests have fewer.
var pageRows = 2000

// names lists the columns of a table.
func names(table migrations.Table) []string {
	all := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		all[i] = c.Name
	}
	return all
}

// position returns where a column is in a tuple of the table.
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

// pages calls fn with the rows of a table behind a key, in the order of their
// keys, some at a time; nil is before the first. Reading goes on when fn returns,
// so that a slow reader of the rows keeps no statement waiting.
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

func page(r *sqlconn.Tx, table migrations.Table, after []int64) (rows []tuple, err error) {
	where, args := behind(table.Key, after)
	var bad error
	err = r.Each(func(one *sqlconn.Row) {
		t, err := toTuple(r.Session.Dialect, table, one)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s, the row behind %v: %w", table.Name, after, err)
		}
		rows, after = append(rows, t), keyOf(table, t)
	}, `
SELECT `+selected(r.Session.Dialect, table)+`
FROM `+table.Name+where+`
ORDER BY `+strings.Join(table.Key, ", ")+`
LIMIT `+strconv.Itoa(pageRows), args...)
	if err == nil {
		err = bad
	}
	return rows, err
}

// selected lists the columns as they are read. MySQL prints six digits of a
// FLOAT, and all that it has of a DOUBLE.
func selected(d *sqlconn.Dialect, table migrations.Table) string {
	all := names(table)
	for i, c := range table.Columns {
		if c.Kind == migrations.Float && d == sqlconn.MySQLDialect {
			all[i] += " + 0.0E0"
		}
	}
	return strings.Join(all, ", ")
}

// behind is the condition that leaves the rows behind a key, in a form that
// every database has an index for.
func behind(key []string, after []int64) (where string, args []any) {
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

// toFloat gives a number that MySQL keeps in single precision the value of the
// decimal that it was written as.
func toFloat(d *sqlconn.Dialect, f float64) float64 {
	if d == sqlconn.MySQLDialect {
		f, _ = strconv.ParseFloat(single(f), 64) // the text is of a number
	}
	return f
}

// single writes a number with as many digits as single precision has.
func single(f float64) string { return strconv.FormatFloat(float64(float32(f)), 'f', -1, 32) }

// secondLayout is how precisely MySQL keeps times.
const secondLayout = "2006-01-02 15:04:05"

// line writes a row in the form that is the same whatever database it comes from:
// a JSON array with times to the second and numbers to single precision.
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

// errLine says that a line is no row of its table.
var errLine = errors.New("it is not a row of its table")

// parseLine is the opposite of line.
func parseLine(table migrations.Table, text []byte) (tuple, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values []any
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("%w: %v", errLine, err)
	}
	if len(values) != len(table.Columns) {
		return nil, fmt.Errorf("%w: it has %d values, %s has %d columns", errLine, len(values), table.Name, len(table.Columns))
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

// A digest sums up rows in a form that is the same on every database.
type digest struct {
	rows int64
	sum  hash.Hash
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

// add takes a row in.
func (d *digest) add(t tuple) error {
	line, err := t.line()
	if err == nil {
		d.rows++
		d.sum.Write(line)
	}
	return err
}

// A Progress is told now and then how many rows of how many are done. Nil for
// nobody.
type Progress func(table string, rows, of int64)

// A meter counts rows for a Progress.
type meter struct {
	tell     Progress
	rows, of int64
}

func (m *meter) add(table string, rows int) {
	m.rows += int64(rows)
	if m.tell != nil {
		m.tell(table, m.rows, m.of)
	}
}

// A TableCount is how many rows a table has.
type TableCount struct {
	Table string
	Rows  int64
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
