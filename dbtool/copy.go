package dbtool

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A CopyPlan is what Copy has found before it writes.
type CopyPlan struct {
	Tables []TableCount // of the source
	Rows   int64        // all of them together
	Done   int64        // how many of them an interrupted copy has brought over
}

// CopyOptions are the options of Copy.
type CopyOptions struct {
	// Resume continues a copy that was interrupted.
	Resume bool
	// Planned, when not nil, is called with the plan; its error ends the copy before anything is
	// written.
	Planned func(CopyPlan) error
	// Copying and Checking get the progress of both parts. Rows are counted twice while checking, once
	// for each database.
	Copying, Checking Progress
}

// ErrMoved is the error of a copy whose source has other rows in the end than were copied.
var ErrMoved = errors.New("the copy is not the same as its source: it changed while it was copied or in between; " +
	"stop what writes to it, drop the target and copy again")

// Copy copies a consistent snapshot of all rows, ids included, to an empty database, and then
// compares both databases row by row. It writes in transactions of some thousand rows. Until it is
// complete, the target has a table berth_copy with its progress, from which Copy continues with
// Resume however the last one ended. The error is [ErrFilled] for a target with rows, and
// [ErrMoved].
func Copy(ctx context.Context, from, to *Tables, opts CopyOptions) (CopyPlan, error) {
	var plan CopyPlan
	err := from.Read(ctx, func(r *sqlconn.Tx) (err error) {
		if err = from.complete(r); err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		if plan.Tables, plan.Rows, err = count(r); err != nil {
			return err
		}
		c := &copier{from: r, to: to, source: sourceName(from), copying: meter{opts.Copying, 0, plan.Rows}}
		if err = c.begun(ctx, opts.Resume); err != nil {
			return fmt.Errorf("the target: %w", err)
		}
		plan.Done = c.at.rows
		if opts.Planned != nil {
			if err = opts.Planned(plan); err != nil {
				return err
			}
		}
		return c.run(ctx, meter{opts.Checking, 0, 2 * plan.Rows})
	})
	return plan, err
}

// sourceName names a source in berth_copy, within the bounds of the column; a file by its absolute
// path.
func sourceName(t *Tables) string {
	name := []rune(cmp.Or(t.File(), t.Where()))
	return string(name[:min(len(name), 255)])
}

// A copier copies rows from a transaction to a database.
type copier struct {
	from    *sqlconn.Tx
	to      *Tables
	source  string
	copying meter
	at      copyPlace
}

// A copyPlace is the progress of a copy: all tables before this one are complete, and of this one
// the rows up to the key. An empty table means that nothing was copied yet.
type copyPlace struct {
	source string
	table  string
	key    []int64
	rows   int64 // in all
}

// begun reads the progress of an interrupted copy, and returns an error for a target that is
// neither that nor empty.
func (c *copier) begun(ctx context.Context, resume bool) error {
	if !resume || !c.to.Exists() {
		return c.to.Vacant(ctx)
	}
	return c.to.Read(ctx, func(r *sqlconn.Tx) error {
		existing, err := r.HasTable("berth_copy")
		if err != nil {
			return err
		}
		if existing {
			c.at, err = readPlace(r)
		}
		if err != nil && !errors.Is(err, sqlconn.ErrNoRow) {
			return err
		}
		if c.at.table == "" {
			return c.to.nothing(r)
		}
		if c.at.source != c.source {
			return fmt.Errorf("it holds a part of a copy of %s: go on with that one, or drop the database and make it again",
				c.at.source)
		}
		c.copying.rows = c.at.rows
		return nil
	})
}

// run copies the tables, in an order in which the references of each are to tables before it, then
// the references within tables, and compares. Each part may be interrupted and run again.
func (c *copier) run(ctx context.Context, checking meter) error {
	if err := c.to.makeTables(ctx); err != nil {
		return err
	}
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("beginning to copy: %w", err)
	}
	begun := slices.IndexFunc(migrations.Tables, func(t migrations.Table) bool { return t.Name == c.at.table })
	for _, table := range migrations.Tables[max(0, begun):] {
		if err := c.table(ctx, table); err != nil {
			return fmt.Errorf("copying %s: %w", table.Name, err)
		}
	}
	if err := c.references(ctx); err != nil {
		return fmt.Errorf("copying references: %w", err)
	}
	if err := c.compare(ctx, checking); err != nil {
		return err
	}
	return c.to.Write(ctx, func(w *sqlconn.Tx) error {
		_, err := w.Exec(`DROP TABLE berth_copy`)
		return err
	})
}

