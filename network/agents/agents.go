// Package agents has the agents on hosts: their heartbeats, what an operator should know of their
// reports, their availability zones, and whether placement has their devices. It writes nothing to
// placement, which package tracking does.
package agents

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/binding"
	"github.com/berthcloud/berth/network/portlist"
)

// An Agent is an agent and whether it is alive.
type Agent struct {
	network.AgentRow
	Alive bool // its last heartbeat is recent enough
	// Warnings are for the operator, one line each: devices that are not reported to placement, and
	// devices that another agent reports too. Review fills them.
	Warnings []string
}

// A Service has the rules of agents. Its methods may be called concurrently. Callers check
// permissions before.
type Service struct{ db *network.Database }

// New returns the agents in a database.
func New(db *network.Database) *Service { return &Service{db} }

// Agents returns the agents that match.
func (s *Service) Agents(ctx context.Context, where ...network.Match) (all []Agent, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		rows, err := network.Rows[network.AgentRow](r, where...)
		all = make([]Agent, len(rows))
		for i, row := range rows {
			all[i] = Agent{AgentRow: row, Alive: s.db.Rules.Alive(row)}
		}
		return err
	})
	return all, err
}

// On returns the agents of a host.
func On(r network.Reader, host string) ([]network.AgentRow, error) {
	return network.Rows[network.AgentRow](r, network.Where(network.ByHost, host))
}

// State returns what placement should have of an agent, from what it last reported:
// nothing, without the name of a driver, when no driver belongs to it. The error is
// a *guarantee.ReportError of an invalid report.
func (s *Service) State(a network.AgentRow) (guarantee.State, error) { return stateOf(s.db.Rules, a) }

func stateOf(rules network.Rules, a network.AgentRow) (guarantee.State, error) {
	return binding.StateOf(rules.Settings.Drivers, a.Type, a.Host, a.Configurations)
}

// Shared reports whether another agent has a provider as well, by its UUID: several agents may have
// devices on one hypervisor. The first agent's record may have been deleted.
func (s *Service) Shared(ctx context.Context, agent network.ID, provider string) (shared bool, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		others, err := network.Rows[network.AgentRow](r)
		shared = slices.ContainsFunc(others,
			func(o network.AgentRow) bool { return o.ID != agent && has(s.db.Rules, o, provider) })
		return err
	})
	return shared, err
}

func has(rules network.Rules, a network.AgentRow, provider string) bool {
	state, _ := stateOf(rules, a) // an invalid report has no providers
	return slices.ContainsFunc(state.Providers, func(p guarantee.Provider) bool { return p.UUID.String() == provider })
}

// A Heartbeat is what an agent reports of itself.
type Heartbeat = portlist.Heartbeat

// Beat records a heartbeat, with a new record for an agent that has none or whose record was
// deleted. It reports whether the agent's devices should be synced to placement now: because the
// agent is new or has started, its devices have changed, the last sync failed or did not end, or
// placement may still have devices that the agent does not have any more. An agent without devices
// is synced only if it had some. A report that is invalid, and a Problem, are recorded as the error
// of a sync, and placement is not changed. Fault: HypervisorTaken.
func (s *Service) Beat(ctx context.Context, h Heartbeat) (a Agent, sync bool, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		rows, err := network.Rows[network.AgentRow](tx, network.Where(network.ByHost, h.Host),
			network.Where(network.ByAgentType, h.Type))
		if err != nil {
			return err
		}
		known := len(rows) > 0
		former := network.AgentRow{}
		row := network.AgentRow{
			ID: newAgentID(tx.Rules, h), AdminStateUp: !tx.Settings.NewAgentsDown, CreatedAt: tx.At,
			StartedAt: tx.At,
		}
		if known {
			former, row = rows[0], rows[0]
		}
		before, _ := stateOf(tx.Rules, row) // an invalid report has no providers
		fill(&row, h, tx.At, known && (h.Unchanged || h.Problem != ""))
		desired, err := stateOf(tx.Rules, row)
		if taken := checkHypervisors(tx, h, desired.Hypervisors()); taken != nil {
			return taken
		}
		if h.Problem != "" {
			err = errors.New(h.Problem)
		}
		sync = err == nil && markDue(&row, before, desired, !known || h.Start)
		if err != nil {
			row.Synced, row.SyncError = network.SyncFailed, err.Error()
		}
		a = Agent{AgentRow: row, Alive: true}
		if err := markReached(tx, former, row); err != nil {
			return err
		}
		if known {
			return tx.Replace(&row)
		}
		return tx.Insert(&row)
	})
	return a, sync, err
}

