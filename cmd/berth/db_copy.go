package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/dbtool"
)

// newDBCopy returns "berth db copy". It has no --config: settings name one database, and both are
// named by URLs here.
func newDBCopy(env environment) *cobra.Command {
	var from, to string
	var resume, dry bool
	var form *choice
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return fail(exitUsage, errors.New("both databases must be named: --from URL --to URL"))
			}
			return copyDB(cmd.Context(), dbSource{connection: from}, dbSource{connection: to}, &dbCopy{env: env, resume: resume, dry: dry, json: form.json()})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the database to read, a `URL` or @FILE")
	cmd.Flags().StringVar(&to, "to", "", "the database to fill, a `URL` or @FILE")
	cmd.Flags().BoolVar(&resume, "resume", false, "resume a copy that was interrupted")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check both databases, and write nothing")
	form = addFormat(cmd, "text")
	return cmd
}

// copyDB opens both databases and copies one to the other.
func copyDB(ctx context.Context, from, to dbSource, c *dbCopy) error {
	if from.connection == to.connection {
		return fail(exitUsage, errors.New("--from and --to are the same database"))
	}
	return from.work(ctx, c.env, dbtool.Hold, func(source *openedDB) error {
		return to.work(ctx, c.env, dbtool.Make, func(target *openedDB) error {
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
	env            environment
	source, target *openedDB
	resume, dry    bool
	json           bool // print the result as JSON, and that alone
}

// run copies, and prints the result. An interrupted copy is a failure that names --resume.
func (c *dbCopy) run(ctx context.Context) error {
	start := time.Now()
	p := newProgress(c.env)
	plan, err := dbtool.Copy(ctx, c.source.Tables, c.target.Tables, dbtool.CopyOptions{
		Resume: c.resume, Planned: c.planned, Copying: p.of("copying"), Checking: p.of("checking"),
	})
	p.end()
	switch {
	case errors.Is(err, errDry):
		return c.print(plan, 0, time.Since(start))
	case errors.Is(err, context.Canceled):
		return fail(exitFailure, errors.New("interrupted: run the same command with --resume to continue"))
	case err != nil:
		return fmt.Errorf("copying %s to %s: %w", c.source.name, c.target.name, err)
	}
	return c.print(plan, plan.Rows-plan.Done, time.Since(start))
}

// print prints the result: rows_before are those that an interrupted copy had copied.
func (c *dbCopy) print(plan dbtool.CopyPlan, copied int64, took time.Duration) error {
	switch {
	case c.json:
		return fail(exitFailure, writeJSON(c.env.stdout, struct {
			From    string              `json:"from"`
			To      string              `json:"to"`
			DryRun  bool                `json:"dry_run"`
			Tables  []dbtool.TableCount `json:"tables"`
			Rows    int64               `json:"rows"`
			Before  int64               `json:"rows_before"` // by the copy that this one resumed
			Copied  int64               `json:"rows_copied"`
			Seconds float64             `json:"seconds"`
		}{c.source.name, c.target.name, c.dry, plan.Tables, plan.Rows, plan.Done, copied, took.Seconds()}))
	case !c.dry:
		fmt.Fprintf(c.env.stdout, "copied and compared: %s\n", rate(copied, took))
	}
	return nil
}

// planned prints the plan before anything is written, and ends a dry run.
func (c *dbCopy) planned(plan dbtool.CopyPlan) error {
	if w := c.env.stdout; !c.json {
		printCounts(w, plan.Tables)
		does := "copying"
		if c.dry {
			does = "would copy"
		}
		fmt.Fprintf(w, "%s %d rows from %s to %s", does, plan.Rows-plan.Done, c.source.name, c.target.name)
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
