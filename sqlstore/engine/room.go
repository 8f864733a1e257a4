package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A disk that is full, and a server that became read-only, leave reads as they are. So the store
// notes why writes fail, for who decides whether the service gets requests, and finds out by
// writing itself when that is over: no request would, since there are none.

// probeInterval is how often to try to write while writes fail.
const probeInterval = time.Second

// Writable returns why writes fail, nil while they succeed as far as it is known. It touches
// neither the database nor the file. The text names no server and no user.
func (s *Engine[N]) Writable() error {
	if why := s.unwritable.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

// noteUnwritable notes an error of a write that says that further ones will fail as well, and logs
// the first.
func (s *Engine[N]) noteUnwritable(err error) {
	var why string
	switch {
	case s.d.Full(err):
		why = "the database cannot be written: there is no room on its disk"
	case s.d.ReadOnly(err):
		why = "the database cannot be written: it is read-only"
	default:
		return
	}
	if s.unwritable.Swap(&why) == nil {
		s.opts.Logger.Error(why+"; the service is not ready until a write succeeds, which is tried every second", "error",
			err.Error())
	}
}

// probe writes something that changes nothing: to a file the number that SQLite keeps for programs,
// to a server an entry of the change log.
func (s *Engine[N]) probe() {
	ses := s.Writer.Own()
	defer s.Writer.GiveBack(ses)
	write := s.probeFile
	if s.d.Shared {
		write = s.probeServer
	}
	if err := write(ses); err != nil {
		s.noteUnwritable(err)
		return
	}
	s.unwritable.Store(nil)
	s.opts.Logger.Info("the database can be written again")
}

func (s *Engine[N]) probeFile(ses *sqlconn.Session) error {
	s.checkpoint(ses)
	version, err := sqlconn.First(ses.Tx(context.Background()), sqlconn.Integer,
		"PRAGMA user_version")
	if err != nil {
		return err
	}
	return ses.Do(fmt.Sprintf("PRAGMA user_version = %d", version))
}

// probeServer gives the writer another id when it is not known whether the entry was committed.
func (s *Engine[N]) probeServer(ses *sqlconn.Session) error {
	if err := ses.Begin(context.Background(), s.d.Begin); err != nil {
		return err
	}
	body, own := s.service.Encode(nil)
	_, err := s.table.Commit(ses, sqlconn.Stamp(time.Now().Truncate(s.d.Precision)), body, own)
	if err == nil || s.table.RolledBack(err) {
		if err != nil {
			_ = ses.Do("ROLLBACK")
		}
		return err
	}
	ses.Close()
	s.table.Renew()
	return err
}

// checkpoint copies the write-ahead log of a file into it and empties the log, as far as Views that
// are running allow: it does not wait for them. Its failure has no consequence but that there is no
// more room than before.
func (s *Engine[N]) checkpoint(ses *sqlconn.Session) {
	if s.db.Files() == nil {
		return // in memory
	}
	_ = ses.Do("PRAGMA busy_timeout = 0")
	err := ses.Tx(context.Background()).Each(func(*sqlconn.Row) {},
		"PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		s.opts.Logger.Warn("the write-ahead log could not be copied into the database file", "error", err.Error())
	}
	_ = ses.Do(fmt.Sprintf("PRAGMA busy_timeout = %d", s.opts.BusyTimeout.Milliseconds()))
}
