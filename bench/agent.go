package main

import (
	"fmt"

	"github.com/berthcloud/berth/internal/clouds"
)

// agentReads measures a compute agent's periodic reads of its tree, against the canned server and
// upstream's.
type agentReads struct{ cloud spec }

// agentHosts is the number of hosts that are read in turn.
const agentHosts = 40

func (a agentReads) measure(l *lab) (f figures, err error) {
	berth, _, err := l.berth(a.cloud, nil)
	if err != nil {
		return nil, err
	}
	defer berth.Kill()
	paths := a.paths(l.make(a.cloud))
	if _, err := l.compare(&f, berth, paths, paths); err != nil {
		return f, err
	}
	if err := l.profileReads(berth, paths); err != nil || l.alone {
		return f, err
	}
	berth.Kill()
	return f, l.upstream(&f, a.cloud, paths)
}

// paths lists the reads of some hosts: the tree, and of its root inventories,
// aggregates, traits and allocations.
func (a agentReads) paths(w *clouds.Cloud) []string {
	var paths []string
	for _, root := range w.Roots()[:agentHosts] {
		paths = append(paths, "/resource_providers?in_tree="+string(root))
		for _, part := range []string{"inventories", "aggregates", "traits", "allocations"} {
			paths = append(paths, fmt.Sprintf("/resource_providers/%s/%s", root, part))
		}
	}
	return paths
}
