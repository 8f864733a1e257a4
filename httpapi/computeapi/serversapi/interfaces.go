package serversapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func interfaceRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/servers/{server}/os-interface", "/servers/{server}/os-interface/{port}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 1, wire.NoQuery(listInterfaces)),
		a.Route(http.MethodPost, all, 1, attachInterface),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showInterface)),
		a.Route(http.MethodDelete, one, 1, detachInterface),
	}
}

const interfaceParts = `"net_id": ` + wire.UUIDPart + `, "port_id": ` + wire.UUIDPart + `,
	"fixed_ips": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "object", "properties": {"ip_address": ` + addressPart + `},
		"required": ["ip_address"], "additionalProperties": false}}`

// The body may be an object without anything in it: then the only network is meant.
var (
	attachSchema2_1 = wire.Draft4.MustCompile(wire.ObjectPart(
		`"interfaceAttachment": `+wire.ObjectPart(interfaceParts, ""), ""))
	attachSchema2_49 = wire.Draft4.MustCompile(wire.ObjectPart(
		`"interfaceAttachment": `+wire.ObjectPart(interfaceParts+`, "tag": `+tagPart, ""), ""))
)

func listInterfaces(q *wire.Request) error {
	s, err := q.ServerInPath("os-attach-interfaces:list")
	if err != nil {
		return err
	}
	all, err := q.API.Servers.Interfaces(q.Context(), s.ID)
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{
		view.List("interfaceAttachments", all, func(p compute.ServerPort) view.Object { return attachedPort(q, p) }),
	})
}

func showInterface(q *wire.Request) error {
	s, err := q.ServerInPath("os-attach-interfaces:show")
	if err != nil {
		return err
	}
	p, err := q.API.Servers.Interface(q.Context(), q.Author(), s.ID, compute.ID(q.Param("port")))
	if err != nil {
		return err
	}
	return respondInterface(q, p)
}

func respondInterface(q *wire.Request, p compute.ServerPort) error {
	return q.Respond(http.StatusOK, wire.Single("interfaceAttachment", attachedPort(q, p)))
}

// attachInterface answers when the host has plugged the port in, or could not.
func attachInterface(q *wire.Request) error {
	schema := attachSchema2_1
	if q.Minor >= 49 {
		schema = attachSchema2_49
	}
	v, err := q.CheckMember(schema, "interfaceAttachment")
	if err != nil {
		return err
	}
	s, err := q.ServerInPath("os-attach-interfaces:create")
	if err != nil {
		return err
	}
	n, err := attachment(v)
	if err != nil {
		return err
	}
	p, err := q.API.Servers.Attach(q.Context(), q.Author(), s.ID, n)
	if err != nil {
		return err
	}
	return respondInterface(q, p)
}

// attachment reads what to attach.
func attachment(v pyjson.Value) (n compute.NetworkSpec, err error) {
	for _, m := range v.Members() {
		switch text := m.Value.Str(); m.Key {
		case "net_id":
			n.Network = compute.ID(text)
		case "port_id":
			n.Port = compute.ID(text)
		case "tag":
			n.Tag = text
		case "fixed_ips":
			n.Address = *wire.CanonicalIn(m.Value.Items()[0], "ip_address") // the schema has seen to it
		}
	}
	switch {
	case n.Network != "" && n.Port != "":
		return n, wire.BadRequest("Must not input both network_id and port_id")
	case n.Address != "" && n.Network == "":
		return n, wire.BadRequest("Must input network_id when request IP address")
	}
	return n, nil
}

// detachInterface begins to take a port from a server.
func detachInterface(q *wire.Request) error {
	return onServer(q, "os-attach-interfaces:delete", func(s servers.Server) error {
		return q.API.Servers.Detach(q.Context(), q.Author(), s.ID, compute.ID(q.Param("port")))
	})
}

// attachedPort is what is shown of a port of a server.
func attachedPort(q *wire.Request, p compute.ServerPort) view.Object {
	return view.Object{
		view.Text("net_id", p.Network), view.Text("port_id", p.Port), view.Text("mac_addr", p.Shown.MAC),
		view.Text("port_state", p.Shown.Status),
		view.List("fixed_ips", p.Shown.Addresses, func(a compute.Address) view.Object {
			return view.Object{view.Text("subnet_id", a.Subnet), view.Text("ip_address", a.IP)}
		}),
	}.If(q.Minor >= 70, view.TextOrNull("tag", p.Tag))
}
