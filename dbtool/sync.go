package dbtool

import (
	"context"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// An Upgrade is the steps from a database's revision to that of Berth.
type Upgrade struct {
	From  string   // the revision it is at, empty for none
	Steps []string // the revisions to come, in their order
	// OwnFrom is the version of Berth's own tables, 0 for none, and OwnTo the one that they are to
	// have, 0 in a file, which does not have them. They are the same when nothing is to be done.
	OwnFrom, OwnTo int
}

// Own reports whether Berth's own tables are to be made or upgraded.
func (u Upgrade) Own() bool { return u.OwnFrom != u.OwnTo }

// Plan returns what Sync would do. The errors are those of Sync: an unknown revision, tables of
// another or a newer program, rows that prevent a step.
func (t *Tables) Plan(ctx context.Context) (u Upgrade, err error) {
	if !t.Exists() {
		return Upgrade{Steps: revisions(migrations.After(""))}, nil
	}
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		steps, err := t.schema.StepsFor(r)
		if err != nil {
			return err
		}
		u.Steps = revisions(steps)
		if u.From, err = t.schema.Revision(r); err != nil || !r.Dialect().Shared {
			return err
		}
		u.OwnFrom, u.OwnTo, err = t.OwnUpgrade(r)
		return err
	})
	return u, err
}

// revisions are the names of steps.
func revisions(steps []migrations.Revision) []string {
	ids := make([]string, len(steps))
	for i, step := range steps {
		ids[i] = step.ID
	}
	return ids
}

// Sync creates or upgrades the tables, on a server also Berth's own, and returns what it has done.
// It changes nothing when all is up to date.
func (t *Tables) Sync(ctx context.Context) (Upgrade, error) {
	u, err := t.Plan(ctx)
	if err != nil {
		return u, err
	}
	if !t.Server() {
		return u, t.makeTables(ctx)
	}
	return u, t.PrepareServer(ctx)
}
