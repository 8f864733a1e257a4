package network

import (
	"context"
	"fmt"
	"slices"
)

// Review returns the agents that match, as Agents does, with what is odd about them.
func (s *Service) Review(ctx context.Context, where ...Match) (some []Agent, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[AgentRow](r, where...)
		if err != nil || len(rows) == 0 {
			some = nil
			return err
		}
		all := rows
		if len(where) > 0 {
			all, err = Rows[AgentRow](r)
		}
		claims := s.claims(all)
		some = make([]Agent, len(rows))
		for i, row := range rows {
			some[i] = Agent{AgentRow: row, Alive: s.alive(row), Warnings: s.warnings(row, claims)}
		}
		return err
	})
	return some, err
}

// A place is the location of a device: devices of the same name on the same hypervisor are one
// device, whichever agents report them.
type place struct{ hypervisor, device string }

// claims returns the agents that report each device that is in placement.
func (rs *rules) claims(all []AgentRow) map[place][]AgentRow {
	by := make(map[place][]AgentRow)
	for _, a := range all {
		state, _ := rs.State(a) // a report that is wrong has no providers
		for _, p := range state.Providers {
			if at := (place{p.Hypervisor, p.Device}); p.Device != "" {
				by[at] = append(by[at], a)
			}
		}
	}
	return by
}

// warnings returns the warnings of an agent's report: its own, and one for each device that another
// agent reports too.
func (rs *rules) warnings(a AgentRow, claims map[place][]AgentRow) []string {
	state, err := rs.State(a)
	if err != nil {
		return nil // SyncError has it
	}
	all := slices.Clone(state.Warnings)
	for _, p := range state.Providers {
		for _, other := range claims[place{p.Hypervisor, p.Device}] {
			if other.ID != a.ID {
				all = append(all, fmt.Sprintf("%q of %s is reported by the %s on %s too: its bandwidth must be divided among them",
					p.Device, p.Hypervisor, other.Type, other.Host))
			}
		}
	}
	return all
}
