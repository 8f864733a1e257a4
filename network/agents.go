package network

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/network/guarantee"
)

// An Agent is an agent and whether it lives.
type Agent struct {
	AgentRow
	Alive bool // its newest heartbeat is young enough
}

// Agents returns the agents that match.
func (s *Service) Agents(ctx context.Context, where ...Match) (all []Agent, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[AgentRow](r, where...)
		all = make([]Agent, len(rows))
		for i, row := range rows {
			all[i] = Agent{row, s.alive(row)}
		}
		return err
	})
	return all, err
}

// alive reports whether an agent has shown up lately.
func (s *Service) alive(a AgentRow) bool {
	return s.now().Sub(a.HeartbeatAt) < s.settings.AgentDownTime
}

func (c *change) agentsOn(host string) ([]AgentRow, error) {
	return Rows[AgentRow](c, Where(ByHost, host))
}

// State returns what placement should have of an agent, from what it last reported.
// It reports false for one that no driver belongs to, or whose report makes no sense.
func (s *Service) State(a AgentRow) (guarantee.State, bool) {
	for _, d := range s.settings.Drivers {
		if d.AgentType == a.Type {
			report, err := guarantee.ParseReport(a.Configurations)
			return d.State(a.Host, report), err == nil
		}
	}
	return guarantee.State{}, false
}

// Shared reports whether another agent of the same type has a provider as well, by
// its UUID: several agents may have devices on one hypervisor.
func (s *Service) Shared(ctx context.Context, agent ID, provider string) (shared bool, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		own, err := byID[AgentRow](r, "agent", agent)
		if err != nil {
			return err
		}
		others, err := Rows[AgentRow](r, Where(ByAgentType, own.Type))
		shared = slices.ContainsFunc(others, func(o AgentRow) bool { return o.ID != agent && s.has(o, provider) })
		return err
	})
	return shared, err
}

func (s *Service) has(a AgentRow, provider string) bool {
	state, _ := s.State(a)
	return slices.ContainsFunc(state.Providers, func(p guarantee.Provider) bool { return p.UUID.String() == provider })
}

// A Heartbeat is what an agent says of itself.
type Heartbeat struct {
	Type, Binary, Host, Topic, Zone string
	Configurations                  []byte // a JSON object
	Versions                        []byte // a JSON object
	Start                           bool   // the agent has just started (start_flag)
}

// Beat notes a heartbeat. It makes the record of an agent that has none, also of
// one whose record was deleted, and says whether its devices should be brought
// into placement now: because it is new, has started, has other devices than it had, or
// the last attempt failed.
func (s *Service) Beat(ctx context.Context, h Heartbeat) (a Agent, sync bool, err error) {
	err = s.update(ctx, func(c *change) error {
		rows, err := Rows[AgentRow](c, Where(ByHost, h.Host), Where(ByAgentType, h.Type))
		if err != nil {
			return err
		}
		known := len(rows) > 0
		row := AgentRow{ID: newID(), AdminStateUp: true, CreatedAt: c.at, StartedAt: c.at}
		if known {
			row = rows[0]
		}
		before, _ := s.State(row)
		h.fill(&row, c.at)
		now, _ := s.State(row)
		sync = !known || h.Start || row.Synced != SyncDone || !reflect.DeepEqual(before, now)
		a = Agent{row, true}
		if known {
			return c.Replace(&row)
		}
		return c.Insert(&row)
	})
	return a, sync, err
}

func (h Heartbeat) fill(row *AgentRow, at time.Time) {
	row.Type, row.Binary, row.Host, row.Topic, row.Zone = h.Type, h.Binary, h.Host, h.Topic, h.Zone
	row.Configurations, row.Versions, row.HeartbeatAt = orEmpty(h.Configurations), orEmpty(h.Versions), at
	if h.Start {
		row.StartedAt = at
	}
}

// Synced notes how an attempt to bring an agent's devices into placement ended:
// failure is "" when it succeeded. An agent whose record is gone is none.
func (s *Service) Synced(ctx context.Context, id ID, failure string) error {
	return s.update(ctx, func(c *change) error {
		rows, err := Rows[AgentRow](c, Where(ByID, id))
		if err != nil || len(rows) == 0 {
			return err
		}
		row := rows[0]
		row.Synced, row.SyncError = SyncFailed, failure
		if failure == "" {
			row.Synced, row.SyncedAt = SyncDone, c.at
		}
		return c.Replace(&row)
	})
}

// UpdateAgent changes what an administrator may: whether it is up, and its
// description. Fault: AgentNotFound.
func (s *Service) UpdateAgent(ctx context.Context, id ID, fn func(*AgentRow) error) (a Agent, err error) {
	err = s.update(ctx, func(c *change) error {
		row, err := byID[AgentRow](c, "agent", id)
		if err != nil {
			return err
		}
		if err := fn(&row); err != nil {
			return err
		}
		a = Agent{row, s.alive(row)}
		return c.Replace(&row)
	})
	return a, err
}

// DeleteAgent removes the record of an agent; its next heartbeat makes another.
func (s *Service) DeleteAgent(ctx context.Context, id ID) error {
	return s.update(ctx, func(c *change) error {
		n, err := c.Remove(&AgentRow{}, Where(ByID, id))
		if err == nil && n == 0 {
			err = NotFound("agent", id)
		}
		return err
	})
}
