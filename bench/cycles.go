package main

import (
	"time"

	"github.com/berthcloud/berth/bench/claims"
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

// measure measures both alternately, after a warm-up round.
func (c cycles) measure(l *lab) (f figures, err error) {
	s, err := l.stage(c.cloud, c.mariaDB, sampling(true))
	if err != nil {
		return nil, err
	}
	defer s.kill()
	minimal, err := s.minimal(l, c.cloud, c.clients)
	if err != nil {
		return nil, err
	}
	query, w := limited(everyHost, "10"), l.make(c.cloud)
	run := func(span time.Duration, seed uint64) (claims.Result, error) {
		return claims.Run(claims.Plan{
			Addr: s.berth.Addr, Headers: servers.Headers, Clients: c.clients, Time: span, Keep: maxClaims, Seed: seed,
			Query: func(n int) string { return query(w, n) },
		})
	}
	var shares, rates, writes, least, took []float64
	for i := range l.rounds + 1 {
		if err := l.ctx.Err(); err != nil {
			return f, err
		}
		limit, err := minimal(4 * l.span)
		if err != nil {
			return f, err
		}
		r, err := run(4*l.span, uint64(i)<<16)
		if err != nil {
			return f, err
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
	return f, l.profileWhile(s.berth, func(span time.Duration) error {
		_, err := run(span, 1<<32)
		return err
	})
}
