package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// restoreOptions are the flags of "berth db restore".
type restoreOptions struct {
	env    cli.Env
	source Source
	input  string
	dry    bool
	out    *cli.Output
}

// newDBRestore returns "berth db restore".
func newDBRestore(env cli.Env) *cobra.Command {
	o := &restoreOptions{env: env}
	cmd := &cobra.Command{
		Use:   "restore [--config FILE | --connection URL] [--input FILE]\n        [--dry-run] [-f FORMAT]",
		Short: "Fill an empty database from a dump",
		Long: `Restore creates the tables and fills them with the rows of a dump, ids included.
The database must be empty, or have empty tables; any other is refused. Do not
start a service on it before: it would add the standard traits.

The dump is read twice: nothing is written if it is truncated or altered. All
rows are then written in one transaction.

` + dbExitHelp,
		Example: `  berth db restore --connection sqlite:////var/lib/placement/new.db \
      --input placement.dump
  zstd -d < placement.dump.zst |
      berth db restore --config /etc/placement/placement.conf
  berth db restore --connection @/etc/placement/database-url \
      --input placement.dump --dry-run`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	cmd.Flags().StringVarP(&o.input, "input", "i", "", "`FILE`: dump to read (default standard input)")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "check the dump and the database, and write nothing")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run restores a dump.
func (o *restoreOptions) run(ctx context.Context) error {
	if err := o.out.Check(countColumns); err != nil {
		return err
	}
	in, err := dumpInput(o.input, o.env.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	return o.source.Work(ctx, o.env, dbtool.Make, func(db *DB) error {
		return restoreDB(ctx, o.env, db, in, o.dry, o.out)
	})
}

// dumpInput opens a dump. One from a pipe is copied to a temporary file, since it is read twice.
// The error has its exit code.
func dumpInput(path string, stdin io.Reader) (*os.File, error) {
	if path != "" {
		f, err := os.Open(path)
		return f, cli.Fail(cli.ExitUsage, err)
	}
	if cli.IsTerminal(stdin) {
		return nil, cli.Fail(cli.ExitUsage, errors.New("there is no dump on standard input: name one with --input FILE"))
	}
	f, err := os.CreateTemp("", "berth-restore-*")
	if err != nil {
		return nil, cli.Fail(cli.ExitFailure, err)
	}
	_ = os.Remove(f.Name()) // it is removed with the last descriptor
	_, err = io.Copy(f, stdin)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // err is the one to report
		return nil, cli.Fail(cli.ExitFailure, fmt.Errorf("reading the dump: %w", err))
	}
	return f, nil
}

// restoreDB restores the dump, or only checks dump and database in a dry run, and prints the
// result.
func restoreDB(ctx context.Context, env cli.Env, db *DB, in io.ReadSeeker, dry bool, out *cli.Output) error {
	start := time.Now()
	p := cli.NewProgress(env)
	restore := func() ([]dbtool.TableCount, error) { return db.Restore(ctx, in, p.Of("restoring")) }
	if dry {
		restore = func() ([]dbtool.TableCount, error) {
			if err := db.Vacant(ctx); err != nil {
				return nil, err
			}
			return dbtool.CheckDump(ctx, in)
		}
	}
	counts, err := restore()
	p.End()
	if err != nil {
		return fmt.Errorf("restoring %s: %w", db.Name, err)
	}
	took := time.Since(start)
	r := countsResult(counts)
	r.Value = struct {
		Database string              `json:"database"`
		DryRun   bool                `json:"dry_run"`
		Tables   []dbtool.TableCount `json:"tables"`
		Rows     int64               `json:"rows"`
		Seconds  float64             `json:"seconds"`
	}{db.Name, dry, counts, sumRows(counts), took.Seconds()}
	r.Text = func(w io.Writer) error {
		printCounts(w, counts)
		if dry {
			fmt.Fprintf(w, "would restore %d rows into %s\n", sumRows(counts), db.Name)
			return nil
		}
		fmt.Fprintf(w, "restored %s: %s\n", db.Name, rate(sumRows(counts), took))
		return nil
	}
	return out.Print(env, r)
}
