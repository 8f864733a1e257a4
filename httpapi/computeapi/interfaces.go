package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) interfaceRoutes() []httpapi.Route {
	const all, one = "/servers/{server}/os-interface", "/servers/{server}/os-interface/{port}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 1, (*request).listInterfaces),
		a.route(http.MethodPost, all, 1, (*request).attachInterface),
		a.route(http.MethodGet, one, 1, (*request).showInterface),
		a.route(http.MethodDelete, one, 1, (*request).detachInterface),
	}
}

const interfaceParts = `"net_id": ` + uuidPart + `, "port_id": ` + uuidPart + `,
	"fixed_ips": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "object", "properties": {"ip_address": ` + addressPart + `},
		"required": ["ip_address"], "additionalProperties": false}}`

// The body may be an object without anything in it: then the only network is meant.
var (
	attachSchema2_1  = draft4.MustCompile(objectPart(`"interfaceAttachment": `+objectPart(interfaceParts, ""), ""))
	attachSchema2_49 = draft4.MustCompile(objectPart(`"interfaceAttachment": `+objectPart(interfaceParts+`, "tag": `+tagPart, ""), ""))
)

func (q *request) listInterfaces() error {
	s, err := q.serverInPath("os-attach-interfaces:list")
	if err != nil {
		return err
	}
	all, err := q.api.Compute.Interfaces(q.Context(), s.ID)
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.List("interfaceAttachments", all, q.attachedPort)})
}

func (q *request) showInterface() error {
	s, err := q.serverInPath("os-attach-interfaces:show")
	if err != nil {
		return err
	}
	p, err := q.api.Compute.Interface(q.Context(), q.by(), s.ID, compute.ID(q.param("port")))
	if err != nil {
		return err
	}
	return q.respondInterface(p)
}

func (q *request) respondInterface(p compute.ServerPort) error {
	return q.respond(http.StatusOK, single("interfaceAttachment", q.attachedPort(p)))
}

// attachInterface answers when the host has plugged the port in, or could not.
func (q *request) attachInterface() error {
	schema := attachSchema2_1
	if q.minor >= 49 {
		schema = attachSchema2_49
	}
	v, err := q.checked(schema, "interfaceAttachment")
	if err != nil {
		return err
	}
	s, err := q.serverInPath("os-attach-interfaces:create")
	if err != nil {
		return err
	}
	n, err := attachment(v)
	if err != nil {
		return err
	}
	p, err := q.api.Compute.Attach(q.Context(), q.by(), s.ID, n)
	if err != nil {
		return err
	}
	return q.respondInterface(p)
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
			n.Address = *canonicalIn(m.Value.Items()[0], "ip_address") // the schema has seen to it
		}
	}
	switch {
	case n.Network != "" && n.Port != "":
		return n, badRequest("Must not input both network_id and port_id")
	case n.Address != "" && n.Network == "":
		return n, badRequest("Must input network_id when request IP address")
	}
	return n, nil
}

// detachInterface begins to take a port from a server.
func (q *request) detachInterface() error {
	return q.onServer("os-attach-interfaces:delete", func(s compute.Server) error {
		return q.api.Compute.Detach(q.Context(), q.by(), s.ID, compute.ID(q.param("port")))
	})
}

// attachedPort is what is shown of a port of a server.
func (q *request) attachedPort(p compute.ServerPort) view.Object {
	return view.Object{
		view.Text("net_id", p.Network), view.Text("port_id", p.Port), view.Text("mac_addr", p.Shown.MAC), view.Text("port_state", p.Shown.Status),
		view.List("fixed_ips", p.Shown.Addresses, func(a compute.Address) view.Object {
			return view.Object{view.Text("subnet_id", a.Subnet), view.Text("ip_address", a.IP)}
		}),
	}.If(q.minor >= 70, view.TextOrNull("tag", p.Tag))
}
