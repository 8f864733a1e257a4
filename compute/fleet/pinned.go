package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
)

// checkPinned refuses a host that reports other dedicated CPUs than those that its servers have:
// they were taken out of the settings, or are offline. The error is an *inventory.StartError that
// names the servers and the CPUs, as Nova's compute service does not start then
// (nova.compute.manager.ComputeManager._validate_pinning_configuration). A host that reports no
// topology is not checked.
func (s *Service) checkPinned(ctx context.Context, host string, node compute.ID) error {
	var lost []string
	err := s.db.View(ctx, func(r compute.Reader) error {
		lost = nil
		row, err := compute.One[compute.NodeRow](r, compute.Where(compute.ByID, node))
		if errors.Is(err, compute.ErrNoRow) || err == nil && len(row.Topology) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		var t numa.Topology
		if err := json.Unmarshal(row.Topology, &t); err != nil {
			return fmt.Errorf("reading the topology of %s: %w", row.Name, err)
		}
		lost, err = lostCPUs(r, host, t)
		return err
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	return &inventory.StartError{Err: fmt.Errorf("servers have dedicated CPUs that the host does not report as such any "+
		"more: %s: have them online and in [compute] cpu_dedicated_set again, or move or delete the servers",
		strings.Join(lost, "; "))}
}

// lostCPUs says which servers have dedicated CPUs of a host that are none in a topology, sorted.
func lostCPUs(r compute.Reader, host string, t numa.Topology) (all []string, err error) {
	dedicated := map[[2]int]bool{} // by node and CPU
	for _, n := range t.Nodes {
		for _, cpu := range n.Dedicated {
			dedicated[[2]int{n.ID, cpu}] = true
		}
	}
	assignments, err := compute.AssignmentsOn(r, host)
	if err != nil {
		return nil, err
	}
	lost := map[compute.ID][]int{}
	for _, a := range assignments {
		for _, c := range a.Cells {
			for _, cpu := range slices.Concat(slices.Collect(maps.Values(c.CPUs)), c.Emulator) {
				if !dedicated[[2]int{c.Node, cpu}] && !slices.Contains(lost[a.Server], cpu) {
					lost[a.Server] = append(lost[a.Server], cpu)
				}
			}
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	servers, err := compute.Rows[compute.ServerRow](r, compute.Where(compute.ByID, slices.Sorted(maps.Keys(lost))...))
	if err != nil {
		return nil, err
	}
	names := map[compute.ID]string{}
	for _, row := range servers {
		names[row.ID] = " (" + row.Name + ")"
	}
	for id, cpus := range lost {
		slices.Sort(cpus)
		numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
		all = append(all, fmt.Sprintf("server %s%s: %s", id, names[id], numbers))
	}
	slices.Sort(all)
	return all, nil
}
