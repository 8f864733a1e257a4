package clouds

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// Dump writes the cloud as `berth db dump` would, for `berth db restore`.
func (w *Cloud) Dump(dst io.Writer) error {
	d := &dump{out: bufio.NewWriterSize(dst, 1<<20), sum: sha256.New()}
	d.value(dumpHead{"berth placement dump", 1, migrations.Target})
	for _, table := range migrations.Tables {
		d.value(tableHead{table.Name, columns(table)})
		rows := 0
		for row := range w.rows(table.Name) {
			d.row(row)
			rows++
		}
		d.counts = append(d.counts, tableCount{table.Name, rows})
	}
	d.value(dumpTail{d.counts, fmt.Sprintf("%x", d.sum.Sum(nil))})
	return d.out.Flush()
}

// columns lists the names of a table's columns.
func columns(table migrations.Table) []string {
	all := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		all[i] = c.Name
	}
	return all
}

// A dump writes the lines of one. Its writer stores errors until the end.
type dump struct {
	out    *bufio.Writer
	sum    hash.Hash // of the lines written
	line   []byte
	counts []tableCount
}

type dumpHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Schema  string `json:"schema"`
}

type tableHead struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type dumpTail struct {
	Counts []tableCount `json:"counts"`
	SHA256 string       `json:"sha256"`
}

type tableCount struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
}

// value writes a line of what JSON always can express.
func (d *dump) value(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	d.write(append(line, '\n'))
}

func (d *dump) write(line []byte) {
	d.sum.Write(line)
	_, _ = d.out.Write(line)
}

func (d *dump) row(values []any) {
	line := append(d.line[:0], '[')
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendValue(line, v)
	}
	d.line = append(line, ']', '\n')
	d.write(d.line)
}

func appendValue(line []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(line, "null"...)
	case time.Time:
		return v.AppendFormat(line, `"`+time.DateTime+`"`)
	case string:
		return fmt.Appendf(line, "%q", v)
	}
	return fmt.Append(line, v)
}
