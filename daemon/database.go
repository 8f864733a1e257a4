package daemon

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

// A DatabaseKind is the database of a kind of service: the group of the settings, and the name of
// the file in the user's data directory when the settings have no connection.
type DatabaseKind struct{ group, file string }

// The databases of the services. Those of the network and the compute service are in Neutron's and
// Nova's group [database] (oslo.db), and never Neutron's and Nova's own: their tables are Berth's.
var (
	PlacementDatabase = DatabaseKind{"placement_database", "placement.db"}
	networkDatabase   = DatabaseKind{"database", "network.db"}
	computeDatabase   = DatabaseKind{"database", "compute.db"}
)

// Options converts the settings of the database, and creates the data directory when it is needed.
// Unset pool sizes have SQLAlchemy's defaults. The name is for messages: it has no password.
func (k DatabaseKind) Options(
	getenv func(string) string, db *config.Database,
) (opts sqlstore.Options, name string, err error) {
	opts = sqlstore.Options{Sync: db.SyncOnStartup}
	text := db.Connection.Reveal()
	if text == "" {
		opts.Path, err = k.embedded(getenv)
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

// WarnRelative warns about a relative path, which depends on the working directory: three slashes
// in a URL look like an absolute path.
func WarnRelative(path string, log *slog.Logger) {
	if path == sqlstore.Memory || filepath.IsAbs(path) || path == "" {
		return
	}
	if whole, err := filepath.Abs(path); err == nil {
		log.Warn("the database is named by a relative path, and is another file when started in another directory: write "+
			"the whole path, with four slashes",
			"path", path, "file", whole, "connection", "sqlite:///"+whole)
	}
}

// embedded returns the path of the file for settings without a connection.
func (k DatabaseKind) embedded(getenv func(string) string) (string, error) {
	dir, err := DataDir(getenv)
	if errors.Is(err, errNoHome) {
		err = fmt.Errorf("%w: set [%s] connection", err, k.group)
	}
	return filepath.Join(dir, k.file), err
}

// errNoHome is the error when the environment names no directory for Berth's files.
var errNoHome = errors.New("there is no $HOME for the database")

// DataDir returns the directory of Berth's own files, $XDG_DATA_HOME/berth or ~/.local/share/berth,
// which it creates with access for its owner only.
func DataDir(getenv func(string) string) (string, error) {
	base := getenv("XDG_DATA_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errNoHome
		}
		base = filepath.Join(home, ".local", "share")
	}
	dir := filepath.Join(base, "berth")
	return dir, os.MkdirAll(dir, 0o700)
}

// databaseFailure returns the [Failure] of a database that could not be opened.
func databaseFailure(err error) error {
	if errors.Is(err, sqlstore.ErrInUse) {
		return Fail(DatabaseInUse, err)
	}
	return Fail(DatabaseUnusable, err)
}

// databaseServer converts the URL of a server. connection_parameters override those of the URL.
func databaseServer(c config.Connection, db *config.Database) (*sqlstore.Server, error) {
	dialect := sqlstore.MySQL
	if c.Dialect == config.PostgreSQL {
		dialect = sqlstore.PostgreSQL
	}
	more, err := url.ParseQuery(strings.TrimPrefix(db.ConnectionParameters, "?"))
	if err != nil {
		// err contains parts of the URL
		return nil, errors.New("want parameters such as ssl_ca=/etc/ca.pem&charset=utf8mb4, with %XX for what needs escaping")
	}
	for name, values := range more {
		c.Query[name] = values
	}
	var hosts []string
	for _, h := range c.Hosts {
		host := h.Name
		if h.Port != 0 { // else the dialect's default
			host = net.JoinHostPort(h.Name, strconv.Itoa(h.Port))
		}
		hosts = append(hosts, host)
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

// orInt returns an optional setting, or other when it is not set.
func orInt(n *int, other int) int {
	if n == nil {
		return other
	}
	return *n
}
