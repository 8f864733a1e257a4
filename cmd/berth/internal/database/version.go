package database

import (
	"fmt"

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

// newDBVersion returns "berth db version".
func newDBVersion(env cli.Env) *cobra.Command {
	var source Source
	var form *cli.Choice
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.Work(cmd.Context(), env, dbtool.Look, func(db *DB) error {
				v, err := db.Version(cmd.Context())
				if err != nil {
					return fmt.Errorf("the database %s: %w", db.Name, err)
				}
				return cli.Fail(cli.ExitFailure, printDBVersion(env, db.Name, v, form.Json()))
			})
		},
	}
	source.Flags(cmd)
	form = cli.AddFormat(cmd, "text")
	return cmd
}

func printDBVersion(env cli.Env, name string, v dbtool.Version, asJSON bool) error {
	if asJSON {
		return cli.WriteJSON(env.Stdout, dbVersion{
			Database: name, Server: v.Server, Revision: v.Revision, Standing: string(v.Standing),
			Release: v.Release, Target: migrations.Target, BerthTables: v.Own,
		})
	}
	own := "none"
	if v.Own > 0 {
		own = fmt.Sprintf("version %d", v.Own)
	}
	_, err := fmt.Fprintf(env.Stdout, "database      %s\nserver        %s\nrevision      %s\nberth tables  %s\n",
		name, v.Server, revisionText(v), own)
	return err
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