// checkHypervisors refuses the heartbeat of an agent that has proved to be on some hosts, when it
// has devices on a hypervisor of another host: one that has its name, or that its agents have
// devices on.
func checkHypervisors(tx *network.Tx, h Heartbeat, hypervisors []string) error {
	hypervisors = slices.DeleteFunc(hypervisors, func(name string) bool { return slices.Contains(h.Hosts, name) })
	if h.Hosts == nil || len(hypervisors) == 0 {
		return nil
	}
	agents, err := network.Rows[network.AgentRow](tx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if slices.Contains(h.Hosts, a.Host) {
			continue
		}
		for _, name := range hypervisors {
			if a.Host == name || slices.Contains(a.Hypervisors, name) {
				return fault.New(fault.Denied, "HypervisorTaken", "The hypervisor %s is that of the host %s, "+
					"which this agent is not on: see resource_provider_hypervisors.", name, a.Host)
			}
		}
	}
	return nil
}

// newAgentID returns the id of an agent that has no record.
func newAgentID(rules network.Rules, h Heartbeat) (id network.ID) {
	if rules.Settings.AgentID != nil {
		id = rules.Settings.AgentID(h.Type, h.Host)
	}
	if id == "" {
		id = network.NewID()
	}
	return id
}

// markDue reports whether a heartbeat needs a sync that changes the desired providers of an agent
// from those before, and marks the agent. The mark is stored, so that after a crash the sync
// follows the next heartbeat.
func markDue(a *network.AgentRow, before, desired guarantee.State, start bool) bool {
	a.Hypervisors = sortedSet(a.Hypervisors, before.Hypervisors(), desired.Hypervisors())
	if len(before.Providers) == 0 && len(desired.Providers) == 0 && a.Synced == network.SyncNever {
		return false
	}
	if start || !reflect.DeepEqual(before, desired) {
		a.Synced = network.SyncDue
	}
	return a.Synced != network.SyncDone || removalDue(a, desired)
}

// fill writes a heartbeat into the record of its agent; keep leaves the configurations as they are.
func fill(a *network.AgentRow, h Heartbeat, at time.Time, keep bool) {
	a.Type, a.Binary, a.Host, a.Topic, a.Zone = h.Type, h.Binary, h.Host, h.Topic, h.Zone
	a.Versions, a.HeartbeatAt = network.JSONObject(h.Versions), at
	if !keep {
		a.Configurations = network.JSONObject(h.Configurations)
	}
	if h.Start {
		a.StartedAt = at
	}
}

// UpdateAgent changes what an administrator may: whether it is up, and its
// description. Fault: AgentNotFound.
func (s *Service) UpdateAgent(
	ctx context.Context, id network.ID, fn func(*network.AgentRow) error,
) (a Agent, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.AgentRow](tx, "agent", id)
		if err != nil {
			return err
		}
		if err := fn(&row); err != nil {
			return err
		}
		a = Agent{AgentRow: row, Alive: s.db.Rules.Alive(row)}
		return tx.Replace(&row)
	})
	return a, err
}

// DeleteAgent removes the record of an agent and returns it; the next heartbeat makes
// another. Fault: AgentNotFound.
func (s *Service) DeleteAgent(ctx context.Context, id network.ID) (a Agent, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.AgentRow](tx, "agent", id)
		if err != nil {
			return err
		}
		a = Agent{AgentRow: row, Alive: s.db.Rules.Alive(row)}
		if err := markReached(tx, row, network.AgentRow{}); err != nil {
			return err
		}
		_, err = tx.Remove(&network.AgentRow{}, network.Where(network.ByID, id))
		return err
	})
	return a, err
}
