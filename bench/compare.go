package main

import (
	"github.com/berthcloud/berth/bench/canned"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// rateConns is the number of connections for measuring a rate: enough to keep two cores busy.
const rateConns = 4

// cpuOf returns the milliseconds of CPU time that a server needs for one request over some
// connections.
func (l *lab) cpuOf(s *servers.Server, conns int, paths []string) (float64, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	r, err := load.Run(l.plan(s.Addr, conns, paths))
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

// compare measures Berth and a canned server with Berth's own answers, alternately after a warm-up
// round, and adds the medians over the rounds: the CPU of a request of both, over one connection,
// and Berth's rate over several. "cpu / canned" is the median of the ratios of each round. Answers
// to all paths must have about the same size; the canned server has those to the paths in record,
// the first of which it sends for the rest, and which is returned.
func (l *lab) compare(f *figures, berth *servers.Server, paths, record []string) (first []byte, err error) {
	can, first, err := l.canned(berth, record)
	if err != nil {
		return nil, err
	}
	defer can.Kill()
	var over, cpus, limits, rates []float64
	for i := range l.rounds + 1 {
		limit, err := l.cpuOf(can, 1, paths)
		if err != nil {
			return nil, err
		}
		cpu, err := l.cpuOf(berth, 1, paths)
		if err != nil {
			return nil, err
		}
		several, err := load.Run(l.plan(berth.Addr, rateConns, paths))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		over, cpus = append(over, cpu/limit), append(cpus, cpu)
		limits, rates = append(limits, limit), append(rates, several.Rate())
	}
	f.add("cpu / canned", median(over), ratio)
	f.add("cpu", median(cpus), milliseconds)
	f.add("canned cpu", median(limits), milliseconds)
	f.add("rate", median(rates), perSecond)
	f.add("answer", float64(len(first)), octets)
	return first, nil
}

// canned starts a canned server with Berth's answers to some paths, and returns the first answer.
func (l *lab) canned(berth *servers.Server, paths []string) (s *servers.Server, first []byte, err error) {
	c, err := load.Dial(berth.Addr, servers.Headers...)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	pages := canned.Pages{Paths: paths}
	for _, path := range paths {
		body, err := send(c, load.Request{Method: "GET", Path: path}, 200)
		if err != nil {
			return nil, nil, err
		}
		pages.Bodies = append(pages.Bodies, body)
	}
	dir, err := l.dir("canned")
	if err != nil {
		return nil, nil, err
	}
	s, err = servers.Canned(dir, pages)
	return s, pages.Bodies[0], err
}
