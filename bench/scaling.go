package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berthcloud/berth/bench/curves"
	"github.com/berthcloud/berth/internal/clouds"
)

// A sweep is measured against one size.
type sweep struct {
	title, x string
	steps    []step
	memory   bool // curves of memory and of the start as well
}

// A step is a size, and a cloud and a question of that size.
type step struct {
	size  int
	cloud spec
	query question
}

// scaled are the questions with which time and memory are measured against size.
func scaled() []sweep {
	return []sweep{byHosts(), byGroups(), byChildren(), byTraits()}
}

func byHosts() sweep {
	s := sweep{title: "bandwidth hosts, two ports, limit=1000", x: "hosts (trees of nine providers)", memory: true}
	for _, n := range []int{1000, 3000, 10_000, 30_000, 100_000} {
		s.steps = append(s.steps, step{n, spec{kind: "bandwidth", hosts: n}, limited(everyHost, "1000")})
	}
	return s
}

func byGroups() sweep {
	s := sweep{title: "groups over eight children, limit=1000", x: "groups"}
	for n := 1; n <= wideChildren; n++ {
		s.steps = append(s.steps, step{n, spec{kind: "wide", hosts: 100}, limited(groups(n), "1000")})
	}
	return s
}

func byChildren() sweep {
	s := sweep{title: "two groups over n children, limit=1000", x: "children of a host"}
	for _, n := range []int{2, 4, 8, 16, 32, 64} {
		s.steps = append(s.steps, step{n, spec{kind: "wide", hosts: 100, children: n}, limited(groups(2), "1000")})
	}
	return s
}

func byTraits() sweep {
	s := sweep{title: "traits, 10,000 flat hosts, limit=1000", x: "traits in the question"}
	for n := range len(hostTraits) + 1 {
		s.steps = append(s.steps, step{n, spec{kind: "flat", hosts: 10_000}, limited(requiring(hostTraits[:n]), "1000")})
	}
	return s
}

func groups(n int) question {
	return func(_ *clouds.Cloud, v int) string { return clouds.Groups(n, v, "isolate") }
}

// hostTraits are some that every flat host has.
var hostTraits = []string{
	"COMPUTE_NODE", "COMPUTE_VOLUME_MULTI_ATTACH", "COMPUTE_NET_ATTACH_INTERFACE", "HW_CPU_X86_VMX",
}

func requiring(traits []string) question {
	if len(traits) == 0 {
		return everyHost
	}
	return func(w *clouds.Cloud, v int) string { return w.Query(v) + "&required=" + strings.Join(traits, ",") }
}

// scale measures all sweeps and writes the curves.
func (l *lab) scale(out io.Writer) error {
	set := curves.Set{Where: newReport(l).where()}
	for _, s := range scaled() {
		fmt.Fprintln(out, s.title)
		all, err := l.sweep(s, out)
		if err != nil {
			return err
		}
		set.Curves = append(set.Curves, all...)
	}
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.scaling, append(text, '\n'), 0o644)
}

// sweep measures the steps of one sweep.
func (l *lab) sweep(s sweep, out io.Writer) ([]curves.Curve, error) {
	time := curves.Curve{Title: "Time, " + s.title, X: s.x, Y: "ms CPU a request"}
	memory := curves.Curve{Title: "Memory, " + s.title, X: s.x, Y: "MB resident"}
	start := curves.Curve{Title: "Start, " + s.title, X: s.x, Y: "seconds until ready"}
	for _, st := range s.steps {
		f, err := l.step(st)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%8s  %s | %s | %s\n", grouped(int64(st.size)), f[0], f[1], f[2])
		for i, c := range []*curves.Curve{&time, &memory, &start} {
			c.Points = append(c.Points, curves.Point{X: float64(st.size), Y: f[i].Value})
		}
	}
	if !s.memory {
		return []curves.Curve{time}, nil
	}
	return []curves.Curve{time, memory, start}, nil
}

// step measures CPU time, memory and start at one size.
func (l *lab) step(s step) (figures, error) {
	defer l.tidy()
	berth, ready, err := l.berth(s.cloud, nil)
	if err != nil {
		return nil, err
	}
	defer berth.Kill()
	paths := s.query.variants(l.make(s.cloud))
	var cpu []float64
	for i := range l.rounds + 1 {
		x, err := l.cpuOf(berth, paths)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			cpu = append(cpu, x)
		}
	}
	memory, err := berth.Memory()
	var f figures
	f.add("cpu", median(cpu), milliseconds)
	f.add("memory", float64(memory.Resident)/1e6, megabytes)
	f.add("ready after", ready.Seconds(), seconds)
	return f, err
}
