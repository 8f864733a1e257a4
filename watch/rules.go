package watch

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/rows"
)

// Rules are the rules of the types of rows that answers depend on.
type Rules []Rule

// A Rule says which fields of a type of rows are keys. It is made by Row.
type Rule struct {
	fields []rows.Field
	// keys returns the keys of a row, and false when it is of another type.
	keys func(row any) ([]string, bool)
	// length returns the length of a list of rows of the type, and -1 for a list of another type.
	// read returns the keys of the rows of such a list from an index on.
	length func(list any) int
	read   func(list any, from int) []string
}

// A Key is a field of rows of a type whose values are keys. It is made by By.
type Key[T any] struct {
	field rows.Field
	of    func(*T) string
}

// By returns the key of a field.
func By[T any, S ~string](field rows.Field, key func(*T) S) Key[T] {
	return Key[T]{field, func(row *T) string { return string(key(row)) }}
}

// Row returns the rule of a type. Its keys should have every field by which answers read such rows
// and by which such rows are removed: an answer that reads by no key depends on all changes, and a
// removal by no key wakes all polls.
func Row[T any](keys ...Key[T]) Rule {
	keysOf := func(row *T) []string {
		all := make([]string, len(keys))
		for i, k := range keys {
			all[i] = k.of(row)
		}
		return all
	}
	r := Rule{
		keys: func(row any) ([]string, bool) {
			rec, ok := row.(*T)
			if !ok {
				return nil, false
			}
			return keysOf(rec), true
		},
		length: func(list any) int {
			rows, ok := list.(*[]T)
			if !ok {
				return -1
			}
			return len(*rows)
		},
		read: func(list any, from int) (all []string) {
			rows := (*list.(*[]T))[from:]
			for i := range rows {
				all = append(all, keysOf(&rows[i])...)
			}
			return all
		},
	}
	for _, k := range keys {
		r.fields = append(r.fields, k.field)
	}
	return r
}

// named returns the keys among the values of conditions, and false when there is no condition by a
// key.
func (r Rule) named(where []rows.Match) (keys []string, ok bool) {
	for _, m := range where {
		if !slices.Contains(r.fields, m.Field) {
			continue
		}
		ok = true
		for _, v := range m.Values {
			keys = append(keys, fmt.Sprint(v))
		}
	}
	return keys, ok
}

// A reader is a rows.Reader that collects what is depended on by who reads.
type reader struct {
	rows.Reader
	rules Rules
	into  *dependencies
}

// Read is rows.Reader's.
func (r reader) Read(list any, where ...rows.Match) error {
	for _, rule := range r.rules {
		before := rule.length(list)
		if before < 0 {
			continue
		}
		err := r.Reader.Read(list, where...)
		names, ok := rule.named(where)
		r.into.all = r.into.all || !ok
		r.into.add(names...)
		r.into.add(rule.read(list, before)...)
		return err
	}
	return r.Reader.Read(list, where...)
}

// Count is rows.Reader's. Of the rows that it counts no keys are known: what depends on it depends
// on all changes.
func (r reader) Count(row any, where ...rows.Match) (int64, error) {
	r.depend(row)
	return r.Reader.Count(row, where...)
}

// CountEach is rows.Reader's, and as Count.
func (r reader) CountEach(row any, field rows.Field, where ...rows.Match) (map[string]int64, error) {
	r.depend(row)
	return r.Reader.CountEach(row, field, where...)
}

// Sum is rows.Reader's, and as Count.
func (r reader) Sum(row any, amount rows.Field, where ...rows.Match) (int64, error) {
	r.depend(row)
	return r.Reader.Sum(row, amount, where...)
}

// Older is rows.Reader's, and as Count.
func (r reader) Older(row any, field rows.Field, before time.Time, most int) ([]string, error) {
	r.depend(row)
	return r.Reader.Older(row, field, before, most)
}

// depend has the answer depend on all changes, if rows of the type wake any.
func (r reader) depend(row any) {
	r.into.all = r.into.all || slices.ContainsFunc(r.rules, func(rule Rule) bool { _, ok := rule.keys(row); return ok })
}

// A writer is a rows.Writer that notes the keys of the rows that it writes.
type writer struct {
	rows.Writer
	rules Rules
	noted rows.Notes
}

// Insert is rows.Writer's.
func (w *writer) Insert(row any) error {
	w.write(row)
	return w.Writer.Insert(row)
}

// Replace is rows.Writer's.
func (w *writer) Replace(row any) error {
	w.write(row)
	return w.Writer.Replace(row)
}

func (w *writer) write(row any) {
	for _, rule := range w.rules {
		if keys, ok := rule.keys(row); ok {
			var n rows.Notes
			n.Add(keys...)
			w.Note(n)
		}
	}
}

// Remove is rows.Writer's.
func (w *writer) Remove(row any, where ...rows.Match) (int, error) {
	for _, rule := range w.rules {
		if _, ok := rule.keys(row); !ok {
			continue
		}
		var n rows.Notes
		keys, ok := rule.named(where)
		n.Add(keys...)
		n.All = !ok
		w.Note(n)
	}
	return w.Writer.Remove(row, where...)
}

// Note is rows.Writer's.
func (w *writer) Note(n rows.Notes) {
	w.noted.Merge(n)
	w.Writer.Note(n)
}