// copyTable creates the table with the progress, which has one row.
const copyTable = `CREATE TABLE berth_copy (
    id INTEGER NOT NULL,
    source VARCHAR(255) NOT NULL,
    place VARCHAR(64) NOT NULL,
    key_one BIGINT,
    key_two BIGINT,
    copied BIGINT NOT NULL,
    PRIMARY KEY (id)
)`

// readPlace returns the recorded progress; the error is ErrNoRow when the copy was interrupted
// before it recorded any.
func readPlace(r *sqlconn.Tx) (copyPlace, error) {
	return sqlconn.First(r, func(one *sqlconn.Row) copyPlace {
		p := copyPlace{source: one.Text(0), table: one.Text(1), rows: one.Int(4)}
		for _, i := range []int{2, 3} {
			if !one.Null(i) {
				p.key = append(p.key, one.Int(i))
			}
		}
		return p
	}, `
SELECT
    source,
    place,
    key_one,
    key_two,
    copied
FROM berth_copy`)
}

// start creates the table with the progress.
func (c *copier) start(ctx context.Context) error {
	if c.at.table != "" {
		return nil
	}
	c.at = copyPlace{source: c.source, table: migrations.Tables[0].Name}
	return c.to.Write(ctx, func(w *sqlconn.Tx) error {
		existing, err := w.HasTable("berth_copy")
		if err == nil && !existing {
			_, err = w.Exec(copyTable)
		}
		if err == nil {
			_, err = w.Exec(`INSERT INTO berth_copy (id, source, place, copied) VALUES (1, ?, ?, 0)`, c.source, c.at.table)
		}
		return err
	})
}

// table copies the remaining rows of a table.
func (c *copier) table(ctx context.Context, table migrations.Table) error {
	var after []int64
	if c.at.table == table.Name {
		after = c.at.key
	}
	return pages(c.from, table, after, func(rows []tuple) error {
		next := copyPlace{c.source, table.Name, keyOf(table, rows[len(rows)-1]), c.at.rows + int64(len(rows))}
		err := c.to.Attempt(ctx, func(w *sqlconn.Tx) error {
			if err := load(w, table, rows); err != nil {
				return err
			}
			return moveTo(w, next)
		})
		if err == nil {
			c.at = next
			c.copying.add(table.Name, len(rows))
		}
		return err
	})
}

// moveTo records the progress, in the transaction of the rows.
func moveTo(w *sqlconn.Tx, p copyPlace) error {
	key := []any{p.key[0], nil}
	if len(p.key) > 1 {
		key[1] = p.key[1]
	}
	return w.Change(`
UPDATE berth_copy
SET place = ?, key_one = ?, key_two = ?, copied = ?
WHERE id = 1`, p.table, key[0], key[1], p.rows)
}

// references sets the references that load has left out, and the sequences. It may run again.
func (c *copier) references(ctx context.Context) error {
	for _, table := range migrations.Tables {
		if len(table.Self) == 0 {
			continue
		}
		err := pages(c.from, table, nil, func(rows []tuple) error {
			var some []tuple
			for _, row := range rows {
				if refersAhead(table, row) {
					some = append(some, row)
				}
			}
			if len(some) == 0 {
				return nil
			}
			return c.to.Attempt(ctx, func(w *sqlconn.Tx) error { return setReferences(w, table, some) })
		})
		if err != nil {
			return err
		}
	}
	return c.to.Write(ctx, sequences)
}

// compare compares the digests of all tables.
func (c *copier) compare(ctx context.Context, m meter) error {
	return c.to.Read(ctx, func(r *sqlconn.Tx) error {
		for _, table := range migrations.Tables {
			want, err := sumUp(c.from, table, &m)
			if err != nil {
				return fmt.Errorf("checking the source: %w", err)
			}
			got, err := sumUp(r, table, &m)
			if err != nil {
				return fmt.Errorf("checking the copy: %w", err)
			}
			if want.rows != got.rows || !bytes.Equal(want.sum.Sum(nil), got.sum.Sum(nil)) {
				return fmt.Errorf("%s has %d rows there and %d here, or not the same ones: %w", table.Name, want.rows, got.rows,
					ErrMoved)
			}
		}
		return nil
	})
}

// sumUp returns the digest of a table. Values that the target could not store, such as infinity,
// are an error that names the row.
func sumUp(r *sqlconn.Tx, table migrations.Table, m *meter) (*digest, error) {
	d := &digest{sum: sha256.New()}
	err := pages(r, table, nil, func(rows []tuple) error {
		for _, row := range rows {
			if err := d.add(row); err != nil {
				return fmt.Errorf("%s, row %v: %w", table.Name, keyOf(table, row), err)
			}
		}
		m.add(table.Name, len(rows))
		return nil
	})
	return d, err
}
