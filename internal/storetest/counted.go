package storetest

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/berthcloud/berth/rows"
)

// A Counted is a store that counts what is read of another one. It is made by Count.
type Counted struct {
	rows.Store
	mu    sync.Mutex
	reads Reads
}

// Reads are what was read of a store: calls of a Reader, the rows that they returned, and the bytes
// of texts and documents in those.
type Reads struct{ Calls, Rows, Bytes int }

// Count returns a store that counts what is read of s.
func Count(s rows.Store) *Counted { return &Counted{Store: s} }

// Take returns what was read since the last call.
func (c *Counted) Take() Reads {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.reads
	c.reads = Reads{}
	return r
}

// View is rows.Store's.
func (c *Counted) View(ctx context.Context, fn func(rows.Reader) error) error {
	return c.Store.View(ctx, func(r rows.Reader) error { return fn(countedReader{r, c}) })
}

// Update is rows.Store's.
func (c *Counted) Update(ctx context.Context, now time.Time, fn func(rows.Writer) error) error {
	return c.Store.Update(ctx, now, func(w rows.Writer) error { return fn(countedWriter{w, countedReader{w, c}}) })
}

// A countedReader counts what is read through it.
type countedReader struct {
	from  rows.Reader
	store *Counted
}

func (r countedReader) Read(list any, where ...rows.Match) error {
	read := reflect.ValueOf(list).Elem()
	before := read.Len()
	err := r.from.Read(list, where...)
	bytes := 0
	for i := before; i < read.Len(); i++ {
		bytes += size(read.Index(i))
	}
	r.count(Reads{Calls: 1, Rows: read.Len() - before, Bytes: bytes})
	return err
}

func (r countedReader) Count(row any, where ...rows.Match) (int64, error) {
	r.count(Reads{Calls: 1})
	return r.from.Count(row, where...)
}

func (r countedReader) CountEach(row any, field rows.Field, where ...rows.Match) (map[string]int64, error) {
	counts, err := r.from.CountEach(row, field, where...)
	r.count(Reads{Calls: 1, Rows: len(counts)})
	return counts, err
}

func (r countedReader) Sum(row any, amount rows.Field, where ...rows.Match) (int64, error) {
	r.count(Reads{Calls: 1})
	return r.from.Sum(row, amount, where...)
}

func (r countedReader) Older(row any, at rows.Field, before time.Time, most int) ([]string, error) {
	keys, err := r.from.Older(row, at, before, most)
	r.count(Reads{Calls: 1, Rows: len(keys)})
	return keys, err
}

func (r countedReader) count(n Reads) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.reads.Calls += n.Calls
	r.store.reads.Rows += n.Rows
	r.store.reads.Bytes += n.Bytes
}

// A countedWriter counts what is read through it.
type countedWriter struct {
	rows.Writer
	reader countedReader
}

func (w countedWriter) Read(list any, where ...rows.Match) error {
	return w.reader.Read(list, where...)
}

func (w countedWriter) Count(row any, where ...rows.Match) (int64, error) {
	return w.reader.Count(row, where...)
}

func (w countedWriter) CountEach(row any, field rows.Field, where ...rows.Match) (map[string]int64, error) {
	return w.reader.CountEach(row, field, where...)
}

func (w countedWriter) Sum(row any, amount rows.Field, where ...rows.Match) (int64, error) {
	return w.reader.Sum(row, amount, where...)
}

func (w countedWriter) Older(row any, at rows.Field, before time.Time, most int) ([]string, error) {
	return w.reader.Older(row, at, before, most)
}

// size is the number of bytes of the texts and documents in a row.
func size(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		for i := range v.Len() {
			n += size(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += size(v.Field(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += size(k) + size(v.MapIndex(k))
		}
	}
	return n
}
