package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// concurrent measures the time of candidates without and with concurrent writes. Both are sent at a
// fixed rate, so that the two times differ in the writes only.
type concurrent struct {
	cloud  spec
	query  question
	reads  float64 // a second
	writes float64 // a second, alternately of allocations and their removal
}

// How many clients read and write.
const (
	concurrentReaders = 2
	concurrentWriters = 16
)

func (b concurrent) measure(l *lab) (f figures, err error) {
	berth, _, err := l.berth(b.cloud, sampling(true))
	if err != nil {
		return nil, err
	}
	defer berth.Kill()
	if err := b.rounds(l, &f, berth); err != nil {
		return nil, err
	}
	return f, l.profileWhile(berth, func(span time.Duration) error {
		p := b.writing(l, berth, l.rounds+1)
		p.Time = span
		_, err := load.Run(p)
		return err
	})
}

// rounds measures both alternately, after a warm-up round.
func (b concurrent) rounds(l *lab, f *figures, berth *servers.Server) error {
	var quiet, busy, quotient, written []float64
	for i := range l.rounds + 1 {
		single, err := b.read(l, berth)
		if err != nil {
			return err
		}
		among, writes, err := b.readAmongWrites(l, berth, i)
		if err != nil {
			return err
		}
		if i > 0 {
			quiet, busy = append(quiet, inMilliseconds(single)), append(busy, inMilliseconds(among))
			quotient, written = append(quotient, float64(among)/float64(single)), append(written, writes)
		}
	}
	f.add("p99 with / without writes", median(quotient), ratio)
	f.add("p99 with writes", median(busy), milliseconds)
	f.add("p99 without", median(quiet), milliseconds)
	f.add("writes", median(written), perSecond)
	f.add("reads", b.reads, perSecond)
	return nil
}

// span is long enough for a 99th percentile of some hundred reads.
func (b concurrent) span(l *lab) time.Duration { return 6 * l.span }

// read returns the 99th percentile of the time from when a read was due to its
// answer.
func (b concurrent) read(l *lab, berth *servers.Server) (time.Duration, error) {
	p := l.plan(berth.Addr, concurrentReaders, b.query.variants(l.make(b.cloud)))
	p.Time, p.Pace = b.span(l), b.reads
	r, err := load.Run(p)
	return r.Took.At(0.99), err
}

func (b concurrent) readAmongWrites(
	l *lab, berth *servers.Server, round int,
) (p99 time.Duration, writes float64, err error) {
	plan, done := b.writing(l, berth, round), make(chan error)
	var written load.Result
	go func() {
		var err error
		written, err = load.Run(plan)
		done <- err
	}()
	p99, err = b.read(l, berth)
	err = errors.Join(err, <-done)
	return p99, written.Rate(), err
}

// writing claims on one host after the other and releases at once. No two writers
// are on the same host, and consumers of two rounds have different names.
func (b concurrent) writing(l *lab, berth *servers.Server, round int) load.Plan {
	roots := l.make(b.cloud).Roots()
	return load.Plan{
		Addr: berth.Addr, Headers: servers.Headers, Conns: concurrentWriters, Time: b.span(l), Pace: b.writes, Want: 204,
		Next: func(conn, i int) load.Request {
			path := fmt.Sprintf("/allocations/00000000-0000-4000-9%03d-%06d%06d", round, conn, i/2)
			if i%2 == 1 {
				return load.Request{Method: "DELETE", Path: path}
			}
			host := roots[(conn+i/2*concurrentWriters)%(len(roots)/concurrentWriters*concurrentWriters)]
			return load.Request{Method: "PUT", Path: path, Body: oneClaim(string(host))}
		},
	}
}

// oneClaim is the body of a claim of a new consumer on a flat host.
func oneClaim(host string) []byte {
	return fmt.Appendf(nil, `{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}}}, `+
		`"consumer_generation": null, "project_id": "bench", "user_id": "bench", "consumer_type": "INSTANCE"}`, host)
}
