package database

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// uninstallOptions are the flags of "berth db uninstall".
type uninstallOptions struct {
	env        cli.Env
	source     Source
	yes, force bool
	out        *cli.Output
}

// newDBUninstall returns "berth db uninstall".
func newDBUninstall(env cli.Env) *cobra.Command {
	o := &uninstallOptions{env: env}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "drop them without a confirmation")
	cmd.Flags().BoolVar(&o.force, "force", false, "drop them even if an instance of Berth seems to run")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run drops Berth's own tables.
func (o *uninstallOptions) run(ctx context.Context) error {
	if err := o.out.Check(countColumns); err != nil {
		return err
	}
	return o.source.Work(ctx, o.env, dbtool.Change, func(db *DB) error {
		w := o.env.Stdout
		if !o.out.ForPeople() { // standard output is for the result only
			w = o.env.Stderr
		}
		own, err := uninstallDB(ctx, w, db, o.force, func() error {
			return cli.Confirm(ctx, w, o.env.Stdin, o.yes)
		})
		if err != nil {
			return err
		}
		r := countsResult(own)
		r.Value = struct {
			Database string              `json:"database"`
			Dropped  []dbtool.TableCount `json:"dropped"`
		}{db.Name, own}
		r.Text = func(io.Writer) error { return nil } // the messages say all
		return o.out.Print(o.env, r)
	})
}

// uninstallDB drops Berth's own tables after confirm has returned nil, prints messages to w, and
// returns the dropped tables with their numbers of rows.
func uninstallDB(
	ctx context.Context, w io.Writer, db *DB, force bool, confirm func() error,
) ([]dbtool.TableCount, error) {
	own, err := db.Own(ctx)
	if err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.Name, err)
	}
	if len(own) == 0 {
		fmt.Fprintf(w, "nothing to do: %s has no tables of Berth's own\n", db.Name)
		return []dbtool.TableCount{}, nil
	}
	fmt.Fprintf(w, "these tables of %s are dropped, with their rows:\n", db.Name)
	printCounts(w, own)
	if err := confirm(); err != nil {
		return nil, err
	}
	if err := db.Uninstall(ctx, force); err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.Name, err)
	}
	fmt.Fprintln(w, "done: the database is as OpenStack's tools make it")
	return own, nil
}
