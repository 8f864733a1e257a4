package network

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/binding"
	"github.com/berthcloud/berth/network/portlist"
)

// An Agent is an agent and whether it lives.
type Agent struct {
	AgentRow
	Alive bool // its newest heartbeat is young enough
	// Warnings are for the operator, one line each: devices that are not reported to placement, and
	// devices that another agent reports too. Review fills them.
	Warnings []string
}

// Agents returns the agents that match.
func (s *Service) Agents(ctx context.Context, where ...Match) (all []Agent, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[AgentRow](r, where...)
		all = make([]Agent, len(rows))
		for i, row := range rows {
			all[i] = Agent{AgentRow: row, Alive: s.alive(row)}
		}
		return err
	})
	return all, err
}

// alive reports whether an agent has shown up lately. A heartbeat from the future was sent before the clock was set back, and says
// nothing of now.
func (rs *rules) alive(a AgentRow) bool {
	return rs.now().Sub(a.HeartbeatAt).Abs() < rs.settings.AgentDownTime
}

func (c *change) agentsOn(host string) ([]AgentRow, error) {
	return Rows[AgentRow](c, Where(ByHost, host))
}

// State returns what placement should have of an agent, from what it last reported:
// nothing, without the name of a driver, when no driver belongs to it. The error is
// a *guarantee.ReportError of a report that makes no sense.
func (rs *rules) State(a AgentRow) (guarantee.State, error) {
	return binding.StateOf(rs.settings.Drivers, a.Type, a.Host, a.Configurations)
}

// Shared reports whether another agent has a provider as well, by its UUID: several agents may have
// devices on one hypervisor. The first agent's record may have been deleted.
func (s *Service) Shared(ctx context.Context, agent ID, provider string) (shared bool, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		others, err := Rows[AgentRow](r)
		shared = slices.ContainsFunc(others, func(o AgentRow) bool { return o.ID != agent && s.has(o, provider) })
		return err
	})
	return shared, err
}

func (rs *rules) has(a AgentRow, provider string) bool {
	state, _ := rs.State(a) // a report that is wrong has no providers
	return slices.ContainsFunc(state.Providers, func(p guarantee.Provider) bool { return p.UUID.String() == provider })
}

// A Heartbeat is what an agent reports of itself.
type Heartbeat = portlist.Heartbeat

// Beat notes a heartbeat. It makes the record of an agent that has none, also of
// one whose record was deleted, and says whether its devices should be brought
// into placement now: because it is new, has started, has other devices than it had, or
// the last attempt failed or never ended, or something that it does not have any more
// may still be there. An agent without devices needs that only
// if it had some. Of a report that makes no sense, and of a Problem, the record says
// so, and placement keeps what it has. Fault: HypervisorTaken.
func (s *Service) Beat(ctx context.Context, h Heartbeat) (a Agent, sync bool, err error) {
	err = s.update(ctx, func(c *change) error {
		rows, err := Rows[AgentRow](c, Where(ByHost, h.Host), Where(ByAgentType, h.Type))
		if err != nil {
			return err
		}
		known := len(rows) > 0
		row := AgentRow{ID: s.newAgentID(h), AdminStateUp: !s.settings.NewAgentsDown, CreatedAt: c.at, StartedAt: c.at}
		if known {
			row = rows[0]
		}
		before, _ := s.State(row) // one that is wrong had no providers
		row.fill(h, c.at, known && (h.Unchanged || h.Problem != ""))
		now, err := s.State(row)
		if taken := c.hypervisorTaken(h, now.Hypervisors()); taken != nil {
			return taken
		}
		if h.Problem != "" {
			err = errors.New(h.Problem)
		}
		sync = err == nil && row.due(before, now, !known || h.Start)
		if err != nil {
			row.Synced, row.SyncError = SyncFailed, err.Error()
		}
		a = Agent{AgentRow: row, Alive: true}
		if known {
			return c.Replace(&row)
		}
		return c.Insert(&row)
	})
	return a, sync, err
}

// hypervisorTaken refuses the heartbeat of an agent that has proved to be on some hosts, when it has devices on a
// hypervisor of another host: one that has its name, or that its agents have devices on.
func (c *change) hypervisorTaken(h Heartbeat, hypervisors []string) error {
	hypervisors = slices.DeleteFunc(hypervisors, func(name string) bool { return slices.Contains(h.Hosts, name) })
	if h.Hosts == nil || len(hypervisors) == 0 {
		return nil
	}
	agents, err := Rows[AgentRow](c)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if slices.Contains(h.Hosts, a.Host) {
			continue
		}
		for _, name := range hypervisors {
			if a.Host == name || slices.Contains(a.Hypervisors, name) {
				return fault.New(fault.Denied, "HypervisorTaken", "The hypervisor %s is that of the host %s, which this agent is not on: see resource_provider_hypervisors.", name, a.Host)
			}
		}
	}
	return nil
}

// newAgentID returns the id of an agent that has no record.
func (rs *rules) newAgentID(h Heartbeat) (id ID) {
	if rs.settings.AgentID != nil {
		id = rs.settings.AgentID(h.Type, h.Host)
	}
	if id == "" {
		id = newID()
	}
	return id
}

// due reports whether a heartbeat that changes the desired providers of an agent from before to now
// needs a sync, and marks the agent. The mark is stored, so that after a crash the sync follows the
// next heartbeat.
func (a *AgentRow) due(before, now guarantee.State, start bool) bool {
	a.Hypervisors = sortedSet(a.Hypervisors, before.Hypervisors(), now.Hypervisors())
	if len(before.Providers) == 0 && len(now.Providers) == 0 && a.Synced == SyncNever {
		return false
	}
	if start || !reflect.DeepEqual(before, now) {
		a.Synced = SyncDue
	}
	return a.Synced != SyncDone || a.leaves(now)
}

func (a *AgentRow) fill(h Heartbeat, at time.Time, keep bool) {
	a.Type, a.Binary, a.Host, a.Topic, a.Zone = h.Type, h.Binary, h.Host, h.Topic, h.Zone
	a.Versions, a.HeartbeatAt = orEmpty(h.Versions), at
	if !keep {
		a.Configurations = orEmpty(h.Configurations)
	}
	if h.Start {
		a.StartedAt = at
	}
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
		a = Agent{AgentRow: row, Alive: s.alive(row)}
		return c.Replace(&row)
	})
	return a, err
}

// DeleteAgent removes the record of an agent and returns it; the next heartbeat makes
// another. Fault: AgentNotFound.
func (s *Service) DeleteAgent(ctx context.Context, id ID) (a Agent, err error) {
	err = s.update(ctx, func(c *change) error {
		row, err := byID[AgentRow](c, "agent", id)
		if err != nil {
			return err
		}
		a = Agent{AgentRow: row, Alive: s.alive(row)}
		_, err = c.Remove(&AgentRow{}, Where(ByID, id))
		return err
	})
	return a, err
}
