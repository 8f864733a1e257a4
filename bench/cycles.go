package main

import (
	"time"

	"github.com/berthcloud/berth/bench/claims"
	"github.com/berthcloud/berth/bench/minimal"
	"github.com/berthcloud/berth/bench/servers"
)

// maxClaims is the number of a client's claims above which it releases the oldest for each new one.
const maxClaims = 8

// cycles measures claim cycles (candidates, a claim, later its release) against the minimal
// transaction in the same kind of database. Clients request a random sample, as most clouds do, so
// that they seldom compete for a host.
type cycles struct {
	cloud   spec
	mariaDB bool // else SQLite
	clients int
}

// A stage is Berth, and another database of the same kind with the same cloud for
// minimal transactions.
type stage struct {
	berth   *servers.Server
	minimal func(span time.Duration) (rate float64, err error)
	stop    func()
}

func (c cycles) measure(l *lab) (f figures, err error) {
	set := c.onSQLite
	if c.mariaDB {
		set = c.onMariaDB
	}
	s, err := set(l)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := c.rounds(l, &f, s); err != nil {
		return f, err
	}
	err = l.profileWhile(s.berth, func(span time.Duration) error {
		_, err := claims.Run(c.plan(l, s.berth, span, 1<<32))
		return err
	})
	return f, err
}

// rounds measures both alternately, after a warm-up round.
func (c cycles) rounds(l *lab, f *figures, s stage) error {
	var shares, rates, writes, least, took []float64
	span := 4 * l.span
	for i := range l.rounds + 1 {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		limit, err := s.minimal(span)
		if err != nil {
			return err
		}
		r, err := claims.Run(c.plan(l, s.berth, span, uint64(i)<<16))
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		shares, least = append(shares, r.Writes()/limit), append(least, limit)
		rates, writes = append(rates, r.Rate()), append(writes, r.Writes())
		took = append(took, inMilliseconds(r.Took.At(0.5)))
	}
	f.add("writes / minimal", median(shares), ratio)
	f.add("writes", median(writes), perSecond)
	f.add("minimal", median(least), perSecond)
	f.add("cycles", median(rates), perSecond)
	f.add("candidates and claim p50", median(took), milliseconds)
	return nil
}

func (c cycles) plan(l *lab, berth *servers.Server, span time.Duration, seed uint64) claims.Plan {
	query, w := limited(everyHost, "10"), l.make(c.cloud)
	return claims.Plan{
		Addr: berth.Addr, Headers: servers.Headers, Clients: c.clients, Time: span, Keep: maxClaims, Seed: seed,
		Query: func(n int) string { return query(w, n) },
	}
}

func (c cycles) onSQLite(l *lab) (s stage, err error) {
	file, err := l.file(c.cloud)
	if err != nil {
		return s, err
	}
	s.minimal = func(span time.Duration) (float64, error) { return minimal.SQLite(l.ctx, file, c.clients, span) }
	if s.berth, _, err = l.berth(c.cloud, sampling(true)); err == nil {
		s.stop = s.berth.Kill
	}
	return s, err
}

func (c cycles) onMariaDB(l *lab) (s stage, err error) {
	db, err := l.mariaDB(c.cloud)
	if err != nil {
		return s, err
	}
	if err = l.saveTo(c.cloud, db, servers.Minimal); err == nil {
		s.berth, err = l.berthOn(db.URL(servers.Placement), sampling(true))
	}
	if err != nil {
		db.Kill()
		return s, err
	}
	s.stop = func() { s.berth.Kill(); db.Kill() }
	s.minimal = func(span time.Duration) (float64, error) {
		return minimal.MariaDB(l.ctx, db.DSN(servers.Minimal), c.clients, span)
	}
	return s, nil
}
