package networkapi

import (
	"context"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

type agentResource = resource[network.Agent, network.AgentRow]

func (a *API) agents() *agentResource {
	return &agentResource{
		api: a, name: "agent", plural: "agents", path: "/v2.0/agents", noPages: true,
		table:  agentTable(),
		id:     func(g *network.Agent) string { return string(g.ID) },
		target: func(*network.Agent) target { return target{} },
		list:   a.Network.Review,
		near:   a.ifShown("get_agent"),
		where:  map[string]network.Field{"id": network.ByID, "host": network.ByHost, "agent_type": network.ByAgentType},
		update: func(ctx context.Context, g *network.Agent, fn func(*network.AgentRow) error) (network.Agent, error) {
			return a.Network.UpdateAgent(ctx, g.ID, fn)
		},
		remove: func(ctx context.Context, g *network.Agent, _ network.Condition) error {
			gone, err := a.Network.DeleteAgent(ctx, g.ID)
			if err == nil && a.Removed != nil {
				a.Removed(gone)
			}
			return err
		},
	}
}

func (a *API) agentRoutes() []httpapi.Route {
	res := a.agents()
	var names []string
	for i := range res.table {
		names = append(names, res.table[i].name)
	}
	return append(res.routes(), notCreatable(res.path, res.name, names...))
}

// agentTable are the attributes of agents, in the order in which they are shown.
// The last four are Berth's own, there when there is something to say.
func agentTable() []attribute[network.Agent, network.AgentRow] {
	type (
		A = network.Agent
		S = network.AgentRow
	)
	text := func(name string, show func(*A) string) attribute[A, S] {
		return attribute[A, S]{name: name, use: filter, show: func(g *A) pyjson.Value { return valueOf(show(g)) }}
	}
	moment := func(name string, show func(*A) time.Time) attribute[A, S] {
		return attribute[A, S]{name: name, show: func(g *A) pyjson.Value { return plainTime(show(g)) }}
	}
	return []attribute[A, S]{
		text("id", func(g *A) string { return string(g.ID) }),
		text("agent_type", func(g *A) string { return g.Type }),
		text("binary", func(g *A) string { return g.Binary }),
		text("topic", func(g *A) string { return g.Topic }),
		text("host", func(g *A) string { return g.Host }),
		boolean("admin_state_up", put|filter, true, func(s *S, b bool) { s.AdminStateUp = b }, func(g *A) bool { return g.AdminStateUp }),
		moment("created_at", func(g *A) time.Time { return g.CreatedAt }),
		moment("started_at", func(g *A) time.Time { return g.StartedAt }),
		moment("heartbeat_timestamp", func(g *A) time.Time { return g.HeartbeatAt }),
		{
			name: "description", use: put | filter, check: orNull(textCheck255),
			set:  func(s *S, v pyjson.Value) { s.Description = v.Str() },
			show: func(g *A) pyjson.Value { return orNone(g.Description) },
		},
		{name: "resources_synced", show: func(g *A) pyjson.Value { return syncState(g.AgentRow) }},
		{name: "availability_zone", use: filter, show: func(g *A) pyjson.Value { return orNone(g.Zone) }},
		{name: "alive", use: filter, convert: toBool, show: func(g *A) pyjson.Value { return valueOf(g.Alive) }},
		{name: "configurations", show: func(g *A) pyjson.Value { return decode(g.Configurations) }},
		{name: "berth:sync_error", show: func(g *A) pyjson.Value { return orNone(g.SyncError) }, shownIf: func(g *A) bool { return g.SyncError != "" }},
		{name: "berth:kept_providers", show: func(g *A) pyjson.Value { return array(g.Kept, pyjson.NewString) }, shownIf: func(g *A) bool { return len(g.Kept) > 0 }},
		{name: "berth:warnings", show: func(g *A) pyjson.Value { return array(g.Warnings, pyjson.NewString) }, shownIf: func(g *A) bool { return len(g.Warnings) > 0 }},
		{name: "berth:synced_at", show: func(g *A) pyjson.Value { return plainTime(g.SyncedAt) }, shownIf: func(g *A) bool { return !g.SyncedAt.IsZero() }},
	}
}

var textCheck255 = text(255)

// syncState is the attribute resources_synced. After a sync that failed it is false until one succeeds, also while the
// next one is due.
func syncState(a network.AgentRow) pyjson.Value {
	if a.SyncError == "" && (a.Synced == network.SyncNever || a.Synced == network.SyncDue) {
		return pyjson.Value{}
	}
	return valueOf(a.Synced == network.SyncDone)
}

// plainTime is a time as agents show it, in UTC, and null for none.
func plainTime(t time.Time) pyjson.Value {
	if t.IsZero() {
		return pyjson.Value{}
	}
	return valueOf(t.UTC().Format("2006-01-02 15:04:05"))
}
