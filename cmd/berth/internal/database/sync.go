package database

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// syncOptions are the flags of "berth db sync".
type syncOptions struct {
	env    cli.Env
	source Source
	dry    bool
	out    *cli.Output
}

// newDBSync returns "berth db sync".
func newDBSync(env cli.Env) *cobra.Command {
	o := &syncOptions{env: env}
	cmd := &cobra.Command{
		Use:   "sync [--config FILE | --connection URL] [--dry-run]\n        [-f FORMAT]",
		Short: "Create the tables, or upgrade them to Berth's revision",
		Long: `Sync does what placement-manage db sync does, up to revision ` + migrations.Target + `,
which every release of OpenStack Placement since Xena uses. On a server it also
creates or upgrades Berth's own four tables (berth_…), so that the service needs
no right to create tables.

Rows that prevent a step are reported before anything is changed; usually
berth db online-data-migrations corrects them. Tables that are up to date are
unchanged. An upgrade of upstream's tables changes what services use: stop the
services, and make a backup first (berth db dump reads tables from
` + migrations.Target + ` on, the server's own tools any). One of Berth's own
tables alone may run while services do.

` + dbExitHelp,
		Example: `  berth db sync --config /etc/placement/placement.conf --dry-run
  berth db sync --config /etc/placement/placement.conf`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be done")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run upgrades the tables.
func (o *syncOptions) run(ctx context.Context) error {
	if err := o.out.Check(upgradeColumns); err != nil {
		return err
	}
	return o.source.Work(ctx, o.env, dbtool.Make, func(db *DB) error {
		do := db.Sync
		if o.dry {
			do = db.Plan
		}
		u, err := do(ctx)
		if err != nil {
			return fmt.Errorf("the database %s: %w", db.Name, err)
		}
		return o.out.Print(o.env, upgradeResult(db.Name, u, o.dry))
	})
}

var upgradeColumns = []string{"Revision", "Release"}

// upgradeResult is an upgrade as it is printed. Without any steps the list is empty, not null.
func upgradeResult(database string, u dbtool.Upgrade, dry bool) cli.Result {
	type step struct {
		Revision string `json:"revision"`
		Release  string `json:"release"`
	}
	steps := make([]step, len(u.Steps))
	r := cli.Result{Columns: upgradeColumns}
	for i, id := range u.Steps {
		steps[i] = step{id, dbtool.Release(id)}
		r.Rows = append(r.Rows, []any{id, dbtool.Release(id)})
	}
	r.Value = struct {
		Database string `json:"database"`
		DryRun   bool   `json:"dry_run"`
		From     string `json:"from"`
		Steps    []step `json:"steps"`
		OwnMade  bool   `json:"berth_tables_made"`
		OwnFrom  int    `json:"berth_tables_from"`
	}{database, dry, u.From, steps, u.Own(), u.OwnFrom}
	r.Text = func(w io.Writer) error {
		did := "done: "
		if dry {
			did = "would do: "
		}
		for _, id := range u.Steps {
			fmt.Fprintf(w, "%s%s\n", did, stepText(id))
		}
		switch {
		case u.Own() && u.OwnFrom > 0:
			fmt.Fprintf(w, "%sBerth's own tables, from version %d to version %d\n", did, u.OwnFrom, u.OwnTo)
		case u.Own():
			fmt.Fprintf(w, "%sBerth's own tables, version %d\n", did, u.OwnTo)
		case len(u.Steps) == 0:
			fmt.Fprintf(w, "nothing to do: the tables are at revision %s\n", u.From)
		}
		return nil
	}
	return r
}

// stepText names a step of upstream's chain.
func stepText(id string) string {
	return "revision " + id + ", " + dbtool.Release(id)
}
