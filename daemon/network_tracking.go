package daemon

import (
	"context"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement/providertree"
)

// newTracker returns the tracker that syncs the devices of agents to placement.
func (s *NetworkServer) newTracker(places providertree.Placement) *tracking.Tracker {
	return tracking.New(tracking.Options{
		Placement: places, Shared: s.service.Shared, Log: s.log,
		Done: func(ctx context.Context, agent network.ID, r network.SyncResult) {
			if err := s.service.RecordSync(ctx, agent, r); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx,
					"the result of an agent's sync cannot be recorded; the agent is synced again after its next heartbeat",
					"agent", agent, "error", err)
			}
		},
	})
}

// reported has the devices of an agent brought into placement.
func (s *NetworkServer) reported(agent agents.Agent, started bool) {
	state, err := s.service.State(agent.AgentRow)
	if err != nil {
		return
	}
	for _, w := range state.Warnings {
		s.log.Warn(w, "agent", agent.ID, "host", agent.Host)
	}
	s.tracker.Report(tracking.Report{Agent: agent.ID, State: state, Hypervisors: agent.Hypervisors, Started: started})
}

// removed removes the devices of a dead agent whose record was deleted from placement, except those
// with allocations. Those of a live agent remain: its next heartbeat restores them, so that
// deleting the record requests a sync.
func (s *NetworkServer) removed(agent agents.Agent) {
	// The providers of a report that is wrong are unknown, and remain.
	if state, _ := s.service.State(agent.AgentRow); !agent.Alive && state.Driver != "" && len(agent.Hypervisors) > 0 {
		s.tracker.Report(tracking.Report{
			Agent: agent.ID, State: guarantee.State{Driver: state.Driver}, Hypervisors: agent.Hypervisors,
		})
	}
}
