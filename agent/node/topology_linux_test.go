package node_test

import (
	"os"
	"slices"
	"testing"

	"github.com/berthcloud/berth/agent/node"
)

// The machine that the tests run on can be read, and all its CPUs are for servers.
func TestTopologyOfThisMachine(t *testing.T) {
	_, s := question(t)
	top, err := s.Topology(node.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := node.ParseCPUs(string(online))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, n := range top.Nodes {
		got = append(got, n.Shared...)
		if len(slices.Concat(n.Cores...)) != len(n.CPUs) {
			t.Errorf("node %d has the CPUs %v in the cores %v", n.ID, n.CPUs, n.Cores)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("CPUs %v, want %v", got, want)
	}
}
