// Package rowtable keeps the rows of the network and the compute service in databases of their own,
// with tables of Berth's. What a row type is in the database is a table of columns
// (network_rows.go, compute_rows.go); the engine runs the transactions. A transaction that writes
// to a server waits for those of other instances, so that only one runs at a time: each first
// increments the row of berth_turn, which is their write lock.
//
// OpenNetwork (network_store.go) and OpenCompute (compute_store.go) open a store; store.go has its
// Views and Updates, and schema.go brings its tables to the version of the program. A reader or
// writer (writer.go) finds the table of a row by its Go type; table.go makes the statements of it,
// condition.go those of a search, and column.go turns fields into values and back.
package rowtable

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A rowTable is a table of rows of some type. Statements are run in the transaction given. The
// methods that write return rows.ErrTaken for a unique value that another row has, and replace
// returns rows.ErrNoRow for a key that none has; the transaction goes on then.
type rowTable interface {
	// hasRow reports whether v points to a row of the table, hasRows whether to a
	// slice of them.
	hasRow(v any) bool
	hasRows(v any) bool

	read(r *sqlconn.Tx, into any, where []rows.Match) error
	count(r *sqlconn.Tx, where []rows.Match) (int64, error)
	countEach(r *sqlconn.Tx, field rows.Field, where []rows.Match) (map[string]int64, error)
	sum(r *sqlconn.Tx, amount rows.Field, where []rows.Match) (int64, error)
	older(r *sqlconn.Tx, at rows.Field, before time.Time, most int) ([]string, error)
	insert(w *sqlconn.Tx, row any) error
	replace(w *sqlconn.Tx, row any) error
	remove(w *sqlconn.Tx, where []rows.Match) (int, error)
	// checking is a statement with one row, which fails unless the table has all columns.
	checking() string
	tableName() string
}

// A table says how rows of type T are stored, and has the statements for it. Columns
// of the key are texts.
type table[T any] struct {
	name    string
	columns []column[T]
	key     []column[T]

	selecting, ordering string // SELECT … FROM, ORDER BY
	selectingTexts      string // selecting with times as text, for Dialect.TimesAsText
	inserting, updating string
}

// newTable returns the table of a name whose rows have the given key. Its columns
// are the lead and more.
func newTable[T any](name string, key []string, lead []column[T], more ...column[T]) *table[T] {
	t := &table[T]{name: name, columns: slices.Concat(lead, more)}
	names := make([]string, len(t.columns))
	values := make([]string, len(t.columns)) // with times as text
	var sets, keys []string
	for i, c := range t.columns {
		names[i], values[i] = c.name, c.name
		if c.stamp {
			values[i] = "CAST(" + c.name + " AS TEXT)"
		}
		if !slices.Contains(key, c.name) {
			sets = append(sets, c.name+" = ?")
		}
	}
	for _, k := range key {
		t.key = append(t.key, t.columns[slices.Index(names, k)])
		keys = append(keys, k+" = ?")
	}
	if len(sets) == 0 { // a key is all there is: replacing it finds out whether it is there
		sets = []string{key[0] + " = " + key[0]}
	}
	t.selecting = "\nSELECT\n    " + strings.Join(names, ",\n    ") + "\nFROM " + name
	t.selectingTexts = "\nSELECT\n    " + strings.Join(values, ",\n    ") + "\nFROM " + name
	t.ordering = "\nORDER BY " + strings.Join(key, ", ")
	t.inserting = "\nINSERT INTO " + name + " (" + strings.Join(names, ", ") + ")\nVALUES (" + sqlconn.Marks(len(names)) +
		")"
	t.updating = "\nUPDATE " + name + "\nSET " + strings.Join(sets, ", ") + "\nWHERE " + strings.Join(keys, " AND ")
	return t
}

func (t *table[T]) hasRow(v any) bool { _, ok := v.(*T); return ok }

func (t *table[T]) hasRows(v any) bool { _, ok := v.(*[]T); return ok }

func (t *table[T]) checking() string {
	return "SELECT COUNT(*) FROM (" + t.selecting + "\nWHERE 1 = 0) x"
}

func (t *table[T]) tableName() string { return t.name }

// read appends the rows in the order of their keys. Parts of a search are sorted together: texts
// are compared by their bytes here and, by their collation, in every database.
func (t *table[T]) read(r *sqlconn.Tx, into any, where []rows.Match) error {
	list := into.(*[]T)
	conditions, err := t.conditions(where)
	if err != nil {
		return err
	}
	selecting := t.selecting
	if r.Dialect().TimesAsText {
		selecting = t.selectingTexts
	}
	found, parts := *list, 0
	err = whereEach(conditions, func(where string, args []any) error {
		parts++
		return r.Each(func(one *sqlconn.Row) { found = append(found, t.scan(one)) }, selecting+where+t.ordering, args...)
	})
	if err != nil {
		return err
	}
	if parts > 1 {
		slices.SortFunc(found[len(*list):], t.compare)
	}
	*list = found
	return nil
}

