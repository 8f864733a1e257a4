package node_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/internal/golden"
)

// TestTopology reads the files of machines of many kinds. A file of testdata/machines is one
// machine: its question are the files that are read, and its answer is what is known of it. Lines
// of the question are:
//
//	/sys/devices/system/cpu/cpu{0-3,8}/topology/physical_package_id 0
//	                          a file, or one for each number in braces, and what is in it
//	/sys/devices/system/node/ a directory
//	[GROUP] OPTION = VALUE    a setting of nova.conf
//	page 64                   kB of an ordinary page of memory; 4 when not given
//	machine NAME              the files and settings of another machine, which later lines change
//	without PATH              there is no such file or directory
func TestTopology(t *testing.T) {
	for _, file := range golden.Files(t, "testdata/machines/*.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden.Answer(t, file, func(t *testing.T, question []string) []string {
				m := &machine{host: host{dir: t.TempDir(), disk: 200, arch: "x86_64"}, pageKB: 4}
				m.write(t, "state/compute_id", hostID+"\n")
				m.make(t, "machine")
				m.read(t, question)
				m.write(t, "nova.conf", strings.Join(m.conf, "\n")+"\n")
				return m.topology()
			})
		})
	}
}

// A machine is the question, as files.
type machine struct {
	host
	conf   []string // lines of nova.conf
	pageKB int64
}

func (m *machine) read(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "machine":
			text := golden.Read(t, "testdata/machines/"+rest+".txt")
			question, _, _ := strings.Cut(text, "\n----\n")
			m.read(t, slices.DeleteFunc(strings.Split(question, "\n"), func(line string) bool {
				return strings.HasPrefix(line, "#")
			}))
		case word == "page":
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			m.pageKB = n
		case word == "without":
			if err := os.RemoveAll(filepath.Join(m.dir, "machine", rest)); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(word, "["):
			m.conf = append(m.conf, word, rest)
		case strings.HasSuffix(word, "/"):
			m.make(t, "machine"+word)
		case strings.HasPrefix(word, "/"):
			for _, path := range expand(t, word) {
				m.write(t, "machine"+path, rest+"\n")
			}
		default:
			t.Fatalf("%q is no line of a machine", line)
		}
	}
}

// expand returns a path for each number in its braces.
func expand(t *testing.T, path string) (all []string) {
	t.Helper()
	prefix, rest, braces := strings.Cut(path, "{")
	if !braces {
		return []string{path}
	}
	set, suffix, _ := strings.Cut(rest, "}")
	numbers, _, err := node.ParseCPUs(set)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, n := range numbers {
		all = append(all, prefix+strconv.Itoa(n)+suffix)
	}
	return all
}

// topology is what the host knows of the machine.
func (m *machine) topology() (lines []string) {
	s, warnings, err := m.load()
	for _, w := range warnings {
		lines = append(lines, "warning "+w)
	}
	var top node.Topology
	if err == nil {
		machine := m.machine()
		machine.PageKB = m.pageKB
		top, err = s.Topology(machine)
	}
	if err != nil {
		for line := range strings.SplitSeq(strings.ReplaceAll(err.Error(), m.dir, "DIR"), "\n") {
			lines = append(lines, "error "+line)
		}
		return lines
	}
	return append(lines, shownTopology(top, s.Nodes(top))...)
}

// shownTopology is a topology, with what of the nodes placement gets from a host that reports them.
func shownTopology(top node.Topology, reported []inventory.Node) (lines []string) {
	if !top.NUMA {
		lines = append(lines, "no NUMA")
	}
	for i, n := range top.Nodes {
		place := fmt.Sprintf("socket %d", n.Socket)
		if n.Socket == numa.UnknownSocket {
			place = "no socket"
		}
		lines = append(lines,
			fmt.Sprintf("node %d: CPUs %s, %s, %d MiB, distances %s", n.ID, numbers(n.CPUs), place, n.MemoryMB,
				strings.Trim(fmt.Sprint(n.Distances), "[]")),
			"  cores "+cores(n.Cores),
			fmt.Sprintf("  shared %s, dedicated %s", numbers(n.Shared), numbers(n.Dedicated)))
		for _, p := range n.Pages {
			lines = append(lines, fmt.Sprintf("  pages of %d kB: %d, reserved %d", p.SizeKB, p.Total, p.Reserved))
		}
		lines = append(lines, "  VCPU "+shownAmount(reported[i].VCPU), "  PCPU "+shownAmount(reported[i].PCPU))
		for _, p := range reported[i].Pages {
			lines = append(lines, fmt.Sprintf("  MEMORY_MB in %d kB (small: %t) %s", p.SizeKB, p.Small, shownAmount(p.Amount)))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(top.Devices)) {
		lines = append(lines, fmt.Sprintf("device %s: node %d", address, top.Devices[address]))
	}
	for _, w := range top.Warnings {
		lines = append(lines, "warning "+w)
	}
	return lines
}

// numbers writes CPUs in their order: "0-3,8"; "none" for none.
func numbers(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		part := strconv.Itoa(all[i])
		if j > i {
			part += "-" + strconv.Itoa(all[j])
		}
		parts, i = append(parts, part), j+1
	}
	return cmp.Or(strings.Join(parts, ","), "none")
}

// cores writes threads that share a core with a slash between them.
func cores(all [][]int) string {
	var parts []string
	for _, threads := range all {
		parts = append(parts, strings.ReplaceAll(strings.Trim(fmt.Sprint(threads), "[]"), " ", "/"))
	}
	return cmp.Or(strings.Join(parts, " "), "none")
}
