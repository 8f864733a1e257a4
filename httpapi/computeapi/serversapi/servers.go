package serversapi

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func serverRoutes(a *wire.API) []httpapi.Route {
	const one = "/servers/{server}"
	return []httpapi.Route{
		a.List("/servers", 1, func(q *wire.Request) error { return listServers(q, false) }),
		a.Route(http.MethodPost, "/servers", 1, createServer),
		a.List("/servers/detail", 1, func(q *wire.Request) error { return listServers(q, true) }),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showServer)),
		a.Route(http.MethodPut, one, 1, updateServer),
		a.Route(http.MethodDelete, one, 1, deleteServer),
		a.Route(http.MethodGet, one+"/topology", 78, wire.NoQuery(showTopology)),
	}
}

func showServer(q *wire.Request) error {
	s, err := q.ServerInPath("servers:show")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK,
		wire.Single("server", serverView(q, s, shownParts{whole: true, groups: q.Minor >= 71})))
}

// showTopology shows the NUMA cells of a server. Who may only see that it has some does not see
// where on the host they are (compute:server:topology:host:index). Servers without any, and those
// whose host has not reported its topology, have none.
func showTopology(q *wire.Request) error {
	s, err := q.ServerInPath("compute:server:topology:index")
	if err != nil {
		return err
	}
	cells, err := q.API.Servers.Cells(q.Context(), s.ServerRow)
	if err != nil {
		return err
	}
	host := q.May("compute:server:topology:host:index", wire.OfServer(s))
	pages := view.Null("pagesize_kb")
	if len(cells) > 0 && cells[0].PageKB > 0 {
		pages = view.Int("pagesize_kb", cells[0].PageKB)
	}
	return q.Respond(http.StatusOK, view.Object{view.List("nodes", cells, func(c compute.Cell) view.Object {
		pins := map[int]int{}
		maps.Copy(pins, c.CPUs)
		return view.Object{
			numbers("vcpu_set", append([]int{}, c.VCPUs...)), view.Int("memory_mb", c.MemoryMB),
			numbers("siblings", append([][]int{}, c.Siblings...)),
		}.If(host, view.Int("host_node", c.Node), numbers("cpu_pinning", pins))
	}), pages})
}

// numbers is a member of numbers: a list, lists of some, or an object.
func numbers[T []int | [][]int | map[int]int](name string, all T) view.Member {
	return view.Value(name, func(j *httpapi.JSON) {
		text, err := json.Marshal(all)
		if err != nil {
			panic("computeapi: " + err.Error()) // numbers only
		}
		j.Raw(text)
	})
}

var (
	serverUpdateSchema2_1  = wire.BodySchema("server", wire.ObjectPart(serverChangeParts, ""))
	serverUpdateSchema2_19 = wire.BodySchema("server",
		wire.ObjectPart(serverChangeParts+`, "description": `+shortTextPart, ""))
	serverUpdateSchema2_90  = hostnameUpdateSchema(90, "")
	serverUpdateSchema2_94  = hostnameUpdateSchema(94, "")
	serverUpdateSchema2_104 = hostnameUpdateSchema(104,
		`, "pinned_availability_zone": {"oneOf": [`+wire.TextPart+`, {"type": "null"}]}`)
)

const (
	serverChangeParts = `"name": ` + wire.NamePart + `, "OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]},
		"accessIPv4": {"type": "string", "format": "ipv4"}, "accessIPv6": {"type": "string", "format": "ipv6"}`
	shortTextPart = `{"type": ["string", "null"], "minLength": 0, "maxLength": 255, "pattern": "` + wire.PrintablePattern +
		`"}`
)

// hostnameUpdateSchema is the schema of an update since host names can be changed, with more parts.
func hostnameUpdateSchema(minor int, more string) *pyschema.Schema {
	return wire.BodySchema("server",
		wire.ObjectPart(serverChangeParts+`, "description": `+shortTextPart+`, "hostname": `+hostnamePart(minor)+more, ""))
}

// updateServer changes a server. Since 2.104 that may be the zone that it is pinned to.
func updateServer(q *wire.Request) error {
	schema := serverUpdateSchema2_1
	switch {
	case q.Minor >= 104:
		schema = serverUpdateSchema2_104
	case q.Minor >= 94:
		schema = serverUpdateSchema2_94
	case q.Minor >= 90:
		schema = serverUpdateSchema2_90
	case q.Minor >= 19:
		schema = serverUpdateSchema2_19
	}
	v, err := q.CheckMember(schema, "server")
	if err != nil {
		return err
	}
	s, err := q.ServerInPath("servers:update")
	if err != nil {
		return err
	}
	s, err = q.API.Servers.UpdateServer(q.Context(), s.ID, serverChange(v))
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK,
		wire.Single("server", serverView(q, s, shownParts{whole: q.Minor >= 75, groups: q.Minor >= 71})))
}

func serverChange(v pyjson.Value) servers.ServerChange {
	return servers.ServerChange{
		PinnedZone: wire.TextOf(v, "pinned_availability_zone"),
		Name:       wire.Trimmed(wire.TextOf(v, "name")), Description: wire.TextOf(v, "description"),
		Hostname: wire.TextOf(v, "hostname"), DiskConfig: wire.TextOf(v, "OS-DCF:diskConfig"),
		AccessIPv4: wire.CanonicalIn(v, "accessIPv4"), AccessIPv6: wire.CanonicalIn(v, "accessIPv6"),
	}
}

func deleteServer(q *wire.Request) error {
	s, err := q.ServerInPath("servers:delete")
	if err != nil {
		return err
	}
	if err := q.API.Servers.DeleteServer(q.Context(), q.Author(), s.ID); err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}
