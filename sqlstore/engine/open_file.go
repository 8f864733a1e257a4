package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// openMemory serves Views and Updates from the only connection. One connection, because each
// connection to :memory: has a database of its own.
func (s *Engine[N]) openMemory(ctx context.Context) error {
	all, err := s.connect(ctx, Memory, 1)
	if err == nil {
		err = s.service.Schema.Prepare(ctx, all[0])
	}
	if err != nil {
		_ = s.disconnect()
		return err
	}
	s.start(all[0], nil)
	return nil
}

// openPath looks at the file before anything may change it, with the lock held
// so that no other process changes it either.
func (s *Engine[N]) openPath(ctx context.Context) error {
	path, err := realPath(s.opts.Path)
	if err != nil {
		return err
	}
	if err := sqlconn.CheckPlace(path); err != nil {
		return err
	}
	s.release, err = sqlconn.LockFile(path)
	if err != nil {
		return err
	}
	if err := s.emptied(path); err != nil {
		s.release()
		return err
	}
	if err := s.openFile(ctx, path); err != nil {
		_ = s.disconnect()
		s.release()
		return err
	}
	return nil
}

// emptied removes the files of the database if that is requested.
func (s *Engine[N]) emptied(path string) error {
	if !s.opts.Empty {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("emptying it: %w", err)
		}
	}
	return nil
}

// openFile connects the writer before the readers: it makes the file a database with a write-ahead
// log, and its tables, and readers may do neither.
func (s *Engine[N]) openFile(ctx context.Context, path string) error {
	if err := s.inspect(ctx, path); err != nil {
		return err
	}
	if err := sqlconn.CreateFile(path); err != nil {
		return err
	}
	files, err := sqlconn.WatchFiles(s.opts.Path, path, s.opts.Logger)
	if err != nil {
		return err
	}
	writers, err := s.connect(ctx, sqlconn.SQLiteURI(path, "rw", sqlconn.WriterPragmas(s.opts.BusyTimeout)...), 1)
	if err != nil {
		return err
	}
	if err := s.service.Schema.Prepare(ctx, writers[0]); err != nil {
		return err
	}
	readers, err := s.connect(ctx, sqlconn.SQLiteURI(path, "rw", sqlconn.BusyPragma(s.opts.BusyTimeout), "query_only(1)"),
		s.opts.Readers)
	if err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := files.Add(path + suffix); err != nil {
			return err
		}
	}
	if err := files.Check(); err != nil {
		return err
	}
	s.files = files
	s.start(writers[0], readers)
	return nil
}

// inspect refuses a file that cannot be used, reading it only.
func (s *Engine[N]) inspect(ctx context.Context, path string) error {
	empty, err := sqlconn.CheckFile(path)
	if empty || err != nil {
		return err
	}
	all, err := s.connect(ctx, sqlconn.ReadOnlyURI(path, sqlconn.BusyPragma(s.opts.BusyTimeout)), 1)
	if err != nil {
		return err
	}
	err = s.service.Schema.Look(ctx, all[0])
	if end := s.disconnect(); err == nil {
		err = end
	}
	return err
}

// realPath returns the one name of a file, so that two names of it lead to one
// lock. The file need not exist, its directory must.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("the directory %s cannot be used: %w", filepath.Dir(abs), err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// connect opens n sessions on one data source and keeps them for shut. The pool of database/sql
// keeps all of them open, so that pragmas of the data source are set once for each.
func (s *Engine[N]) connect(ctx context.Context, source string, n int) ([]*sqlconn.Session, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, s.d.Translate("connecting", err)
	}
	s.dbs = append(s.dbs, db)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	first := len(s.sessions)
	for range n {
		ses := sqlconn.NewSession(s.d, db.Conn)
		if err := ses.Connect(ctx); err != nil {
			return nil, s.d.Translate("connecting", err)
		}
		s.sessions = append(s.sessions, ses)
	}
	return s.sessions[first:], nil
}
