package clouds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/sqlstore"
)

// SaveTo writes the cloud into an empty database, given by a SQLAlchemy URL as in placement.conf.
func (w *Cloud) SaveTo(ctx context.Context, databaseURL string) error {
	dst, err := options(databaseURL)
	if err == nil {
		err = w.restore(ctx, dst)
	}
	if err != nil {
		return fmt.Errorf("saving a cloud: %w", err)
	}
	return nil
}

// options returns the store's options of a URL.
func options(databaseURL string) (sqlstore.Options, error) {
	c, err := config.ParseConnection(databaseURL)
	if err != nil || c.Dialect == config.SQLite {
		return sqlstore.Options{Path: c.Path}, err
	}
	server := &sqlstore.Server{
		Dialect: sqlstore.MySQL, User: c.User, Password: c.Password.Reveal(), Database: c.Database, Params: c.Query,
	}
	if c.Dialect == config.PostgreSQL {
		server.Dialect = sqlstore.PostgreSQL
	}
	for _, h := range c.Hosts {
		name := h.Name
		if h.Port > 0 {
			name = net.JoinHostPort(h.Name, strconv.Itoa(h.Port))
		}
		server.Hosts = append(server.Hosts, name)
	}
	return sqlstore.Options{Server: server}, nil
}

// restore writes a dump into a temporary file and restores that.
func (w *Cloud) restore(ctx context.Context, options sqlstore.Options) (err error) {
	f, err := os.CreateTemp("", "berth-cloud-*")
	if err != nil {
		return err
	}
	defer f.Close()
	_ = os.Remove(f.Name())
	if err := w.Dump(f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	db, err := dbtool.OpenTables(ctx, options, dbtool.Make)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.Restore(ctx, f, nil)
	return err
}
