package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berthcloud/berth/bench/claims"
	"github.com/berthcloud/berth/bench/servers"
)

// A soak's use of the machine.
const (
	soakClaims  = 1000 // a second, if the machine can do as many
	soakClients = 16
)

// soakBars are what a soak has to reach.
var soakBars = []bar{
	atMost("memory at the end / after warming up", 1.1),
	atMost("goroutines more than after warming up", 10),
	exactly("answers that changed", 0),
	exactly("answers that differ after a restart", 0),
	exactly("faults of the database", 0),
}

// A soaking is a soak under way.
type soaking struct {
	*lab
	cloud spec
	file  string
	berth *servers.Server

	memory     []float64 // megabytes, after each slice
	goroutines []float64
	claims     int
}

// soakFor claims and releases for as long as the options say, prints the progress and the result,
// and reports whether it passes.
func (l *lab) soakFor(out io.Writer) (ok bool, err error) {
	s := &soaking{lab: l, cloud: spec{kind: "flat", hosts: 1000}}
	if s.file, err = l.file(s.cloud); err != nil {
		return false, err
	}
	if err := s.start(); err != nil {
		return false, err
	}
	defer func() { s.berth.Kill() }()
	before, err := s.answers()
	if err != nil {
		return false, err
	}
	if err := s.run(out); err != nil {
		return false, err
	}
	var f figures
	f.add("claims", float64(s.claims)/l.soak.Seconds(), perSecond)
	s.trend(&f)
	if err := s.look(&f, before); err != nil {
		return false, err
	}
	v, reasons := judge(soakBars, f, nil)
	fmt.Fprint(out, line{
		Name: "soak", Title: l.soak.String() + " of claims, SQLite", Verdict: v, Reasons: reasons, Figures: f,
	})
	return v == reached, nil
}

func (s *soaking) start() (err error) {
	s.berth, _, err = servers.Berth(s.program, filepath.Dir(s.file), servers.SQLite(s.file), sampling(true))
	return err
}

// run claims in slices of time and measures the process after each.
func (s *soaking) run(out io.Writer) error {
	slice := min(max(s.soak/60, 2*time.Second), 30*time.Second)
	begin := time.Now()
	for time.Since(begin) < s.soak {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		plan := cycles{cloud: s.cloud, clients: soakClients}.plan(s.lab, s.berth, slice, rand.Uint64())
		plan.Pace, plan.Drain = soakClaims, true
		r, err := claims.Run(plan)
		if err != nil {
			return err
		}
		s.claims += r.Claims
		if err := s.note(); err != nil {
			return err
		}
		last := len(s.memory) - 1
		fmt.Fprintf(out, "%8s  %6.0f claims/s  p50 %v  p99 %v  %.1f MB  %.0f goroutines\n",
			time.Since(begin).Round(time.Second),
			r.Rate(), r.Took.At(0.5).Round(10*time.Microsecond), r.Took.At(0.99).Round(10*time.Microsecond), s.memory[last],
			s.goroutines[last])
	}
	return nil
}

// note records the process's memory and its number of goroutines.
func (s *soaking) note() error {
	memory, err := s.berth.Memory()
	if err != nil {
		return err
	}
	n, err := counter(s.berth, "go_goroutines")
	s.memory = append(s.memory, float64(memory.Resident)/1e6)
	s.goroutines = append(s.goroutines, n)
	return err
}

// trend compares the last quarter of the time with the second: in the first one
// the process warms up.
func (s *soaking) trend(f *figures) {
	second, last := quarters(s.memory)
	f.add("memory at the end / after warming up", last/second, ratio)
	f.add("memory", last, megabytes)
	second, last = quarters(s.goroutines)
	f.add("goroutines more than after warming up", last-second, count)
}

// quarters returns the medians of the second and of the last quarter of values.
func quarters(values []float64) (second, last float64) {
	n := len(values)
	return median(values[n/4 : max(n/2, n/4+1)]), median(values[min(n-n/4, n-1):])
}

// look compares the answers with those from before, since everything was released, and with those
// of a Berth that reads the database again. In between the database is checked.
func (s *soaking) look(f *figures, before answers) error {
	after, err := s.answers()
	if err != nil {
		return err
	}
	changed, err := before.changed(after)
	if err != nil {
		return err
	}
	if err := s.berth.Stop(); err != nil {
		return err
	}
	faults := s.check()
	if err := s.start(); err != nil {
		return err
	}
	again, err := s.answers()
	f.add("answers that changed", float64(changed), count)
	f.add("answers that differ after a restart", float64(after.differences(again)), count)
	f.add("faults of the database", faults, count)
	return err
}

// check has Berth check the database, and returns its exit code: 0 when all is
// well.
func (s *soaking) check() float64 {
	cmd := exec.Command(s.program, "db", "check", "--connection", servers.SQLite(s.file))
	text, err := cmd.CombinedOutput()
	if err != nil {
		s.say("%v: %v\n%s", cmd.Args, err, text)
	}
	return float64(cmd.ProcessState.ExitCode())
}
