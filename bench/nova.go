package main

import (
	"fmt"
	"time"

	"github.com/berthcloud/berth/bench/claims"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// nova measures what Nova requests for one server after the other, on MariaDB: its scheduler's
// search, read and claim, the release, and the reads of its computes. It is the load of a cloud
// that is never overloaded, in which each request waits for nothing but its answer. Upstream's
// service is then measured on the same database.
type nova struct{ cloud spec }

// novaSpan is long enough for some servers with upstream's service.
const novaSpan = 20 * time.Second

func (n nova) measure(l *lab) (f figures, err error) {
	s, err := l.stage(n.cloud, true, nil)
	if err != nil {
		return nil, err
	}
	defer s.kill()
	ours, err := n.berth(l, &f, s.berth)
	if err != nil || l.alone {
		return f, err
	}
	s.berth.Kill()
	theirs, err := l.upstreamOn(s.db)
	if err != nil || theirs == nil {
		return f, err
	}
	defer theirs.Kill()
	t, err := n.run(l, theirs, novaSpan, 1<<41)
	if err != nil {
		return f, fmt.Errorf("upstream: %w", err)
	}
	n.note(&f, "upstream ", t)
	f.add("cycle / upstream", float64(cycle(t))/float64(cycle(ours)), ratio)
	f.add("servers / upstream", ours.Rate()/t.Rate(), ratio)
	return f, nil
}

// berth measures Berth.
func (n nova) berth(l *lab, f *figures, berth *servers.Server) (all claims.NovaTimes, err error) {
	for i := range l.rounds + 1 {
		t, err := n.run(l, berth, 4*l.span, uint64(i+1)<<32)
		if err != nil {
			return all, err
		}
		if i > 0 {
			all = all.And(t)
		}
	}
	n.note(f, "", all)
	return all, l.profileWhile(berth, func(span time.Duration) error {
		_, err := n.run(l, berth, span, 1<<40)
		return err
	})
}

// run has Nova create and delete servers.
func (n nova) run(l *lab, s *servers.Server, span time.Duration, seed uint64) (t claims.NovaTimes, err error) {
	if err := l.ctx.Err(); err != nil {
		return t, err
	}
	w := l.make(n.cloud)
	roots := make([]string, 0, n.cloud.hosts)
	for _, root := range w.Roots() {
		roots = append(roots, string(root))
	}
	c, err := claims.DialNova(s.Addr, roots, everyHost.variants(w), seed)
	if err != nil {
		return t, err
	}
	defer c.Close()
	return c.Run(span)
}

// cycle is the time of the requests for a server itself, medians.
func cycle(t claims.NovaTimes) time.Duration {
	return t.Searches.At(0.5) + t.Reads.At(0.5) + t.Claims.At(0.5) + t.Releases.At(0.5)
}

// note adds how many servers there were, and the medians of the requests of each kind.
func (n nova) note(f *figures, prefix string, t claims.NovaTimes) {
	f.add(prefix+"servers", t.Rate(), perSecond)
	f.addTime(prefix+"cycle", cycle(t))
	for _, part := range []struct {
		name  string
		times load.Times
	}{
		{"search p50", t.Searches},
		{"read p50", t.Reads},
		{"claim p50", t.Claims},
		{"release p50", t.Releases},
		{"agent's read p50", t.Agents},
	} {
		f.addTime(prefix+part.name, part.times.At(0.5))
	}
}
