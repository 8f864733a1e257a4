package serversapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func eventRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{a.Route(http.MethodPost, "/os-server-external-events", 1, receiveEvents)}
}

func eventsSchema(names string) *pyschema.Schema {
	return wire.BodySchema("events", `{"type": "array", "minItems": 1, "maxItems": 4096, "items": `+wire.ObjectPart(`"server_uuid": `+wire.UUIDPart+`,
		"name": {"type": "string", "enum": [`+names+`]},
		"status": {"type": "string", "enum": ["failed", "completed", "in-progress"]},
		"tag": {"type": "string", "maxLength": 255}`, `"server_uuid", "name"`)+`}`)
}

const networkEvents = `"network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted"`

var (
	eventsSchema2_1  = eventsSchema(networkEvents)
	eventsSchema2_51 = eventsSchema(networkEvents + `, "volume-extended"`)
	eventsSchema2_76 = eventsSchema(networkEvents + `, "volume-extended", "power-update"`)
	eventsSchema2_82 = eventsSchema(networkEvents + `, "volume-extended", "power-update", "accelerator-request-bound"`)
	eventsSchema2_93 = eventsSchema(networkEvents +
		`, "volume-extended", "power-update", "accelerator-request-bound", "volume-reimaged"`)
)

// receipts are the status of an event that is not accepted, by what becomes of it.
var receipts = map[servers.Receipt]int{
	servers.Accepted: http.StatusOK, servers.NoServer: http.StatusNotFound,
	servers.NoTag: http.StatusBadRequest, servers.NoHost: http.StatusUnprocessableEntity,
}

// receiveEvents accepts what other services report of servers, and answers for each event what
// becomes of it. When some are not accepted, that is a status of its own.
func receiveEvents(q *wire.Request) error {
	schema := eventsSchema2_1
	switch {
	case q.Minor >= 93:
		schema = eventsSchema2_93
	case q.Minor >= 82:
		schema = eventsSchema2_82
	case q.Minor >= 76:
		schema = eventsSchema2_76
	case q.Minor >= 51:
		schema = eventsSchema2_51
	}
	v, err := q.CheckMember(schema, "events")
	if err != nil {
		return err
	}
	if err := q.Can("os-server-external-events:create", wire.CloudTarget); err != nil {
		return err
	}
	events := make([]servers.ExternalEvent, v.Len())
	for i, item := range v.Items() {
		events[i] = externalEvent(item)
		events[i].By = q.Author()
	}
	became, err := q.API.Servers.Receive(q.Context(), events)
	if err != nil {
		return err
	}
	status := http.StatusOK
	for _, r := range became {
		if r != servers.Accepted {
			status = http.StatusMultiStatus
		}
	}
	shown := make([]view.Object, v.Len())
	for i, item := range v.Items() {
		shown[i] = receipt(item, receipts[became[i]])
	}
	return q.Respond(status, view.Object{view.List("events", shown, func(o view.Object) view.Object { return o })})
}

func externalEvent(v pyjson.Value) servers.ExternalEvent {
	e := servers.ExternalEvent{Status: "completed"}
	for _, m := range v.Members() {
		switch text := m.Value.Str(); m.Key {
		case "name":
			e.Name = text
		case "server_uuid":
			e.Server = compute.ID(text)
		case "tag":
			e.Tag = text
		case "status":
			e.Status = text
		}
	}
	return e
}

// receipt is an event as it arrived, with its result.
func receipt(event pyjson.Value, code int) (shown view.Object) {
	for _, m := range event.Members() {
		shown = shown.If(m.Key != "status", view.JSON(m.Key, m.Value))
	}
	status := "completed"
	if code != http.StatusOK {
		status = "failed"
	}
	return append(shown, view.Text("status", status), view.Int("code", code))
}
