package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/sqlstore"
)

// A databaseKind is what the databases of a kind of service are known by: the group
// of the settings, and the file in the user's data directory.
type databaseKind struct{ group, file string }

var (
	placementDatabase = databaseKind{"placement_database", "placement.db"}
	networkDatabase   = databaseKind{"database", "network.db"}
	computeDatabase   = databaseKind{"database", "compute.db"}
)

// options says which database the settings name and how to use it. The directory of
// the one in the user's data directory is made. The name is for people: it has no
// password.
func (k databaseKind) options(env environment, db *config.Database) (opts sqlstore.Options, name string, err error) {
	opts = sqlstore.Options{Sync: db.SyncOnStartup}
	text := db.Connection.Reveal()
	if text == "" {
		opts.Path, err = k.embedded(env)
		return opts, opts.Path, err
	}
	c, err := config.ParseConnection(text)
	if err != nil {
		return opts, "", fmt.Errorf("[%s] connection: %w", k.group, err)
	}
	if c.Dialect == config.SQLite {
		opts.Path = c.Path
		if c.InMemory() {
			opts.Path = sqlstore.Memory
		}
		return opts, opts.Path, nil
	}
	if opts.Server, err = databaseServer(c, db); err != nil {
		return opts, "", fmt.Errorf("[%s] connection_parameters: %w", k.group, err)
	}
	opts.IdleReaders = orInt(db.MaxPoolSize, 5)
	overflow := orInt(db.MaxOverflow, 10)
	if overflow < 0 {
		overflow = 100
	}
	opts.Readers = max(1, opts.IdleReaders+overflow)
	opts.ReaderWait = time.Duration(orInt(db.PoolTimeout, 30)) * time.Second
	return opts, c.String(), nil
}

// warnRelative warns of a file that is another one when the process starts in another directory:
// three slashes in a URL look like those of a whole path.
func warnRelative(path string, log *slog.Logger) {
	if path == sqlstore.Memory || filepath.IsAbs(path) || path == "" {
		return
	}
	if whole, err := filepath.Abs(path); err == nil {
		log.Warn("the database is named by a relative path, and is another file when started in another directory: write the whole path, with four slashes",
			"path", path, "file", whole, "connection", "sqlite:///"+whole)
	}
}

// embedded returns the file that holds the database when no settings name one.
func (k databaseKind) embedded(env environment) (string, error) {
	dir, err := dataDir(env)
	if errors.Is(err, errNoHome) {
		err = fmt.Errorf("%w: set [%s] connection", err, k.group)
	}
	return filepath.Join(dir, k.file), err
}

// errNoHome says that there is no place for files of Berth's own.
var errNoHome = errors.New("there is no $HOME for the database")

// dataDir returns the directory of Berth's own files, which it makes.
func dataDir(env environment) (string, error) {
	base := env.getenv("XDG_DATA_HOME")
	if base == "" {
		home := env.getenv("HOME")
		if home == "" {
			return "", errNoHome
		}
		base = filepath.Join(home, ".local", "share")
	}
	dir := filepath.Join(base, "berth")
	return dir, os.MkdirAll(dir, 0o700)
}

// databaseFailure gives the error of a database that was not opened its exit code.
func databaseFailure(err error) error {
	if errors.Is(err, sqlstore.ErrInUse) {
		return fail(exitInUse, err)
	}
	return fail(exitDatabase, err)
}

// databaseServer describes a server for the store.
func databaseServer(c config.Connection, db *config.Database) (*sqlstore.Server, error) {
	dialect := sqlstore.MySQL
	if c.Dialect == config.PostgreSQL {
		dialect = sqlstore.PostgreSQL
	}
	more, err := url.ParseQuery(strings.TrimPrefix(db.ConnectionParameters, "?"))
	if err != nil {
		return nil, errors.New("want parameters such as ssl_ca=/etc/ca.pem&charset=utf8mb4, with %XX for what needs escaping") // err repeats pieces
	}
	for name, values := range more {
		c.Query[name] = values
	}
	var hosts []string
	for _, h := range c.Hosts {
		hosts = append(hosts, hostPort(h))
	}
	return &sqlstore.Server{
		Dialect:       dialect,
		User:          c.User,
		Password:      c.Password.Reveal(),
		Hosts:         hosts,
		Database:      c.Database,
		Params:        c.Query,
		SQLMode:       db.MySQLSQLMode,
		Retries:       db.MaxRetries,
		RetryInterval: time.Duration(db.RetryInterval) * time.Second,
		Recycle:       time.Duration(max(0, db.ConnectionRecycleTime)) * time.Second,
	}, nil
}

// hostPort writes a host as the store wants it; without a port it is the
// dialect's own.
func hostPort(h config.Host) string {
	if h.Port == 0 {
		return h.Name
	}
	return net.JoinHostPort(h.Name, strconv.Itoa(h.Port))
}

func orInt(n *int, other int) int {
	if n == nil {
		return other
	}
	return *n
}
