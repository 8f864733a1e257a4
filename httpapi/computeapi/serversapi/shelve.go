package serversapi

import (
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

// shelveActions are the actions that take servers from their hosts and bring them back.
var shelveActions = wire.Actions{
	"shelve":        shelveServer,
	"shelveOffload": offloadServer,
	"unshelve":      unshelveServer,
}

var (
	unshelveSchema2_77 = wire.BodySchema("unshelve", `{"type": ["object", "null"], "properties": {"availability_zone": `+wire.NamePart+`},
		"required": ["availability_zone"], "additionalProperties": false}`)
	unshelveSchema2_91 = wire.BodySchema("unshelve", `{"oneOf": [{"type": ["object"], "properties": {
		"availability_zone": {"oneOf": [{"type": ["null"]}, {"type": "string"}]}, "host": {"type": "string"}}, "additionalProperties": false}, {"type": ["null"]}]}`)
)

func shelveServer(q *wire.Request) error {
	return onServer(q, "os-shelve:shelve", func(s servers.Server) error {
		return q.API.Servers.ShelveServer(q.Context(), q.Author(), s.ID)
	})
}

func offloadServer(q *wire.Request) error {
	return onServer(q, "os-shelve:shelve_offload", func(s servers.Server) error {
		return q.API.Servers.OffloadServer(q.Context(), q.Author(), s.ID)
	})
}

// unshelveServer builds a shelved server: anywhere or, since 2.77, in a zone and, since 2.91, on a
// host. Before, Nova ignores what is in the body.
func unshelveServer(q *wire.Request) error {
	var to servers.Unshelving
	if q.Minor >= 77 {
		schema := unshelveSchema2_77
		if q.Minor >= 91 {
			schema = unshelveSchema2_91
		}
		v, err := q.CheckMember(schema, "unshelve")
		if err != nil {
			return err
		}
		to.Zone = wire.TextOf(v, "availability_zone")
		if host := wire.TextOf(v, "host"); host != nil {
			to.Host = *host
		}
	}
	return onServer(q, "os-shelve:unshelve", func(s servers.Server) error {
		to.MayChoose = func() error { return q.Can("os-shelve:unshelve_to_host", wire.OfProject(s.Project)) }
		return q.API.Servers.UnshelveServer(q.Context(), q.Author(), s.ID, to)
	})
}
