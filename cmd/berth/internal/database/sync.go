package database

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// newDBSync returns "berth db sync".
func newDBSync(env cli.Env) *cobra.Command {
	var source Source
	var dry bool
	var form *cli.Choice
	cmd := &cobra.Command{
		Use:   "sync [--config FILE | --connection URL] [--dry-run]\n        [-f FORMAT]",
		Short: "Create the tables, or upgrade them to Berth's revision",
		Long: `Sync does what placement-manage db sync does, up to revision ` + migrations.Target + `,
which every release of OpenStack Placement since Xena uses. On a server it also
creates Berth's own four tables (berth_…), so that the service needs no right to
create tables.

Rows that prevent a step are reported before anything is changed; usually
berth db online-data-migrations corrects them. Tables that are up to date are
unchanged. An upgrade changes tables that services use: stop the services, and
make a backup first (berth db dump reads tables from ` + migrations.Target + ` on, the
server's own tools any).

` + dbExitHelp,
		Example: `  berth db sync --config /etc/placement/placement.conf --dry-run
  berth db sync --config /etc/placement/placement.conf`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			access := dbtool.Make
			return source.Work(cmd.Context(), env, access, func(db *DB) error {
				do := db.Sync
				if dry {
					do = db.Plan
				}
				u, err := do(cmd.Context())
				if err != nil {
					return fmt.Errorf("the database %s: %w", db.Name, err)
				}
				if form.Json() {
					return cli.Fail(cli.ExitFailure, upgradeJSON(env.Stdout, db.Name, u, dry))
				}
				printUpgrade(env.Stdout, u, dry)
				return nil
			})
		},
	}
	source.Flags(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be done")
	form = cli.AddFormat(cmd, "text")
	return cmd
}

// printUpgrade prints the steps of an upgrade.
func printUpgrade(w io.Writer, u dbtool.Upgrade, dry bool) {
	did := "done: "
	if dry {
		did = "would do: "
	}
	for _, id := range u.Steps {
		fmt.Fprintf(w, "%s%s\n", did, stepText(id))
	}
	if u.Own {
		fmt.Fprintf(w, "%sBerth's own tables, version %d\n", did, migrations.OwnVersion)
	}
	if len(u.Steps) == 0 && !u.Own {
		fmt.Fprintf(w, "nothing to do: the tables are at revision %s\n", u.From)
	}
}

// upgradeJSON prints the result of "berth db sync -f json". Without any steps the list is empty,
// not null.
func upgradeJSON(w io.Writer, database string, u dbtool.Upgrade, dry bool) error {
	type step struct {
		Revision string `json:"revision"`
		Release  string `json:"release"`
	}
	steps := make([]step, len(u.Steps))
	for i, id := range u.Steps {
		steps[i] = step{id, dbtool.Release(id)}
	}
	return cli.WriteJSON(w, struct {
		Database string `json:"database"`
		DryRun   bool   `json:"dry_run"`
		From     string `json:"from"`
		Steps    []step `json:"steps"`
		OwnMade  bool   `json:"berth_tables_made"`
	}{database, dry, u.From, steps, u.Own})
}

// stepText names a step of upstream's chain.
func stepText(id string) string {
	return "revision " + id + ", " + dbtool.Release(id)
}
