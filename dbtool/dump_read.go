package dbtool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/berthcloud/berth/sqlstore/migrations"
)

// ErrDamaged is the error about a dump that is truncated or altered, or a file that is no dump.
var ErrDamaged = errors.New("the dump is damaged")

// longestLine bounds the memory for a line, in bytes.
const longestLine = 1 << 20

// A dumpReader reads the lines of a dump.
type dumpReader struct {
	in   *bufio.Scanner
	sum  hash.Hash // of the lines that next went over
	line []byte    // the current one, with its end
	n    int       // its number
}

// readDump calls fn with the rows of a dump in pages, and returns their numbers. Whether the dump
// is complete is known at the end only: on an error, the rows that fn got are not to be used.
func readDump(ctx context.Context, in io.Reader, fn func(migrations.Table, []tuple) error) ([]TableCount, error) {
	d := &dumpReader{in: bufio.NewScanner(in), sum: sha256.New()}
	d.in.Buffer(nil, longestLine)
	d.in.Split(wholeLines)
	if err := d.head(); err != nil {
		return nil, err
	}
	var counts []TableCount
	for _, table := range migrations.Tables {
		rows, err := d.table(ctx, table, fn)
		if err != nil {
			return nil, err
		}
		counts = append(counts, TableCount{table.Name, rows})
	}
	return counts, d.tail(counts)
}

// wholeLines splits after line ends, which belong to the lines: they are part of the checksum.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// damaged returns an ErrDamaged that names the current line.
func (d *dumpReader) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %w", ErrDamaged, d.n, fmt.Errorf(format, args...))
}

// next reads the next line. The one before it then becomes part of the checksum.
func (d *dumpReader) next() error {
	d.sum.Write(d.line)
	d.n++
	if !d.in.Scan() {
		d.line = nil
		if err := d.in.Err(); errors.Is(err, bufio.ErrTooLong) {
			return d.damaged("it is longer than any row")
		} else if err != nil {
			return fmt.Errorf("reading the dump: %w", err)
		}
		return d.damaged("it is missing: the dump is cut off")
	}
	d.line = append(d.line[:0], d.in.Bytes()...)
	return nil
}

// value reads the next line as a JSON object.
func (d *dumpReader) value(v any, what string) error {
	if err := d.next(); err != nil {
		return err
	}
	return d.current(v, what)
}

// current reads the line that next has read as a JSON object; what says what is expected there.
func (d *dumpReader) current(v any, what string) error {
	if err := json.Unmarshal(d.line, v); err != nil {
		return d.damaged("%s is expected here: %w", what, err)
	}
	return nil
}

// head reads the first line, and goes on to the second. A dump of another version or schema is not
// damaged: the error says which program reads it.
func (d *dumpReader) head() error {
	var h dumpHead
	if err := d.value(&h, "the head of a dump"); err != nil {
		return err
	}
	if h.Format != dumpFormat {
		return d.damaged("it is not the head of a dump")
	}
	if h.Version != dumpVersion || h.Schema != migrations.Target {
		return fmt.Errorf(
			"the dump has version %d and schema %s, this program reads version %d and %s: use the berth that made it",
			h.Version, h.Schema, dumpVersion, migrations.Target)
	}
	return d.next()
}

// table reads the head of a table, which is the current line, and its rows. The line after them is
// then the current one.
func (d *dumpReader) table(
	ctx context.Context, table migrations.Table, fn func(migrations.Table, []tuple) error,
) (total int64, err error) {
	var head dumpTable
	if err := d.current(&head, "the table "+table.Name); err != nil {
		return 0, err
	}
	if head.Table != table.Name || !slices.Equal(head.Columns, names(table)) {
		return 0, d.damaged("the table %s with its columns is expected here", table.Name)
	}
	if err := d.next(); err != nil {
		return 0, err
	}
	for d.line[0] == '[' {
		rows, err := d.rows(table)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = fn(table, rows)
		}
		if err != nil {
			return total, err
		}
		total += int64(len(rows))
	}
	return total, nil
}

// rows reads at most a page of rows.
func (d *dumpReader) rows(table migrations.Table) (rows []tuple, err error) {
	for len(rows) < pageRows && d.line[0] == '[' {
		row, err := parseLine(table, d.line)
		if err != nil {
			return nil, d.damaged("%w", err)
		}
		rows = append(rows, row)
		if err := d.next(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// tail compares the numbers of rows and the checksum with those in the last line, which is the
// current one.
func (d *dumpReader) tail(counts []TableCount) error {
	var tail dumpTail
	if err := d.current(&tail, "the last line"); err != nil {
		return err
	}
	if sum := hex.EncodeToString(d.sum.Sum(nil)); tail.SHA256 != sum {
		return d.damaged("the sum of what is before it is %s, not %s", sum, tail.SHA256)
	}
	if !slices.Equal(tail.Counts, counts) || d.line[len(d.line)-1] != '\n' {
		return d.damaged("it is not the last line of what is before it")
	}
	if d.in.Scan() {
		return d.damaged("there is something behind the last line")
	}
	return nil
}
