package worlds

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/sqlstore"
)

// SaveTo puts the world into an empty database, which a SQLAlchemy URL names as
// in placement.conf.
func (w *World) SaveTo(ctx context.Context, databaseURL string) error {
	c, err := config.ParseConnection(databaseURL)
	if err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	if c.Dialect == config.SQLite {
		return w.Save(ctx, c.Path)
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
	return w.restore(ctx, sqlstore.Options{Server: server})
}

// restore writes a dump into a file that is gone when it was read.
func (w *World) restore(ctx context.Context, to sqlstore.Options) error {
	f, err := os.CreateTemp("", "berth-world-*")
	if err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	defer f.Close()
	_ = os.Remove(f.Name())
	if err := w.Dump(f); err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	db, err := sqlstore.OpenTables(ctx, to, sqlstore.Make)
	if err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	_, err = db.Restore(ctx, f, nil)
	if end := db.Close(); err == nil {
		err = end
	}
	if err != nil {
		return fmt.Errorf("saving a world: %w", err)
	}
	return nil
}
