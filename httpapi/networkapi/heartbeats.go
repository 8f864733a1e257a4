package networkapi

import (
	"cmp"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

// heartbeatRoutes are what agents report at. They are Berth's own: Neutron's agents
// use a message bus (decision 19).
func (a *API) heartbeatRoutes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodPost, Pattern: "/berth/v1/heartbeats", Handle: a.heartbeat}}
}

// heartbeat notes what an agent says of itself. The answer says which agent that is
// and how the last sync of its devices went.
func (a *API) heartbeat(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := cmp.Or(a.allow(ctx, "report_agent_state", target{}), httpapi.CheckIsHost(ctx)); err != nil {
		return err
	}
	v, err := readObject(r, "agent")
	if err != nil {
		return err
	}
	said, err := member(v, "agent")
	if err != nil {
		return err
	}
	h, err := heartbeatOf(said)
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
		j.Value(object("agent", object("id", string(agent.ID),
			"resources_synced", syncState(agent.AgentRow), "sync_error", orNone(agent.SyncError))))
	})
}

// heartbeatAttributes are what a heartbeat may say, all of it text but for the last
// three.
var heartbeatAttributes = []attribute[network.Agent, network.Heartbeat]{
	heartbeatText("agent_type", post|required, func(h *network.Heartbeat, t string) { h.Type = t }),
	heartbeatText("binary", post|required, func(h *network.Heartbeat, t string) { h.Binary = t }),
	heartbeatText("host", post|required, func(h *network.Heartbeat, t string) { h.Host = t }),
	heartbeatText("topic", post, func(h *network.Heartbeat, t string) { h.Topic = t }),
	heartbeatText("availability_zone", post, func(h *network.Heartbeat, t string) { h.Zone = t }),
	{name: "configurations", use: post, check: anObject, set: func(h *network.Heartbeat, v pyjson.Value) { h.Configurations = encode(v) }},
	{name: "resource_versions", use: post, check: anObject, set: func(h *network.Heartbeat, v pyjson.Value) { h.Versions = encode(v) }},
	{name: "start_flag", use: post, convert: toBool, set: func(h *network.Heartbeat, v pyjson.Value) { h.Start = v.Bool() }},
}

func heartbeatText(name string, use use, set func(*network.Heartbeat, string)) attribute[network.Agent, network.Heartbeat] {
	return attribute[network.Agent, network.Heartbeat]{
		name: name, use: use, check: textCheck255, set: func(h *network.Heartbeat, v pyjson.Value) { set(h, v.Str()) },
	}
}

func heartbeatOf(said pyjson.Value) (h network.Heartbeat, err error) {
	b, err := read(heartbeatAttributes, said, true)
	if err != nil {
		return h, err
	}
	apply(heartbeatAttributes, b, &h)
	if h.Host == "" || h.Type == "" {
		return h, badRequest("A heartbeat needs a host and an agent_type")
	}
	return h, nil
}
