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

// newDBDump returns "berth db dump".
func newDBDump(env cli.Env) *cobra.Command {
	var source Source
	var output string
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.Work(cmd.Context(), env, dbtool.Look, func(db *DB) error {
				return dumpDB(cmd.Context(), env, db, output)
			})
		},
	}
	source.Flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	return cmd
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
