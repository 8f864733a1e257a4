package main

import (
	"errors"
	"runtime"
	"time"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// upstreamTime is how long upstream's service is measured in a round: it takes a
// second or more for some requests.
const upstreamTime = 3 * time.Second

// upstreamOn starts upstream's service on a database that Berth's store created: both have the same
// tables. It returns nil, and says so, where the service is not installed.
func (l *lab) upstreamOn(db *servers.MariaDB) (*servers.Server, error) {
	dir, err := l.dir("upstream")
	if err != nil {
		return nil, err
	}
	s, err := servers.Upstream(dir, db.URL(servers.Placement))
	if errors.Is(err, servers.ErrMissing) {
		l.say("no upstream: %v", err)
		return nil, nil
	}
	return s, err
}

// mariaDB starts a MariaDB with a cloud in it.
func (l *lab) mariaDB(s spec) (*servers.MariaDB, error) {
	dir, err := l.dir("mariadb")
	if err != nil {
		return nil, err
	}
	db, err := servers.StartMariaDB(dir)
	if errors.Is(err, servers.ErrMissing) {
		return nil, notRunError(err.Error())
	}
	if err != nil {
		return nil, err
	}
	if err := l.saveTo(s, db, servers.Placement); err != nil {
		db.Kill()
		return nil, err
	}
	return db, nil
}

func (l *lab) saveTo(s spec, db *servers.MariaDB, database string) error {
	l.say("saving the cloud %s to MariaDB", s)
	return l.make(s).SaveTo(l.ctx, db.URL(database))
}

// upstream measures upstream's service with the paths, next to Berth's "rate", and adds "upstream
// rate" and "rate / upstream". The rate is cached for other rows with the same question. It adds
// nothing where the service is not installed.
func (l *lab) upstream(f *figures, s spec, paths []string) error {
	theirs, ok := l.theirs[paths[0]]
	if !ok {
		var err error
		if theirs, err = l.upstreamRate(s, paths); err != nil {
			return err
		}
		l.theirs[paths[0]] = theirs
	}
	if theirs == 0 {
		return nil
	}
	own, _ := f.find("rate")
	f.add("upstream rate", theirs, perSecond)
	f.add("rate / upstream", own.Value/theirs, ratio)
	return nil
}

// upstreamRate returns the rate of upstream's service with as many connections as there are cores:
// the median over the rounds, after one that warms up. It is 0 where the service is not installed.
func (l *lab) upstreamRate(s spec, paths []string) (float64, error) {
	db, err := l.mariaDB(s)
	if err != nil {
		return 0, err
	}
	defer db.Kill()
	up, err := l.upstreamOn(db)
	if err != nil || up == nil {
		return 0, err
	}
	defer up.Kill()
	l.say("measuring upstream's service")
	plan := l.plan(up.Addr, runtime.NumCPU(), paths)
	plan.Time = upstreamTime
	var rates []float64
	for i := range l.rounds + 1 {
		r, err := load.Run(plan)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			rates = append(rates, r.Rate())
		}
	}
	return median(rates), nil
}
