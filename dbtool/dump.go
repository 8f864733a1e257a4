package dbtool

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A dump is lines of JSON: what it is; for each of upstream's tables its name and
// columns, and its rows as arrays, in the order of their keys; and what there must
// be, to know that all of it is there.
//
//	{"format":"berth placement dump","version":1,"schema":"422ece571366"}
//	{"table":"resource_classes","columns":["created_at","updated_at","id","name"]}
//	["2026-01-31 12:00:00",null,0,"VCPU"]
//	…
//	{"counts":[{"table":"resource_classes","rows":22},…],"sha256":"…"}
//
// The sum is that of all bytes before the last line. Times are to the second,
// and numbers with a fraction to single precision: as much as every database
// keeps. So the dumps of two databases are the same when their rows are.
const (
	dumpFormat  = "berth placement dump"
	dumpVersion = 1
)

type dumpHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Schema  string `json:"schema"`
}

type dumpTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type dumpTail struct {
	Counts []TableCount `json:"counts"`
	SHA256 string       `json:"sha256"`
}

// Dump writes a consistent snapshot of upstream's tables and returns their numbers of rows. Restore
// refuses the output of a Dump that returned an error.
func (t *Tables) Dump(ctx context.Context, w io.Writer, p Progress) (counts []TableCount, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		if err := t.complete(r); err != nil {
			return err
		}
		_, total, err := count(r)
		if err != nil {
			return err
		}
		d := &dumper{out: bufio.NewWriter(w), sum: sha256.New(), meter: meter{progress: p, of: total}}
		if err := d.all(r); err != nil {
			return err
		}
		counts = d.counts
		return nil
	})
	return counts, err
}

// A dumper writes the lines of a dump.
type dumper struct {
	out    *bufio.Writer
	sum    hash.Hash
	counts []TableCount
	meter  meter
}

// all writes the whole dump. The last line is written after the checksum of the others is known.
func (d *dumper) all(r *sqlconn.Tx) error {
	if err := d.value(dumpHead{dumpFormat, dumpVersion, migrations.Target}); err != nil {
		return err
	}
	for _, table := range migrations.Tables {
		if err := d.table(r, table); err != nil {
			return err
		}
	}
	if err := d.value(dumpTail{d.counts, hex.EncodeToString(d.sum.Sum(nil))}); err != nil {
		return err
	}
	return d.out.Flush()
}

func (d *dumper) table(r *sqlconn.Tx, table migrations.Table) error {
	if err := d.value(dumpTable{table.Name, names(table)}); err != nil {
		return err
	}
	rows := int64(0)
	err := pages(r, table, nil, func(page []tuple) error {
		for _, row := range page {
			line, err := row.line()
			if err != nil {
				return fmt.Errorf("%s, row %v: %w", table.Name, keyOf(table, row), err)
			}
			if err := d.write(line); err != nil {
				return err
			}
		}
		rows += int64(len(page))
		d.meter.add(table.Name, len(page))
		return nil
	})
	d.counts = append(d.counts, TableCount{table.Name, rows})
	return err
}

// value writes a line that is no row.
func (d *dumper) value(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.write(append(line, '\n'))
}

// write writes a line, which becomes part of the checksum.
func (d *dumper) write(line []byte) error {
	d.sum.Write(line)
	_, err := d.out.Write(line)
	return err
}
