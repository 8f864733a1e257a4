package agents

import (
	"context"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/network"
)

// Review returns the agents that match, as Agents does, with warnings for the operator.
func (s *Service) Review(ctx context.Context, where ...network.Match) (matching []Agent, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		rows, err := network.Rows[network.AgentRow](r, where...)
		if err != nil || len(rows) == 0 {
			matching = nil
			return err
		}
		all := rows
		if len(where) > 0 {
			all, err = network.Rows[network.AgentRow](r)
		}
		reporters := reportersOf(s.db.Rules, all)
		matching = make([]Agent, len(rows))
		for i, row := range rows {
			matching[i] = Agent{
				AgentRow: row, Alive: s.db.Rules.Alive(row),
				Warnings: warningsOf(s.db.Rules, row, reporters),
			}
		}
		return err
	})
	return matching, err
}

// A location is where a device is: devices of the same name on the same hypervisor are one
// device, whichever agents report them.
type location struct{ hypervisor, device string }

// reportersOf returns the agents that report each device that is in placement.
func reportersOf(rules network.Rules, all []network.AgentRow) map[location][]network.AgentRow {
	by := make(map[location][]network.AgentRow)
	for _, a := range all {
		state, _ := stateOf(rules, a) // an invalid report has no providers
		for _, p := range state.Providers {
			if at := (location{p.Hypervisor, p.Device}); p.Device != "" {
				by[at] = append(by[at], a)
			}
		}
	}
	return by
}

// warningsOf returns the warnings of an agent's report: its own, and one for each device that
// another agent reports too.
func warningsOf(rules network.Rules, a network.AgentRow, reporters map[location][]network.AgentRow) []string {
	state, err := stateOf(rules, a)
	if err != nil {
		return nil // SyncError has it
	}
	all := slices.Clone(state.Warnings)
	for _, p := range state.Providers {
		for _, other := range reporters[location{p.Hypervisor, p.Device}] {
			if other.ID != a.ID {
				all = append(all,
					fmt.Sprintf("%q of %s is reported by the %s on %s too: its bandwidth must be divided among them",
						p.Device, p.Hypervisor, other.Type, other.Host))
			}
		}
	}
	return all
}
