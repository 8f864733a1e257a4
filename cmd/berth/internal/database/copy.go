package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// copyOptions are the flags of "berth db copy".
type copyOptions struct {
	env         cli.Env
	from, to    string
	resume, dry bool
	out         *cli.Output
}

// newDBCopy returns "berth db copy". It has no --config: settings name one database, and both are
// named by URLs here.
func newDBCopy(env cli.Env) *cobra.Command {
	o := &copyOptions{env: env}
	cmd := &cobra.Command{
		Use:   "copy --from URL --to URL [--resume] [--dry-run] [-f FORMAT]",
		Short: "Copy all rows to an empty database of any kind",
		Long: `Copy copies OpenStack's tables, ids included, from one database to another:
SQLite, MariaDB, MySQL or PostgreSQL in any direction. It reads one consistent
snapshot, and finally compares both databases row by row.

Stop the services first: what they write after the start of the copy is not
copied. A SQLite file that a running berth serves is refused. The target must be
empty; its tables are created.

An interrupted copy continues with the same command and --resume. Until it is
complete the target has a table berth_copy, and must not be used.

A URL has the form of [placement_database] connection, with or without +driver.
@FILE names a file with the URL, since other users can see command lines.

` + dbExitHelp,
		Example: `  berth db copy --from sqlite:////var/lib/placement/placement.db \
      --to @/root/mariadb-url --dry-run
  berth db copy --from sqlite:////var/lib/placement/placement.db \
      --to @/root/mariadb-url
  berth db copy --from @/root/mariadb-url \
      --to postgresql://placement@db/placement?sslmode=verify-full`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.from, "from", "", "`URL`: URL of the database to read, or @FILE with the URL")
	cmd.Flags().StringVar(&o.to, "to", "", "`URL`: URL of the database to fill, or @FILE with the URL")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "resume a copy that was interrupted")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "check both databases, and write nothing")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run copies one database to the other.
func (o *copyOptions) run(ctx context.Context) error {
	if err := o.out.Check(countColumns); err != nil {
		return err
	}
	if o.from == "" || o.to == "" {
		return cli.Fail(cli.ExitUsage, errors.New("both databases must be named: --from URL --to URL"))
	}
	return copyDB(ctx, Source{Connection: o.from}, Source{Connection: o.to}, &dbCopy{
		env: o.env, resume: o.resume, dry: o.dry, out: o.out,
	})
}

// copyDB opens both databases and copies one to the other.
func copyDB(ctx context.Context, from, to Source, c *dbCopy) error {
	if from.Connection == to.Connection {
		return cli.Fail(cli.ExitUsage, errors.New("--from and --to are the same database"))
	}
	return from.Work(ctx, c.env, dbtool.Hold, func(source *DB) error {
		return to.Work(ctx, c.env, dbtool.Make, func(target *DB) error {
			c.source, c.target = source, target
			return c.run(ctx)
		})
	})
}

// errDry ends a dry run after the plan.
var errDry = errors.New("nothing is to be written")

// A dbCopy is one run of "berth db copy", with its output. The databases are set when both are
// open.
type dbCopy struct {
	env            cli.Env
	source, target *DB
	resume, dry    bool
	out            *cli.Output
}

// run copies, and prints the result. An interrupted copy is a failure that names --resume.
func (c *dbCopy) run(ctx context.Context) error {
	start := time.Now()
	p := cli.NewProgress(c.env)
	plan, err := dbtool.Copy(ctx, c.source.Tables, c.target.Tables, dbtool.CopyOptions{
		Resume: c.resume, Planned: c.planned, Copying: p.Of("copying"), Checking: p.Of("checking"),
	})
	p.End()
	switch {
	case errors.Is(err, errDry):
		return c.print(plan, 0, time.Since(start))
	case errors.Is(err, context.Canceled):
		return cli.Fail(cli.ExitFailure, errors.New("interrupted: run the same command with --resume to continue"))
	case err != nil:
		return fmt.Errorf("copying %s to %s: %w", c.source.Name, c.target.Name, err)
	}
	return c.print(plan, plan.Rows-plan.Done, time.Since(start))
}

// print prints the result: rows_before are those that an interrupted copy had copied.
func (c *dbCopy) print(plan dbtool.CopyPlan, copied int64, took time.Duration) error {
	r := countsResult(plan.Tables)
	r.Value = struct {
		From    string              `json:"from"`
		To      string              `json:"to"`
		DryRun  bool                `json:"dry_run"`
		Tables  []dbtool.TableCount `json:"tables"`
		Rows    int64               `json:"rows"`
		Before  int64               `json:"rows_before"` // by the copy that this one resumed
		Copied  int64               `json:"rows_copied"`
		Seconds float64             `json:"seconds"`
	}{c.source.Name, c.target.Name, c.dry, plan.Tables, plan.Rows, plan.Done, copied, took.Seconds()}
	r.Text = func(w io.Writer) error { // the plan is printed already
		if !c.dry {
			fmt.Fprintf(w, "copied and compared: %s\n", rate(copied, took))
		}
		return nil
	}
	return c.out.Print(c.env, r)
}

// planned prints the plan before anything is written, and ends a dry run.
func (c *dbCopy) planned(plan dbtool.CopyPlan) error {
	if w := c.env.Stdout; c.out.ForPeople() {
		printCounts(w, plan.Tables)
		does := "copying"
		if c.dry {
			does = "would copy"
		}
		fmt.Fprintf(w, "%s %d rows from %s to %s", does, plan.Rows-plan.Done, c.source.Name, c.target.Name)
		if plan.Done > 0 {
			fmt.Fprintf(w, ", where %d are", plan.Done)
		}
		fmt.Fprintln(w)
	}
	if c.dry {
		return errDry
	}
	return nil
}
