package database

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// dumpOptions are the flags of "berth db dump".
type dumpOptions struct {
	env    cli.Env
	source Source
	output string
}

// newDBDump returns "berth db dump".
func newDBDump(env cli.Env) *cobra.Command {
	o := &dumpOptions{env: env}
	cmd := &cobra.Command{
		Use:   "dump [--config FILE | --connection URL] [--output FILE]",
		Short: "Write all rows as text, for any kind of database",
		Long: `Dump writes one consistent snapshot of OpenStack's tables as lines of JSON, and
may run while services do. Databases with the same rows give the same dump, byte
for byte, whatever kind of database they are, so that dumps can be compared.
berth db restore reads them. Berth's own tables are not included; they are
created again.

Times are written to the second and allocation ratios in single precision, as
every database stores them. A dump has no secrets, but has ids of projects and
users.

A file is replaced only when the dump is complete and on disk.

` + dbExitHelp,
		Example: `  berth db dump --config /etc/placement/placement.conf --output placement.dump
  berth db dump --connection @/etc/placement/database-url |
      zstd > placement.dump.zst`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE`: file to write (default standard output)")
	return cmd
}

// run dumps the database.
func (o *dumpOptions) run(ctx context.Context) error {
	return o.source.Work(ctx, o.env, dbtool.Look, func(db *DB) error {
		return dumpDB(ctx, o.env, db, o.output)
	})
}

// dumpDB writes the dump to a file or to standard output; messages go to standard error.
func dumpDB(ctx context.Context, env cli.Env, db *DB, output string) error {
	start := time.Now()
	p := cli.NewProgress(env)
	var counts []dbtool.TableCount
	err := cli.WriteFile(env, output, func(w io.Writer) (err error) {
		counts, err = db.Dump(ctx, w, p.Of("dumping"))
		return err
	})
	p.End()
	if err != nil {
		return fmt.Errorf("dumping %s: %w", db.Name, err)
	}
	fmt.Fprintf(env.Stderr, "dumped %s: %s\n", db.Name, rate(sumRows(counts), time.Since(start)))
	return nil
}
