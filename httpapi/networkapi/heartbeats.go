package networkapi

import (
	"cmp"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network/agents"
)

// heartbeatRoutes are what agents report at. They are Berth's own: Neutron's agents
// use a message bus (decision 19).
func (a *API) heartbeatRoutes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodPost, Pattern: "/berth/v1/heartbeats", Handle: a.heartbeat}}
}

// heartbeat records the report of an agent. The answer has the id of the agent and the result of
// the last sync of its devices.
func (a *API) heartbeat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	err := cmp.Or(a.access().Allow(ctx, "report_agent_state", resource.Target{}), httpapi.CheckIsHost(ctx))
	if err != nil {
		return err
	}
	v, err := resource.ReadObject(r)
	if err != nil {
		return err
	}
	report, err := resource.MemberObject(v, "agent")
	if err != nil {
		return err
	}
	h, err := heartbeatOf(report)
	if err := cmp.Or(err, httpapi.CheckHost(ctx, h.Host)); err != nil {
		return err
	}
	caller, _ := identity.From(ctx)
	h.Hosts = caller.Hosts
	agent, sync, err := a.Network.Beat(ctx, h)
	if err != nil {
		return err
	}
	if sync && a.Reported != nil {
		a.Reported(agent, h.Start)
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("agent", pyjson.NewObject(pyjson.M("id", string(agent.ID)),
			pyjson.M("resources_synced", syncState(agent.AgentRow)),
			pyjson.M("sync_error", resource.TextOrNull(agent.SyncError))))))
	})
}

// heartbeatAttributes are the members of a heartbeat, all of them texts but for the last
// three.
var heartbeatAttributes = []resource.Attribute[agents.Agent, agents.Heartbeat]{
	heartbeatText("agent_type", post|required, func(h *agents.Heartbeat, t string) { h.Type = t }),
	heartbeatText("binary", post|required, func(h *agents.Heartbeat, t string) { h.Binary = t }),
	heartbeatText("host", post|required, func(h *agents.Heartbeat, t string) { h.Host = t }),
	heartbeatText("topic", post, func(h *agents.Heartbeat, t string) { h.Topic = t }),
	heartbeatText("availability_zone", post, func(h *agents.Heartbeat, t string) { h.Zone = t }),
	{
		Name: "configurations", Use: post, Check: resource.IsObject,
		Set: func(h *agents.Heartbeat, v pyjson.Value) { h.Configurations = resource.Encode(v) },
	},
	{
		Name: "resource_versions", Use: post, Check: resource.IsObject,
		Set: func(h *agents.Heartbeat, v pyjson.Value) { h.Versions = resource.Encode(v) },
	},
	{
		Name: "start_flag", Use: post, Convert: resource.ToBool,
		Set: func(h *agents.Heartbeat, v pyjson.Value) { h.Start = v.Bool() },
	},
}

func heartbeatText(
	name string, use resource.Use, set func(*agents.Heartbeat, string),
) resource.Attribute[agents.Agent, agents.Heartbeat] {
	return resource.Attribute[agents.Agent, agents.Heartbeat]{
		Name: name, Use: use, Check: textCheck255, Set: func(h *agents.Heartbeat, v pyjson.Value) { set(h, v.Str()) },
	}
}

func heartbeatOf(report pyjson.Value) (h agents.Heartbeat, err error) {
	b, err := resource.Read(heartbeatAttributes, report, true)
	if err != nil {
		return h, err
	}
	resource.Apply(heartbeatAttributes, b, &h)
	if h.Host == "" || h.Type == "" {
		return h, resource.BadRequest("A heartbeat needs a host and an agent_type")
	}
	return h, nil
}
