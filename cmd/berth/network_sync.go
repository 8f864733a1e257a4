package main

import (
	"context"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/tracking"
)

// newTracker returns what keeps the devices of agents in placement.
func (s *networkServer) newTracker(places network.Placement) *tracking.Tracker {
	return tracking.New(tracking.Options{
		Placement: places, Shared: s.service.Shared, Log: s.log,
		Done: func(ctx context.Context, agent network.ID, r tracking.Result) {
			if err := s.service.Synced(ctx, agent, r.Failure); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "how the sync of an agent went cannot be noted: its next heartbeat has it synced again",
					"agent", agent, "error", err)
			}
		},
	})
}

// reported has the devices of an agent brought into placement, if it has any that are
// placement's business, or had.
func (s *networkServer) reported(agent network.Agent, started bool) {
	state, ok := s.service.State(agent.AgentRow)
	if !ok || len(state.Providers) == 0 && agent.Synced == network.SyncNever {
		return
	}
	for _, w := range state.Warnings {
		s.log.Warn(w, "agent", agent.ID, "host", agent.Host)
	}
	s.tracker.Report(tracking.Report{Agent: agent.ID, Desired: tracking.DesiredOf(state), Started: started})
}
