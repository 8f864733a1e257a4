package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) serverRoutes() []httpapi.Route {
	const one = "/servers/{server}"
	return []httpapi.Route{
		a.list("/servers", 1, func(q *request) error { return q.listServers(false) }),
		a.route(http.MethodPost, "/servers", 1, (*request).createServer),
		a.list("/servers/detail", 1, func(q *request) error { return q.listServers(true) }),
		a.route(http.MethodGet, one, 1, (*request).showServer),
		a.route(http.MethodPut, one, 1, (*request).updateServer),
		a.route(http.MethodDelete, one, 1, (*request).deleteServer),
		a.route(http.MethodGet, one+"/topology", 78, (*request).showTopology),
	}
}

// by is the caller as one who asks for something to be done.
func (q *request) by() compute.Caller {
	return compute.Caller{
		Project: q.caller.ProjectID, User: q.caller.UserID, Request: httpapi.RequestID(q.Request), Global: httpapi.GlobalID(q.Request), Admin: q.isAdmin(),
	}
}

// serverInPath is the server that the path names, about which policy must let the
// caller do something. Those of other projects are not there but for administrators.
func (q *request) serverInPath(rule string) (compute.Server, error) {
	id := compute.ID(q.param("server"))
	s, err := q.api.Compute.Server(q.Context(), id)
	if err == nil && s.Project != q.caller.ProjectID && !q.isAdmin() {
		err = fault.New(fault.NotFound, "InstanceNotFound", "Instance %s could not be found.", id)
	}
	if err != nil {
		return s, err
	}
	return s, q.can(rule, target{"project_id": s.Project, "user_id": s.User})
}

func (q *request) showServer() error {
	s, err := q.serverInPath("servers:show")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("server", q.serverView(s, shownParts{whole: true, groups: q.minor >= 71})))
}

// showTopology tells the NUMA nodes of a server, of which there are none: extra specs that ask for
// some are refused.
func (q *request) showTopology() error {
	if _, err := q.serverInPath("compute:server:topology:index"); err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.Texts[string]("nodes", nil), view.Null("pagesize_kb")})
}

var (
	serverUpdateSchema2_1  = bodySchema("server", objectPart(serverChangeParts, ""))
	serverUpdateSchema2_19 = bodySchema("server", objectPart(serverChangeParts+`, "description": `+shortTextPart, ""))
	serverUpdateSchema2_90 = bodySchema("server", objectPart(
		serverChangeParts+`, "description": `+shortTextPart+`, "hostname": `+hostnamePart, ""))
)

const (
	serverChangeParts = `"name": ` + namePart + `, "OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]},
		"accessIPv4": {"type": "string", "format": "ipv4"}, "accessIPv6": {"type": "string", "format": "ipv6"}`
	shortTextPart = `{"type": ["string", "null"], "minLength": 0, "maxLength": 255, "pattern": "` + printablePattern + `"}`
)

func (q *request) updateServer() error {
	schema := serverUpdateSchema2_1
	switch {
	case q.minor >= 90:
		schema = serverUpdateSchema2_90
	case q.minor >= 19:
		schema = serverUpdateSchema2_19
	}
	v, err := q.checked(schema, "server")
	if err != nil {
		return err
	}
	s, err := q.serverInPath("servers:update")
	if err != nil {
		return err
	}
	s, err = q.api.Compute.UpdateServer(q.Context(), s.ID, serverChange(v))
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("server", q.serverView(s, shownParts{whole: q.minor >= 75, groups: q.minor >= 71})))
}

func serverChange(v pyjson.Value) compute.ServerChange {
	return compute.ServerChange{
		Name: trimmed(textOf(v, "name")), Description: textOf(v, "description"), Hostname: textOf(v, "hostname"), DiskConfig: textOf(v, "OS-DCF:diskConfig"),
		AccessIPv4: canonicalIn(v, "accessIPv4"), AccessIPv6: canonicalIn(v, "accessIPv6"),
	}
}

func (q *request) deleteServer() error {
	s, err := q.serverInPath("servers:delete")
	if err != nil {
		return err
	}
	if err := q.api.Compute.DeleteServer(q.Context(), q.by(), s.ID); err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}