// count adds up the parts of a search, of which no row is in two.
func (t *table[T]) count(r *sqlconn.Tx, where []rows.Match) (int64, error) {
	return t.total(r, "COUNT(*)", where)
}

// countEach adds up the parts of a search as count does. Every text that is not empty is greater
// than the empty one, and unlike an inequality that is looked up in an index.
func (t *table[T]) countEach(r *sqlconn.Tx, field rows.Field, where []rows.Match) (map[string]int64, error) {
	conditions, err := t.conditions(append(where[:len(where):len(where)], rows.Match{Field: field}))
	if err != nil {
		return nil, err
	}
	name := conditions[len(where)].column
	counts := map[string]int64{}
	err = whereEach(conditions[:len(where)], func(where string, args []any) error {
		word := "\nWHERE "
		if where != "" {
			word = " AND "
		}
		return r.Each(func(one *sqlconn.Row) { counts[one.Text(0)] += one.Int(1) },
			"\nSELECT "+name+", COUNT(*)\nFROM "+t.name+where+word+name+" > ''\nGROUP BY "+name, args...)
	})
	return counts, err
}

// sum of an amount is 0 where nothing matches.
func (t *table[T]) sum(r *sqlconn.Tx, amount rows.Field, where []rows.Match) (int64, error) {
	at := slices.IndexFunc(t.columns, func(c column[T]) bool { return c.sum != "" && c.sum == amount })
	if at < 0 {
		return 0, fmt.Errorf("sqlstore: %s have no amount %q", t.name, amount)
	}
	return t.total(r, "SUM("+t.columns[at].name+")", where)
}

// older looks at rows one after the other: there is no index, and who removes what is old has time.
func (t *table[T]) older(r *sqlconn.Tx, at rows.Field, before time.Time, most int) (keys []string, err error) {
	i := slices.IndexFunc(t.columns, func(c column[T]) bool { return c.time != "" && c.time == at })
	if i < 0 || len(t.key) != 1 {
		return nil, fmt.Errorf("sqlstore: %s have no time %q, or more than one key", t.name, at)
	}
	err = r.Each(func(one *sqlconn.Row) { keys = append(keys, one.Text(0)) },
		"\nSELECT "+t.key[0].name+"\nFROM "+t.name+"\nWHERE "+t.columns[i].name+" < ?\nLIMIT "+strconv.Itoa(most),
		sqlconn.Stamp(before))
	return keys, err
}

// total is the total of an aggregate function of a table, over the parts of a search.
func (t *table[T]) total(r *sqlconn.Tx, function string, where []rows.Match) (total int64, err error) {
	conditions, err := t.conditions(where)
	if err != nil {
		return 0, err
	}
	err = whereEach(conditions, func(where string, args []any) error {
		return r.Each(func(one *sqlconn.Row) { total += one.Int(0) }, "\nSELECT "+function+"\nFROM "+t.name+where, args...)
	})
	return total, err
}

// scan reads a row of an answer to selecting.
func (t *table[T]) scan(one *sqlconn.Row) (v T) {
	for i := range t.columns {
		t.columns[i].set(&v, one, i)
	}
	return v
}

// compare orders rows by their keys.
func (t *table[T]) compare(a, b T) int {
	for _, k := range t.key {
		if n := cmp.Compare(k.get(&a).(string), k.get(&b).(string)); n != 0 {
			return n
		}
	}
	return 0
}

// insert finds a unique value that is taken by the error, or where the dialect has a clause for it
// by the number of rows, 0.
func (t *table[T]) insert(w *sqlconn.Tx, row any) error {
	v := row.(*T)
	args := make([]any, len(t.columns))
	for i, c := range t.columns {
		args[i] = c.get(v)
	}
	n, err := try(w, false, t.inserting+w.Dialect().OnConflict, args)
	if err == nil && n == 0 {
		return rows.ErrTaken
	}
	return err
}

// replace writes all columns but those of the key.
func (t *table[T]) replace(w *sqlconn.Tx, row any) error {
	v := row.(*T)
	args := make([]any, 0, len(t.columns))
	for _, c := range t.columns {
		if !slices.ContainsFunc(t.key, func(k column[T]) bool { return k.name == c.name }) {
			args = append(args, c.get(v))
		}
	}
	for _, k := range t.key {
		args = append(args, k.get(v))
	}
	// Where an INSERT must not meet a unique value, an UPDATE must not either.
	guard := w.Dialect().OnConflict != ""
	n, err := try(w, guard, t.updating, args)
	if err == nil && n == 0 {
		return rows.ErrNoRow
	}
	return err
}

// remove refuses to run without a condition, which would empty the table.
func (t *table[T]) remove(w *sqlconn.Tx, where []rows.Match) (int, error) {
	if len(where) == 0 {
		return 0, fmt.Errorf("sqlstore: %s are removed by a condition at least", t.name)
	}
	conditions, err := t.conditions(where)
	if err != nil {
		return 0, err
	}
	total := 0
	err = whereEach(conditions, func(where string, args []any) error {
		n, err := try(w, false, "\nDELETE FROM "+t.name+where, args)
		total += n
		return err
	})
	return total, err
}
