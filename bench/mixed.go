package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/berthcloud/berth/bench/claims"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// mixedClients is the number of concurrent clients, and fewClients the number for the comparison of
// the times of searches.
const (
	mixedClients = 16
	fewClients   = 4
	fewSearches  = "p99 / p50 of a search, 4 clients"
)

// mixed measures cycles of one search (limit=1000), one claim of a candidate, and its release: a
// cloud's requests to placement for each server. The cloud changes between any two answers. Next to
// it, the limits: the canned server's answer to the search, and two minimal transactions in the
// same kind of database. CPU is that of all servers, the database's included.
type mixed struct {
	cloud    spec
	mariaDB  bool // else SQLite
	upstream bool // compare with upstream's service on the same MariaDB
	small    spec // compare with a smaller cloud, unless it is zero
}

// limitCloud is the cloud of the minimal transactions.
var limitCloud = spec{kind: "flat", hosts: 1000}

// A mixedStage has the servers of one row.
type mixedStage struct {
	stage
	canned  *servers.Server
	paths   []string
	minimal func(span time.Duration) (rate float64, err error)
}

func (m mixed) measure(l *lab) (f figures, err error) {
	if err := m.berth(l, &f); err != nil || m.small == (spec{}) {
		return f, err
	}
	l.row += "-small" // its profile is another one
	small, err := mixed{cloud: m.small, mariaDB: m.mariaDB}.measure(l)
	if err != nil {
		return f, err
	}
	f.addSmall(small, "cpu a cycle")
	return f, nil
}

// berth measures Berth with the cloud, the limits and, where it is wanted, upstream's service.
func (m mixed) berth(l *lab, f *figures) (err error) {
	s := mixedStage{paths: limited(everyHost, "1000").variants(l.make(m.cloud))}
	if s.stage, err = l.stage(m.cloud, m.mariaDB, nil); err != nil {
		return err
	}
	defer s.kill()
	if s.canned, _, err = l.canned(s.berth, s.paths[:1]); err != nil {
		return err
	}
	defer s.canned.Kill()
	if s.minimal, err = s.stage.minimal(l, limitCloud, mixedClients); err != nil {
		return err
	}
	if err := m.rounds(l, f, &s); err != nil {
		return err
	}
	if err := l.profileWhile(s.berth, func(span time.Duration) error {
		_, err := claims.Run(s.plan(s.berth, mixedClients, span, 1<<40))
		return err
	}); err != nil {
		return err
	}
	if m.upstream && m.mariaDB && !l.alone {
		return m.nextToUpstream(l, f, &s)
	}
	return nil
}

func (s *mixedStage) plan(server *servers.Server, clients int, span time.Duration, seed uint64) claims.Plan {
	return claims.Plan{
		Addr: server.Addr, Headers: servers.Headers, Clients: clients, Time: span, Seed: seed,
		Query: func(n int) string { return s.paths[n%len(s.paths)] },
	}
}

// rounds measures Berth and the limits alternately, after a warm-up round.
func (m mixed) rounds(l *lab, f *figures, s *mixedStage) error {
	var rates, cpus, databases, limits, over, spreads []float64
	var parts claims.Parts
	for i := range l.rounds + 1 {
		limit, err := s.limit(l)
		if err != nil {
			return err
		}
		seed := uint64(i+1) << 32
		r, cpu, database, err := s.cycles(l, mixedClients, 4*l.span, seed)
		if err != nil {
			return err
		}
		few, _, _, err := s.cycles(l, fewClients, 4*l.span, seed+mixedClients)
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		rates, cpus, databases = append(rates, r.Rate()), append(cpus, cpu), append(databases, database)
		limits, over = append(limits, limit), append(over, cpu/limit)
		searches := few.Parts.Searches
		spreads = append(spreads, float64(searches.At(0.99))/float64(searches.At(0.5)))
		parts = parts.And(r.Parts)
	}
	f.add("cpu / limits", median(over), ratio)
	f.add("cpu a cycle", median(cpus), milliseconds)
	f.add("of it the database", median(databases), milliseconds)
	f.add("limits cpu", median(limits), milliseconds)
	f.add("cycles", median(rates), perSecond)
	for _, part := range []struct {
		name  string
		times load.Times
	}{{"search", parts.Searches}, {"claim", parts.Claims}, {"release", parts.Releases}} {
		f.addTime(part.name+" p50", part.times.At(0.5))
		f.addTime(part.name+" p99", part.times.At(0.99))
	}
	f.add(fewSearches, median(spreads), ratio)
	return nil
}

// cycles runs cycles for a while and returns the milliseconds of CPU for each, of Berth and its
// database together and of the database alone.
func (s *mixedStage) cycles(
	l *lab, clients int, span time.Duration, seed uint64,
) (r claims.Result, cpu, database float64, err error) {
	if err := l.ctx.Err(); err != nil {
		return r, 0, 0, err
	}
	ours, theirs, err := s.cpu()
	if err != nil {
		return r, 0, 0, err
	}
	if r, err = claims.Run(s.plan(s.berth, clients, span, seed)); err != nil {
		return r, 0, 0, err
	}
	oursAfter, theirsAfter, err := s.cpu()
	if err != nil {
		return r, 0, 0, err
	}
	if r.Claims == 0 {
		return r, 0, 0, fmt.Errorf("no claim in %v", span)
	}
	database = inMilliseconds(theirsAfter-theirs) / float64(r.Claims)
	return r, inMilliseconds(oursAfter-ours)/float64(r.Claims) + database, database, nil
}

// limit returns the milliseconds of CPU of a canned answer and of two minimal transactions, with
// the same number of clients as the cycles.
func (s *mixedStage) limit(l *lab) (float64, error) {
	answer, err := l.cpuOf(s.canned, mixedClients, s.paths[:1])
	if err != nil {
		return 0, err
	}
	_, begin, err := s.cpu()
	if err != nil {
		return 0, err
	}
	own, start := ownCPU(), time.Now()
	rate, err := s.minimal(2 * l.span)
	if err != nil {
		return 0, err
	}
	_, end, err := s.cpu()
	if err != nil {
		return 0, err
	}
	transaction := inMilliseconds(end-begin+ownCPU()-own) / (rate * time.Since(start).Seconds())
	return answer + 2*transaction, nil
}

// ownCPU is the CPU time of this process, which executes the minimal transactions.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(os.NewSyscallError("getrusage", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// upstreamSpan is enough for some cycles of upstream's service.
const upstreamSpan = 20 * time.Second

// nextToUpstream measures cycles with upstream's service on the same database.
func (m mixed) nextToUpstream(l *lab, f *figures, s *mixedStage) error {
	s.berth.Kill()
	theirs, err := l.upstreamOn(s.db)
	if err != nil || theirs == nil {
		return err
	}
	defer theirs.Kill()
	r, err := claims.Run(s.plan(theirs, mixedClients, upstreamSpan, 1<<41))
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	ours, _ := f.find("cycles")
	f.add("cycles / upstream", ours.Value/r.Rate(), ratio)
	f.add("upstream cycles", r.Rate(), perSecond)
	return nil
}
