package dbtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// ErrFilled is the error about a database that has rows, or is the target of an interrupted copy.
var ErrFilled = errors.New("it is not empty")

// CheckDump reads a dump completely and returns its numbers of rows. The error is [ErrDamaged] when
// it is truncated or altered.
func CheckDump(ctx context.Context, in io.Reader) ([]TableCount, error) {
	return readDump(ctx, in, func(migrations.Table, []tuple) error { return nil })
}

// Vacant returns [ErrFilled] unless the database has none of upstream's tables, or no rows in them.
// Standard traits and classes, which a service adds at its start, count as rows.
func (t *Tables) Vacant(ctx context.Context) error {
	if !t.Exists() {
		return nil
	}
	return t.Read(ctx, func(r *sqlconn.Tx) error {
		if _, err := t.schema.Revision(r); err != nil {
			return err
		}
		if begun, err := r.HasTable("berth_copy"); err != nil || begun {
			return cmp.Or(err, fmt.Errorf("%w: %w", ErrFilled, sqlstore.ErrPart))
		}
		return t.nothing(r)
	})
}

// nothing returns ErrFilled with the name of a table that has rows.
func (t *Tables) nothing(r *sqlconn.Tx) error {
	table, err := t.filled(r)
	if err == nil && table != "" {
		err = fmt.Errorf("%w: its table %s has rows; name an empty database", ErrFilled, table)
	}
	return err
}

// Restore fills an empty database with the rows of a dump. It reads the dump twice, so that nothing
// is written when it is damaged. Missing tables are created first; all rows are written in one
// transaction.
func (t *Tables) Restore(ctx context.Context, in io.ReadSeeker, p Progress) ([]TableCount, error) {
	if err := t.Vacant(ctx); err != nil {
		return nil, err
	}
	counts, err := CheckDump(ctx, in)
	if err != nil {
		return nil, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the dump again: %w", err)
	}
	if err := t.makeTables(ctx); err != nil {
		return nil, err
	}
	m := meter{progress: p}
	for _, c := range counts {
		m.of += c.Rows
	}
	return counts, t.Write(ctx, func(w *sqlconn.Tx) error { return t.restore(w, in, m) })
}

// restore writes the rows, after it has seen in its transaction that the tables are empty.
func (t *Tables) restore(w *sqlconn.Tx, in io.Reader, m meter) error {
	if err := t.nothing(w); err != nil {
		return err
	}
	later := make(map[string][]tuple)
	_, err := readDump(w.Context(), in, func(table migrations.Table, rows []tuple) error {
		for _, row := range rows {
			if refersAhead(table, row) {
				later[table.Name] = append(later[table.Name], row)
			}
		}
		m.add(table.Name, len(rows))
		return named(table, load(w, table, rows))
	})
	for _, table := range migrations.Tables {
		if err == nil {
			err = named(table, setReferences(w, table, later[table.Name]))
		}
	}
	if err == nil {
		err = sequences(w)
	}
	return err
}

// named adds the table to an error.
func named(table migrations.Table, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("filling %s: %w", table.Name, err)
}
