package main

import (
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// allAnswers measures an answer so long that it has to be streamed: its rate
// against the canned server, and what it takes of the server's memory.
type allAnswers struct {
	cloud spec
	query question
}

func (a allAnswers) measure(l *lab) (f figures, err error) {
	berth, _, err := l.berth(a.cloud, nil)
	if err != nil {
		return nil, err
	}
	defer berth.Kill()
	paths := a.query.variants(l.make(a.cloud))
	if err := a.stream(l, &f, berth, paths); err != nil {
		return f, err
	}
	if err := l.compare(&f, berth, paths, paths[:1]); err != nil {
		return f, err
	}
	return f, l.profileReads(berth, paths)
}

// stream measures one answer after the other over one connection, and then how
// much more memory a few at a time need than none.
func (a allAnswers) stream(l *lab, f *figures, berth *servers.Server, paths []string) error {
	before, err := berth.Memory()
	if err != nil {
		return err
	}
	if err := berth.ResetPeak(); err != nil {
		return err
	}
	var rates, first []float64
	for range l.rounds {
		r, err := load.Run(l.plan(berth.Addr, 1, paths))
		if err != nil {
			return err
		}
		rates = append(rates, float64(r.Bytes)/1e6/r.Elapsed.Seconds())
		first = append(first, inMilliseconds(r.Took.At(0.5)))
	}
	if _, err := load.Run(l.plan(berth.Addr, rateConns, paths)); err != nil {
		return err
	}
	after, err := berth.Memory()
	f.add("one stream", median(rates), megabytes+perSecond)
	f.add("whole answer", median(first), milliseconds)
	f.add("memory for 4 streams", float64(after.Peak-before.Resident)/1e6, megabytes)
	return err
}
