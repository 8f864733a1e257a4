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
// tables. The error is a notRunError where it is not installed.
func (l *lab) upstreamOn(db *servers.MariaDB) (*servers.Server, error) {
	dir, err := l.dir("upstream")
	if err != nil {
		return nil, err
	}
	s, err := servers.Upstream(dir, db.URL(servers.Placement), nil)
	return s, missing(err)
}

// mariaDB starts a MariaDB with a cloud in it.
func (l *lab) mariaDB(s spec) (*servers.MariaDB, error) {
	dir, err := l.dir("mariadb")
	if err != nil {
		return nil, err
	}
	db, err := servers.StartMariaDB(dir)
	if err != nil {
		return nil, missing(err)
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

// missing turns an error for a missing installation into a reason for not running a row.
func missing(err error) error {
	if errors.Is(err, servers.ErrMissing) {
		return notRunError(err.Error())
	}
	return err
}

// upstream measures upstream's service with the paths and adds "upstream rate", "upstream cpu" and
// "rate / upstream". The result is cached for other rows with the same question. It adds nothing
// where the service is not installed.
func (l *lab) upstream(f *figures, s spec, paths []string) error {
	key := paths[0]
	theirs, ok := l.theirs[key]
	if !ok {
		var err error
		theirs, err = l.measureUpstream(s, paths)
		if errors.As(err, new(notRunError)) {
			l.say("no upstream: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
		l.theirs[key] = theirs
	}
	f.add("upstream rate", theirs.rate, perSecond)
	f.add("upstream cpu", theirs.cpu, milliseconds)
	if own, ok := f.find("rate"); ok {
		f.add("rate / upstream", own.Value/theirs.rate, ratio)
	}
	return nil
}

func (l *lab) measureUpstream(s spec, paths []string) (sample, error) {
	db, err := l.mariaDB(s)
	if err != nil {
		return sample{}, err
	}
	defer db.Kill()
	up, err := l.upstreamOn(db)
	if err != nil {
		return sample{}, err
	}
	defer up.Kill()
	l.say("measuring upstream's service")
	var all []sample
	for i := range l.rounds + 1 {
		smp, err := sampleUpstream(up, paths)
		if err != nil {
			return sample{}, err
		}
		if i > 0 { // the first one warms up
			all = append(all, smp)
		}
	}
	return sample{
		cpu:  median(each(all, func(s sample) float64 { return s.cpu })),
		rate: median(each(all, func(s sample) float64 { return s.rate })),
	}, nil
}

// sampleUpstream measures the rate with as many connections as there are cores, and the
// CPU time of the service without its database.
func sampleUpstream(up *servers.Server, paths []string) (sample, error) {
	before, err := up.CPU()
	if err != nil {
		return sample{}, err
	}
	r, err := load.Run(load.Plan{
		Addr: up.Addr, Headers: servers.Headers, Conns: runtime.NumCPU(), Time: upstreamTime, Want: 200,
		Next: func(conn, i int) load.Request {
			return load.Request{Method: "GET", Path: paths[(conn*7+i)%len(paths)]}
		},
	})
	if err != nil {
		return sample{}, err
	}
	after, err := up.CPU()
	return sample{
		cpu:  float64(after-before) / float64(time.Millisecond) / float64(r.Requests),
		rate: r.Rate(),
	}, err
}
