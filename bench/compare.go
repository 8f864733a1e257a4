package main

import (
	"github.com/berthcloud/berth/bench/canned"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// rateConns is the number of connections for measuring a rate: enough to keep two cores busy.
const rateConns = 4

// A sample is the measurement of one server in one round.
type sample struct {
	cpu  float64 // milliseconds a request, one connection
	rate float64 // requests a second, several connections
	mbs  float64 // megabytes of bodies a second, likewise
}

// sampleOf measures a server for a moment: first its CPU time over one
// connection, then its rate over several.
func (l *lab) sampleOf(s *servers.Server, paths []string) (sample, error) {
	cpu, err := l.cpuOf(s, paths)
	if err != nil {
		return sample{}, err
	}
	many, err := load.Run(l.plan(s.Addr, rateConns, paths))
	return sample{cpu: cpu, rate: many.Rate(), mbs: float64(many.Bytes) / 1e6 / many.Elapsed.Seconds()}, err
}

// cpuOf returns the milliseconds of CPU time that a server needs for one request.
func (l *lab) cpuOf(s *servers.Server, paths []string) (float64, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	r, err := load.Run(l.plan(s.Addr, 1, paths))
	if err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return inMilliseconds(after-before) / float64(r.Requests), err
}

// plan requests the paths in turn.
func (l *lab) plan(addr string, conns int, paths []string) load.Plan {
	return load.Plan{
		Addr: addr, Headers: servers.Headers, Conns: conns, Time: l.span, Want: 200,
		Next: func(conn, i int) load.Request {
			return load.Request{Method: "GET", Path: paths[(conn*7+i)%len(paths)]}
		},
	}
}

// compare measures Berth and a canned server with Berth's own answers, alternately, and adds the
// medians over the rounds: "cpu" and "rate", those of the canned server, and "cpu / canned" and
// "rate / canned", which are medians of the ratios of each round. Answers to all paths must have
// about the same size; the canned server has those to the paths in record, the first of which it
// sends for the rest.
func (l *lab) compare(f *figures, berth *servers.Server, paths, record []string) error {
	can, size, err := l.canned(berth, record)
	if err != nil {
		return err
	}
	defer can.Kill()
	ours, theirs, err := l.inTurn(berth, can, paths)
	if err != nil {
		return err
	}
	note(f, ours, theirs)
	f.add("answer", float64(size), octets)
	return nil
}

// canned starts a canned server with Berth's answers to some paths, and returns the size of the
// first answer.
func (l *lab) canned(berth *servers.Server, paths []string) (s *servers.Server, size int, err error) {
	pages, err := l.pagesOf(berth, paths)
	if err != nil {
		return nil, 0, err
	}
	dir, err := l.dir("canned")
	if err != nil {
		return nil, 0, err
	}
	s, err = servers.Canned(dir, pages)
	return s, len(pages.Bodies[0]), err
}

// inTurn measures two servers alternately, after a warm-up round.
func (l *lab) inTurn(a, b *servers.Server, paths []string) (as, bs []sample, err error) {
	for i := range l.rounds + 1 {
		sb, err := l.sampleOf(b, paths)
		if err != nil {
			return nil, nil, err
		}
		sa, err := l.sampleOf(a, paths)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			as, bs = append(as, sa), append(bs, sb)
		}
	}
	return as, bs, nil
}

// note adds the medians over the rounds of Berth and of the canned server.
func note(f *figures, ours, canned []sample) {
	cpu := func(s sample) float64 { return s.cpu }
	rate := func(s sample) float64 { return s.rate }
	mbs := func(s sample) float64 { return s.mbs }
	f.add("cpu / canned", median(quotients(ours, canned, cpu)), ratio)
	f.add("cpu", median(each(ours, cpu)), milliseconds)
	f.add("canned cpu", median(each(canned, cpu)), milliseconds)
	f.add("rate", median(each(ours, rate)), perSecond)
	f.add("canned rate", median(each(canned, rate)), perSecond)
	f.add("throughput", median(each(ours, mbs)), megabytes+perSecond)
	f.add("rate / canned", median(quotients(ours, canned, rate)), ratio)
}

func each(all []sample, get func(sample) float64) []float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = get(s)
	}
	return values
}

func quotients(a, b []sample, get func(sample) float64) []float64 {
	values := make([]float64, len(a))
	for i := range a {
		values[i] = get(a[i]) / get(b[i])
	}
	return values
}

// pagesOf fetches the answers of a server.
func (l *lab) pagesOf(s *servers.Server, paths []string) (canned.Pages, error) {
	c, err := load.Dial(s.Addr, servers.Headers...)
	if err != nil {
		return canned.Pages{}, err
	}
	defer c.Close()
	pages := canned.Pages{Paths: paths}
	for _, path := range paths {
		body, err := get(c, path)
		if err != nil {
			return pages, err
		}
		pages.Bodies = append(pages.Bodies, body)
	}
	return pages, nil
}
