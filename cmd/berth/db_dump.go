package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/dbtool"
)

// newDBDump returns "berth db dump".
func newDBDump(env environment) *cobra.Command {
	var source dbSource
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.work(cmd.Context(), env, dbtool.Look, func(db *openedDB) error {
				return dumpDB(cmd.Context(), env, db, output)
			})
		},
	}
	source.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	return cmd
}

// dumpDB writes the dump to a file or to standard output; messages go to standard error.
func dumpDB(ctx context.Context, env environment, db *openedDB, output string) error {
	start := time.Now()
	p := newProgress(env)
	var counts []dbtool.TableCount
	err := written(env, output, func(w io.Writer) (err error) {
		counts, err = db.Dump(ctx, w, p.of("dumping"))
		return err
	})
	p.end()
	if err != nil {
		return fmt.Errorf("dumping %s: %w", db.name, err)
	}
	fmt.Fprintf(env.stderr, "dumped %s: %s\n", db.name, rate(sumRows(counts), time.Since(start)))
	return nil
}

// written calls fn with a temporary file beside path, which it renames to path after everything
// was synced to disk, so that a file at path is complete; or with standard output for "". Only the
// owner can read the file: a dump has the ids of projects and users.
func written(env environment, path string, fn func(io.Writer) error) error {
	if path == "" {
		return fn(env.stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fail(exitFailure, err)
	}
	defer os.Remove(f.Name()) // it has been renamed on success
	err = fn(f)
	if err == nil {
		err = fail(exitFailure, f.Sync())
	}
	if end := f.Close(); err == nil {
		err = fail(exitFailure, end)
	}
	if err == nil {
		err = fail(exitFailure, os.Rename(f.Name(), path))
	}
	return err
}
