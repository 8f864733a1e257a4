package numa_test

import (
	"testing"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/numa"
)

// Devices of each node, and one of none, for a server on node 0: nodes 0 and 1 share a socket.
func TestAffinity(t *testing.T) {
	top := numa.Topology{
		Nodes: []numa.Node{{ID: 0}, {ID: 1}, {ID: 2, Socket: 1}},
		PCI:   map[string]int{"near": 0, "socket": 1, "far": 2},
	}
	cells := []hostlist.Cell{{Node: 0}}
	for policy, want := range map[string]map[string]int{
		numa.Required:  {"near": 0},
		numa.Socket:    {"near": 0, "socket": 1},
		numa.Legacy:    {"near": 0, "unknown": 1},
		"":             {"near": 0, "unknown": 1},
		numa.Preferred: {"near": 0, "unknown": 1, "socket": 2, "far": 2},
	} {
		for _, device := range []string{"near", "socket", "far", "unknown"} {
			rank, ok := top.Affinity(policy, cells, device)
			if n, allowed := want[device]; ok != allowed || ok && rank != n {
				t.Errorf("Affinity(%q, node 0, %s) = %d, %v, want %d, %v", policy, device, rank, ok, n, allowed)
			}
			if _, ok := top.Affinity(policy, nil, device); !ok {
				t.Errorf("Affinity(%q, no cells, %s) is not ok", policy, device)
			}
		}
	}
	top.Nodes[2].Socket = numa.UnknownSocket
	if _, ok := top.Affinity(numa.Socket, cells, "socket"); ok || top.HasSockets() {
		t.Error("a node of an unknown socket: the policy socket is kept")
	}
}
