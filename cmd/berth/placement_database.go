package main

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/sqlstore"
)

// databaseOptions says which database the settings name and how to use it. The
// directory of the one in the user's data directory is made. The name is for
// people: it has no password.
func databaseOptions(env environment, cfg *config.Placement) (opts sqlstore.Options, name string, err error) {
	opts = sqlstore.Options{Sync: cfg.Database.SyncOnStartup}
	text := cfg.Database.Connection.Reveal()
	if text == "" {
		opts.Path, err = defaultDatabase(env)
		return opts, opts.Path, err
	}
	c, err := config.ParseConnection(text)
	if err != nil {
		return opts, "", fmt.Errorf("[placement_database] connection: %w", err)
	}
	if c.Dialect == config.SQLite {
		opts.Path = c.Path
		if c.InMemory() {
			opts.Path = sqlstore.Memory
		}
		return opts, opts.Path, nil
	}
	if opts.Server, err = databaseServer(c, cfg.Database); err != nil {
		return opts, "", fmt.Errorf("[placement_database] connection_parameters: %w", err)
	}
	opts.IdleReaders = orInt(cfg.Database.MaxPoolSize, 5)
	overflow := orInt(cfg.Database.MaxOverflow, 10)
	if overflow < 0 {
		overflow = 100
	}
	opts.Readers = max(1, opts.IdleReaders+overflow)
	opts.ReaderWait = time.Duration(orInt(cfg.Database.PoolTimeout, 30)) * time.Second
	return opts, c.String(), nil
}

// databaseServer describes a server for the store.
func databaseServer(c config.Connection, db config.Database) (*sqlstore.Server, error) {
	dialect := sqlstore.MySQL
	if c.Dialect == config.PostgreSQL {
		dialect = sqlstore.PostgreSQL
	}
	more, err := url.ParseQuery(strings.TrimPrefix(db.ConnectionParameters, "?"))
	if err != nil {
		return nil, err
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
