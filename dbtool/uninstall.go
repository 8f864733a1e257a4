package dbtool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// aliveWithin is the age of a writer's last sign of life within which it counts as running: two
// intervals of those signs.
const aliveWithin = 2 * logtable.CleanInterval

// ErrAlive is the error while another instance uses the database.
var ErrAlive = errors.New("another instance of Berth works on it")

// Own returns Berth's own tables in the database, with their numbers of rows.
func (t *Tables) Own(ctx context.Context) (own []TableCount, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		own, err = ownTables(r)
		return err
	})
	return own, err
}

func ownTables(r *sqlconn.Tx) (own []TableCount, err error) {
	for _, name := range append(slices.Clone(migrations.Own), "berth_copy") {
		existing, err := r.HasTable(name)
		if err != nil {
			return nil, err
		}
		if !existing {
			continue
		}
		rows, err := sqlconn.First(r, sqlconn.Integer, `SELECT COUNT(*) FROM `+name)
		if err != nil {
			return nil, err
		}
		own = append(own, TableCount{name, rows})
	}
	return own, nil
}

// Uninstall drops Berth's own tables, which leaves what upstream's tools create. Unless force is
// set, it returns [ErrAlive] while the change log has signs of a running instance; one that has
// written nothing leaves none.
func (t *Tables) Uninstall(ctx context.Context, force bool) error {
	return t.Write(ctx, func(w *sqlconn.Tx) error {
		own, err := ownTables(w)
		if err == nil && !force {
			err = unused(w, own)
		}
		if err != nil {
			return err
		}
		for _, table := range slices.Backward(own) {
			if _, err := w.Exec(`DROP TABLE ` + table.Table); err != nil {
				return err
			}
		}
		return nil
	})
}

// unused returns ErrAlive when a writer of the change log has given a sign of life recently.
func unused(w *sqlconn.Tx, own []TableCount) error {
	if !slices.ContainsFunc(own, func(c TableCount) bool { return c.Table == "berth_writers" }) {
		return nil
	}
	n, err := sqlconn.First(w, sqlconn.Integer, `
SELECT COUNT(*)
FROM berth_writers
WHERE beat_at > ?`, sqlconn.Stamp(time.Now().Add(-aliveWithin)))
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %d showed up within the last %s; stop all of them first", ErrAlive, n, aliveWithin)
	}
	return err
}
