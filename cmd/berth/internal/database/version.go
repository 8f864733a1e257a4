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

// dbVersion is the output of "berth db version -f json". Its keys are part of the program's
// interface; standing is one of the words of [dbtool.Standing].
type dbVersion struct {
	Database    string `json:"database"`
	Server      string `json:"server"`
	Revision    string `json:"revision"`
	Standing    string `json:"standing"`
	Release     string `json:"release"`
	Target      string `json:"target"`
	BerthTables int64  `json:"berth_tables"`
}

// versionOptions are the flags of "berth db version".
type versionOptions struct {
	env    cli.Env
	source Source
	out    *cli.Output
}

// newDBVersion returns "berth db version".
func newDBVersion(env cli.Env) *cobra.Command {
	o := &versionOptions{env: env}
	cmd := &cobra.Command{
		Use:   "version [--config FILE | --connection URL] [-f FORMAT]",
		Short: "Print the revision of the database's tables",
		Long: `Version prints the revision of OpenStack's tables in the database, the release
of OpenStack Placement that introduced it, and whether it is the revision that
Berth uses. It changes nothing and may run at any time.

` + dbExitHelp,
		Example: `  berth db version --config /etc/placement/placement.conf
  berth db version --connection sqlite:////var/lib/placement/placement.db \
      -f json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run prints the version of the tables.
func (o *versionOptions) run(ctx context.Context) error {
	return o.source.Work(ctx, o.env, dbtool.Look, func(db *DB) error {
		v, err := db.Version(ctx)
		if err != nil {
			return fmt.Errorf("the database %s: %w", db.Name, err)
		}
		return o.out.Print(o.env, versionResult(db.Name, v))
	})
}

// versionResult is the version of a database as it is printed.
func versionResult(name string, v dbtool.Version) cli.Result {
	return cli.Result{
		Columns: []string{"Database", "Server", "Revision", "Standing", "Release", "Target", "Berth Tables"},
		Rows:    [][]any{{name, v.Server, v.Revision, string(v.Standing), v.Release, migrations.Target, v.Own}},
		Value: dbVersion{
			Database: name, Server: v.Server, Revision: v.Revision, Standing: string(v.Standing),
			Release: v.Release, Target: migrations.Target, BerthTables: v.Own,
		},
		Text: func(w io.Writer) error {
			own := "none"
			if v.Own > 0 {
				own = fmt.Sprintf("version %d", v.Own)
			}
			_, err := fmt.Fprintf(w, "database      %s\nserver        %s\nrevision      %s\nberth tables  %s\n",
				name, v.Server, revisionText(v), own)
			return err
		},
	}
}

// revisionText explains what the revision means for this program.
func revisionText(v dbtool.Version) string {
	release := v.Revision
	if v.Release != "" {
		release += ", " + v.Release
	}
	switch v.Standing {
	case dbtool.StandsEmpty:
		return "none, the database is empty: `berth db sync` makes the tables"
	case dbtool.StandsOlder:
		return fmt.Sprintf("%s: older than %s, which Berth needs; `berth db sync` upgrades it", release, migrations.Target)
	case dbtool.StandsNewer:
		return fmt.Sprintf("%s: newer than %s, which Berth makes, and good to work on", release, migrations.Target)
	case dbtool.StandsUnknown:
		return release + ": not known to this version of Berth, which refuses to work on it"
	}
	if v.Revision == "" {
		return "not noted (there is no alembic_version); the tables are those of " + migrations.Target
	}
	return release + ": the one that Berth makes"
}
