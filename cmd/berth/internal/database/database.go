package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/osloconfig"
	"github.com/berthcloud/berth/sqlstore"
)

// dbExitHelp documents the exit codes in the help texts of the database commands.
const dbExitHelp = `Exit codes:
  0  done
  1  refused or not finished; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  4  the database is in use by another process`

// New returns "berth db", which has subcommands only.
func New(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Create, check, upgrade, dump, restore and copy the database",
		Long: `These commands work on the database of a placement service, Berth's or
OpenStack's: SQLite, MariaDB or MySQL, PostgreSQL. They take it from the same
settings as berth placement serve, or from --connection.

The commands of OpenStack and those that correspond to them:

  placement-manage db sync                     berth db sync
  placement-manage db version                  berth db version
  placement-manage db online_data_migrations   berth db online-data-migrations
  placement-status upgrade check               berth db check`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDBVersion(env), newDBSync(env), newDBCheck(env), newDBMigrate(env),
		newDBDump(env), newDBRestore(env), newDBCopy(env), newDBUninstall(env))
	return cmd
}

// A Source selects the database of a command by its flags: settings files as those of the service,
// or a URL.
type Source struct {
	Files, Dirs []string
	Connection  string
	// Once has a database of the settings tried once, whatever they say: a database that cannot be
	// reached is a result.
	Once bool
	// Standby opens a server that takes no writes, where none takes any.
	Standby bool
}

// Flags adds the flags to those of a command. A URL may be in a file (@FILE), so that its password
// need not be on the command line, which other users of the machine can read.
func (s *Source) Flags(f *pflag.FlagSet) {
	cli.AddConfigFlags(f, "placement.conf", &s.Files, &s.Dirs)
	f.StringVar(&s.Connection, "connection", "",
		"`URL`: URL of the placement database, instead of that of the settings, or @FILE with the URL")
}

// Given reports whether a flag names a database.
func (s *Source) Given() bool { return len(s.Files)+len(s.Dirs) > 0 || s.Connection != "" }

// Settings reads the settings. A URL in the flags replaces theirs; it is tried once, since an
// interactive command is to fail at once.
func (s *Source) Settings() (*config.Placement, error) {
	cfg, _, err := config.LoadPlacement(s.Files, s.Dirs)
	if err != nil {
		return nil, fmt.Errorf("reading the settings:\n%w", err)
	}
	if s.Once {
		cfg.Database.MaxRetries = 0
	}
	if s.Connection == "" {
		return cfg, nil
	}
	cfg.Database.Connection, err = connectionURL(s.Connection)
	cfg.Database.ConnectionParameters = ""
	cfg.Database.MaxRetries = 0 // an interactive command fails at once
	return cfg, err
}

// connectionURL returns a URL from the command line, or from the file that it names after @: other
// users can read command lines.
func connectionURL(text string) (osloconfig.Secret, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the database URL: %w", err)
		}
		text = strings.TrimSpace(string(content))
	}
	return osloconfig.Secret(text), nil
}

// An DB is the open database of a command. Its name is the file or the URL without the
// password. The settings are there for what they have besides the database: the policy file, and
// the owner of incomplete consumers.
type DB struct {
	*dbtool.Tables
	Name string // for messages
	cfg  *config.Placement
	log  io.Closer
}

// Close closes the connection, unlocks a file and closes the log.
func (db *DB) Close() error {
	return errors.Join(db.Tables.Close(), db.log.Close())
}

// open opens the database. The error has its exit code: that of usage for the settings, and those
// of dbFail for the database. What the store reports meanwhile, such as slow operations, is logged
// to standard error.
func (s *Source) open(ctx context.Context, env cli.Env, access dbtool.Access) (*DB, error) {
	cfg, err := s.Settings()
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, err)
	}
	opts, name, err := daemon.PlacementDatabase.Options(env.Getenv, &cfg.Database)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, err)
	}
	log, output, err := toolLog(env)
	if err != nil {
		return nil, cli.Fail(cli.ExitFailure, err)
	}
	if s.Connection == "" { // on a command line a relative path is meant
		daemon.WarnRelative(opts.Path, log)
	}
	opts.Logger = log
	t, err := dbtool.OpenTables(ctx, opts, access)
	if err != nil && s.Standby && opts.Server != nil {
		server := *opts.Server
		server.Standby, opts.Server = true, &server
		if tables, failed := dbtool.OpenTables(ctx, opts, access); failed == nil {
			t, err = tables, nil
		}
	}
	if err != nil {
		_ = output.Close() // err is the one to report
		return nil, dbFail(err)
	}
	return &DB{t, name, cfg, output}, nil
}

// toolLog returns a log on standard error for what the store reports, such as slow operations.
func toolLog(env cli.Env) (*slog.Logger, io.Closer, error) {
	return logging.Open(logging.Options{Text: true, Name: daemon.DatabaseLog}, env.Stderr)
}

// Work opens the database, calls fn with it and closes it. The error has its exit code.
func (s *Source) Work(ctx context.Context, env cli.Env, access dbtool.Access, fn func(*DB) error) error {
	db, err := s.open(ctx, env, access)
	if err != nil {
		return err
	}
	err = fn(db)
	if end := db.Close(); err == nil && end != nil {
		err = fmt.Errorf("closing the database %s: %w", db.Name, end)
	}
	return dbFail(err)
}

// dbFail sets the exit code of a database command's error, unless it has one: refusals of a tool
// are failures, all other errors mean that the database cannot be used.
func dbFail(err error) error {
	if _, coded := cli.CodeOf(err); err == nil || coded {
		return err
	}
	switch {
	case errors.Is(err, sqlstore.ErrInUse):
		return cli.Fail(cli.ExitInUse, err)
	case errors.Is(err, context.Canceled):
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	}
	for _, refusal := range []error{dbtool.ErrFilled, dbtool.ErrDamaged, dbtool.ErrAlive, dbtool.ErrMoved} {
		if errors.Is(err, refusal) {
			return cli.Fail(cli.ExitFailure, err)
		}
	}
	return cli.Fail(cli.ExitDatabase, err)
}
