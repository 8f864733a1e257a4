package dbtool

import (
	"context"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// An Upgrade is what brings a database to the revision that Berth makes.
type Upgrade struct {
	From  string   // the revision it is at, empty for none
	Steps []string // the revisions to come, in their order
	Own   bool     // Berth's own tables are to be made
}

// Plan says what Sync would do. It refuses what Sync refuses: a revision that is
// not known, tables of something else, rows that forbid a step.
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
		if u.From, err = t.schema.Revision(r); err != nil || !r.Session.Dialect.Shared {
			return err
		}
		own, err := r.HasTable("berth_version")
		u.Own = !own
		return err
	})
	return u, err
}

func revisions(steps []migrations.Revision) []string {
	ids := make([]string, len(steps))
	for i, step := range steps {
		ids[i] = step.ID
	}
	return ids
}

// Sync makes the tables or upgrades them, on a server with Berth's own ones, and
// returns what it did. Where nothing is to be done it does nothing.
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
