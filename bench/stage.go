package main

import (
	"time"

	"github.com/berthcloud/berth/bench/minimal"
	"github.com/berthcloud/berth/bench/servers"
)

// A stage is Berth on a database of its own.
type stage struct {
	berth *servers.Server
	db    *servers.MariaDB // nil: SQLite
}

// stage starts Berth on a new database with a cloud.
func (l *lab) stage(cloud spec, mariaDB bool, settings servers.Settings) (s stage, err error) {
	if !mariaDB {
		s.berth, _, err = l.berth(cloud, settings)
		return s, err
	}
	if s.db, err = l.mariaDB(cloud); err != nil {
		return s, err
	}
	if s.berth, err = l.berthOn(s.db.URL(servers.Placement), settings); err != nil {
		s.db.Kill()
	}
	return s, err
}

func (s stage) kill() {
	s.berth.Kill()
	if s.db != nil {
		s.db.Kill()
	}
}

// cpu returns the CPU times of Berth and of its database server until now.
func (s stage) cpu() (berth, database time.Duration, err error) {
	if berth, err = s.berth.CPU(); err == nil && s.db != nil {
		database, err = s.db.CPU()
	}
	return berth, database, err
}

// minimal makes another database of the same kind with a cloud and returns a function that executes
// minimal transactions of some clients in it for a time, and returns their rate.
func (s stage) minimal(l *lab, cloud spec, clients int) (func(span time.Duration) (float64, error), error) {
	if s.db != nil {
		return func(span time.Duration) (float64, error) {
			return minimal.MariaDB(l.ctx, s.db.DSN(servers.Minimal), clients, span)
		}, l.saveTo(cloud, s.db, servers.Minimal)
	}
	file, err := l.file(cloud)
	return func(span time.Duration) (float64, error) { return minimal.SQLite(l.ctx, file, clients, span) }, err
}
