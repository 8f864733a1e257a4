package computeapi

import "github.com/berthcloud/berth/compute"

// shelveActions are the actions that take servers from their hosts and bring them back.
var shelveActions = []action{
	{"shelve", (*request).shelveServer},
	{"shelveOffload", (*request).offloadServer},
	{"unshelve", (*request).unshelveServer},
}

var (
	unshelveSchema2_77 = bodySchema("unshelve", `{"type": ["object", "null"], "properties": {"availability_zone": `+namePart+`},
		"required": ["availability_zone"], "additionalProperties": false}`)
	unshelveSchema2_91 = bodySchema("unshelve", `{"oneOf": [{"type": ["object"], "properties": {
		"availability_zone": {"oneOf": [{"type": ["null"]}, {"type": "string"}]}, "host": {"type": "string"}}, "additionalProperties": false}, {"type": ["null"]}]}`)
)

func (q *request) shelveServer() error {
	return q.onServer("os-shelve:shelve", func(s compute.Server) error {
		return q.api.Compute.ShelveServer(q.Context(), q.by(), s.ID)
	})
}

func (q *request) offloadServer() error {
	return q.onServer("os-shelve:shelve_offload", func(s compute.Server) error {
		return q.api.Compute.OffloadServer(q.Context(), q.by(), s.ID)
	})
}

// unshelveServer builds a shelved server: anywhere or, since 2.77, in a zone and, since 2.91, on a host. Before, Nova
// does not look at what is in the body.
func (q *request) unshelveServer() error {
	var to compute.Unshelving
	if q.minor >= 77 {
		schema := unshelveSchema2_77
		if q.minor >= 91 {
			schema = unshelveSchema2_91
		}
		v, err := q.checked(schema, "unshelve")
		if err != nil {
			return err
		}
		to.Zone = textOf(v, "availability_zone")
		if host := textOf(v, "host"); host != nil {
			to.Host = *host
		}
	}
	return q.onServer("os-shelve:unshelve", func(s compute.Server) error {
		to.MayChoose = func() error { return q.can("os-shelve:unshelve_to_host", ofProject(s.Project)) }
		return q.api.Compute.UnshelveServer(q.Context(), q.by(), s.ID, to)
	})
}
