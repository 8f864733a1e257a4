package database

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// newDBUninstall returns "berth db uninstall".
func newDBUninstall(env cli.Env) *cobra.Command {
	var source Source
	var yes, force bool
	var form *cli.Choice
	cmd := &cobra.Command{
		Use:   "uninstall [--config FILE | --connection URL] [--yes]\n        [-f FORMAT]",
		Short: "Drop Berth's own tables to go back to Placement",
		Long: `Uninstall drops the four tables that Berth adds to a database on a server
(berth_version, berth_writers, berth_changes, berth_holds), and berth_copy,
which an interrupted copy leaves. The tables that placement-manage db sync
creates remain, with all providers and allocations. Berth creates its tables
again when it is started.

Stop every instance of Berth first. While the database has signs of an instance
that ran within the last two minutes, the command refuses, unless --force is
given. An instance that has written nothing yet leaves no sign.

` + dbExitHelp,
		Example: `  systemctl stop berth-placement
  berth db uninstall --config /etc/placement/placement.conf`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.Work(cmd.Context(), env, dbtool.Change, func(db *DB) error {
				say := env.Stdout
				if form.Json() { // standard output is for the result alone
					say = env.Stderr
				}
				own, err := uninstallDB(cmd.Context(), say, db, force, func() error {
					return cli.Confirm(cmd.Context(), say, env.Stdin, yes)
				})
				if err != nil || !form.Json() {
					return err
				}
				return cli.Fail(cli.ExitFailure, cli.WriteJSON(env.Stdout, struct {
					Database string              `json:"database"`
					Dropped  []dbtool.TableCount `json:"dropped"`
				}{db.Name, own}))
			})
		},
	}
	source.Flags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&force, "force", false, "drop them even if an instance of Berth seems to run")
	form = cli.AddFormat(cmd, "text")
	return cmd
}

// uninstallDB drops Berth's own tables after ask has returned nil, prints messages to say, and
// returns the dropped tables with their numbers of rows.
func uninstallDB(ctx context.Context, say io.Writer, db *DB, force bool, ask func() error) ([]dbtool.TableCount, error) {
	own, err := db.Own(ctx)
	if err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.Name, err)
	}
	if len(own) == 0 {
		fmt.Fprintf(say, "nothing to do: %s has no tables of Berth's own\n", db.Name)
		return []dbtool.TableCount{}, nil
	}
	fmt.Fprintf(say, "these tables of %s are dropped, with their rows:\n", db.Name)
	printCounts(say, own)
	if err := ask(); err != nil {
		return nil, err
	}
	if err := db.Uninstall(ctx, force); err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.Name, err)
	}
	fmt.Fprintln(say, "done: the database is as OpenStack's tools make it")
	return own, nil
}
