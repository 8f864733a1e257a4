package tc_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
	"github.com/berthcloud/berth/internal/golden"
)

// TestScenarios runs testdata/plan/*.txt. Each file has the history of one host
// in blocks of commands, "----", and what came of them:
//
//	host NAME...                     the host's interfaces (first command of a file)
//	plain                            its kernel has no fq_codel
//	link NAME DIRECTION KBPS         a desired link, until the next block that has one
//	port KEY MAC|whole [min KBPS] [max KBPS]    a port of that link
//	nothing                          no link is desired
//	foreign NAME QDISC WORD          somebody else's root qdisc
//	drop NAME class|filter NUMBER    somebody removes part of a tree (filters with a class)
//	gone NAME | down NAME            somebody removes an interface, or takes it down
//	refuse OP                        steps of that kind fail in this block
//	enforce                          a round
func TestScenarios(t *testing.T) {
	for _, file := range golden.Files(t, "testdata/plan/*.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden.Compare(t, file, replay(t, golden.Read(t, file)))
		})
	}
}

// replay gives the file with what its commands print now.
func replay(t *testing.T, text string) string {
	t.Helper()
	s := &scenario{t: t}
	var blocks []string
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		commands, _, _ := strings.Cut(block, "\n----")
		s.out.Reset()
		s.kernelFaults("")
		s.fresh = true
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				s.command(strings.Fields(line))
			}
		}
		if s.out.Len() > 0 {
			commands += "\n----\n" + strings.TrimRight(s.out.String(), "\n")
		}
		blocks = append(blocks, commands)
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

type scenario struct {
	t      *testing.T
	kernel *tctest.Kernel
	links  []tc.Link
	fresh  bool // no link was given in this block
	out    strings.Builder
}

func (s *scenario) command(words []string) {
	s.t.Helper()
	args := words[1:]
	switch words[0] {
	case "host":
		s.kernel = tctest.NewKernel(args...)
	case "plain":
		s.kernel.Plain = true
	case "nothing":
		s.links = nil
	case "link":
		s.link(args)
	case "port":
		l := &s.links[len(s.links)-1]
		l.Ports = append(l.Ports, s.port(args))
	case "foreign":
		s.kernel.State[args[0]] = tc.Device{Up: true, Foreign: strings.Join(args[1:], " ")}
	case "drop":
		s.drop(s.name(args[0]), args[1], args[2])
	case "gone":
		remove(s.kernel, s.name(args[0]))
	case "down":
		d := s.kernel.State[s.name(args[0])]
		d.Up = false
		s.kernel.State[s.name(args[0])] = d
	case "refuse":
		s.kernelFaults(strings.Join(args, " "))
	case "enforce":
		s.enforce()
	default:
		s.t.Fatalf("unknown command %q", words)
	}
}

func (s *scenario) link(args []string) {
	if s.fresh {
		s.links, s.fresh = nil, false
	}
	s.links = append(s.links, tc.Link{
		Interface: args[0], Direction: tc.Direction(args[1]), Rate: s.kbps(args[2]),
	})
}

func (s *scenario) port(args []string) tc.Port {
	p := tc.Port{Key: args[0]}
	if args[1] != "whole" {
		var err error
		if p.MAC, err = tc.ParseMAC(args[1]); err != nil {
			s.t.Fatal(err)
		}
	}
	for i := 2; i+1 < len(args); i += 2 {
		if args[i] == "min" {
			p.Min = s.kbps(args[i+1])
		} else {
			p.Max = s.kbps(args[i+1])
		}
	}
	return p
}

func (s *scenario) kbps(word string) tc.Kbps {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return tc.Kbps(n)
}

// name takes "ifb:eth0" for the device that serves eth0.
func (s *scenario) name(word string) string {
	if iface, ok := strings.CutPrefix(word, "ifb:"); ok {
		return tc.IFBName(iface)
	}
	return word
}

func (s *scenario) drop(device, kind, number string) {
	n, err := strconv.ParseUint(number, 16, 16)
	if err != nil {
		s.t.Fatal(err)
	}
	tree := s.kernel.State[device].Tree
	tree.Filters = without(tree.Filters, uint16(n))
	if kind == "class" {
		delete(tree.Classes, tc.Minor(n))
	}
}

func without(filters []tc.Filter, pref uint16) []tc.Filter {
	var rest []tc.Filter
	for _, f := range filters {
		if f.Pref != pref {
			rest = append(rest, f)
		}
	}
	return rest
}

func (s *scenario) kernelFaults(op string) {
	if s.kernel == nil {
		return
	}
	s.kernel.Faults = func(step tc.Step) tctest.Fault {
		if op != "" && string(step.Op) == op {
			return tctest.Refuse
		}
		return tctest.None
	}
}

func (s *scenario) enforce() {
	s.t.Helper()
	r, err := tc.Enforce(s.kernel, s.links)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, step := range r.Steps {
		fmt.Fprintln(&s.out, step)
	}
	for _, f := range r.Failed {
		fmt.Fprintf(&s.out, "failed %v: %v\n", f.Step, f.Err)
	}
	for _, f := range r.Findings {
		fmt.Fprintln(&s.out, "finding", f)
	}
	if s.out.Len() == 0 {
		fmt.Fprintln(&s.out, "all is well")
	}
}
