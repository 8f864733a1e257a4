package networkapi

import (
	"context"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
)

type agentResource = resource.Resource[agents.Agent, network.AgentRow]

func (a *API) agents() *agentResource {
	return &agentResource{
		API: a.kinds(), Name: "agent", Plural: "agents", Path: "/v2.0/agents", NoPages: true,
		Table:       agentTable(),
		ID:          func(g *agents.Agent) string { return string(g.ID) },
		TargetOf:    func(*agents.Agent) resource.Target { return resource.Target{} },
		List:        a.Network.Review,
		VisibleTo:   a.ifShown("get_agent"),
		StoreFields: map[string]network.Field{"id": network.ByID, "host": network.ByHost, "agent_type": network.ByAgentType},
		Update: func(ctx context.Context, g *agents.Agent, fn func(*network.AgentRow) error) (agents.Agent, error) {
			return a.Network.UpdateAgent(ctx, g.ID, fn)
		},
		Delete: func(ctx context.Context, g *agents.Agent, _ resource.Condition) error {
			deleted, err := a.Network.DeleteAgent(ctx, g.ID)
			if err == nil && a.Removed != nil {
				a.Removed(deleted)
			}
			return err
		},
	}
}

func (a *API) agentRoutes() []httpapi.Route {
	res := a.agents()
	var names []string
	for i := range res.Table {
		names = append(names, res.Table[i].Name)
	}
	return append(res.Routes(), notCreatable(res.Path, res.Name, names...))
}

// agentTable are the attributes of agents, in the order in which they are shown.
// The last four are Berth's own, shown when they have a value.
func agentTable() []resource.Attribute[agents.Agent, network.AgentRow] {
	type (
		A = agents.Agent
		S = network.AgentRow
	)
	text := func(name string, show func(*A) string) resource.Attribute[A, S] {
		return resource.Attribute[A, S]{
			Name: name, Use: filterable, Show: func(g *A) pyjson.Value { return pyjson.Of(show(g)) },
		}
	}
	moment := func(name string, show func(*A) time.Time) resource.Attribute[A, S] {
		return resource.Attribute[A, S]{Name: name, Show: func(g *A) pyjson.Value { return plainTime(show(g)) }}
	}
	return []resource.Attribute[A, S]{
		text("id", func(g *A) string { return string(g.ID) }),
		text("agent_type", func(g *A) string { return g.Type }),
		text("binary", func(g *A) string { return g.Binary }),
		text("topic", func(g *A) string { return g.Topic }),
		text("host", func(g *A) string { return g.Host }),
		boolean("admin_state_up", put|filterable, true, func(s *S, b bool) { s.AdminStateUp = b },
			func(g *A) bool { return g.AdminStateUp }),
		moment("created_at", func(g *A) time.Time { return g.CreatedAt }),
		moment("started_at", func(g *A) time.Time { return g.StartedAt }),
		moment("heartbeat_timestamp", func(g *A) time.Time { return g.HeartbeatAt }),
		{
			Name: "description", Use: put | filterable, Check: resource.Nullable(textCheck255),
			Set:  func(s *S, v pyjson.Value) { s.Description = v.Str() },
			Show: func(g *A) pyjson.Value { return resource.TextOrNull(g.Description) },
		},
		{Name: "resources_synced", Show: func(g *A) pyjson.Value { return syncState(g.AgentRow) }},
		{Name: "availability_zone", Use: filterable, Show: func(g *A) pyjson.Value { return resource.TextOrNull(g.Zone) }},
		{
			Name: "alive", Use: filterable, Convert: resource.ToBool,
			Show: func(g *A) pyjson.Value { return pyjson.Of(g.Alive) },
		},
		{Name: "configurations", Show: func(g *A) pyjson.Value { return resource.Decode(g.Configurations) }},
		{
			Name: "berth:sync_error", Show: func(g *A) pyjson.Value { return resource.TextOrNull(g.SyncError) },
			ShownIf: func(g *A) bool { return g.SyncError != "" },
		},
		{
			Name: "berth:kept_providers", Show: func(g *A) pyjson.Value { return resource.List(g.Kept, pyjson.NewString) },
			ShownIf: func(g *A) bool { return len(g.Kept) > 0 },
		},
		{
			Name: "berth:warnings", Show: func(g *A) pyjson.Value { return resource.List(g.Warnings, pyjson.NewString) },
			ShownIf: func(g *A) bool { return len(g.Warnings) > 0 },
		},
		{
			Name: "berth:synced_at", Show: func(g *A) pyjson.Value { return plainTime(g.SyncedAt) },
			ShownIf: func(g *A) bool { return !g.SyncedAt.IsZero() },
		},
	}
}

var textCheck255 = resource.MaxLength(255)

// syncState is the attribute resources_synced. After a sync that failed it is false until one
// succeeds, also while the next one is due.
func syncState(a network.AgentRow) pyjson.Value {
	if a.SyncError == "" && (a.Synced == network.SyncNever || a.Synced == network.SyncDue) {
		return pyjson.Value{}
	}
	return pyjson.Of(a.Synced == network.SyncDone)
}

// plainTime is a time as agents show it, in UTC, and null for none.
func plainTime(t time.Time) pyjson.Value {
	if t.IsZero() {
		return pyjson.Value{}
	}
	return pyjson.Of(t.UTC().Format("2006-01-02 15:04:05"))
}
